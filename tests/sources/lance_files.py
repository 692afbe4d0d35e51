"""Lance data sets of images: as that library writes them, and as it would tell of them, by hand.

`write` lays out a folder, and gives what takes the place of fastload.sources.lance_library.Table:
so tests of what a data set may say need no library, and say what none would write.
"""

import pyarrow as pa

from fastload.sources.lance_library import Fragment
from tests.sources.format_helpers import COUNT, image, label

NUMBERS = range(COUNT)
BLOB = {"lance-encoding:blob": "true"}
GAP = 64  # bytes of what is no image, in front of all


class Told:
    """What is told of the data set `where`.

    rows: of each fragment, of each column its values; of blobs descriptors.
    """

    def __init__(self, where, schema, blobs, rows, files):
        self.where, self.schema, self.blobs = str(where), schema, frozenset(blobs)
        self.rows, self.version, self.asked = rows, 1, 0
        self.fragments = [
            Fragment(number, dict.fromkeys(schema.names, file)) for number, file in enumerate(files)
        ]
        self.heads = None  # a function in place of `head`

    def batches(self, columns, fragment):
        self.asked += 1
        whole = pa.RecordBatch.from_pydict({name: self.rows[fragment][name] for name in columns})
        for at in range(0, max(1, len(whole)), 7):
            yield whole.slice(at, 7)

    def head(self, column, row, size):
        if self.heads is not None:
            return self.heads(row)
        for number, rows in enumerate(self.rows):
            values = rows[column].to_pylist()
            if row < len(values):
                path = f"{self.where}/data/{self._file(number, values[row])}"
                with open(path, "rb") as file:
                    file.seek(values[row]["position"])
                    return file.read(size)
            row -= len(values)
        raise AssertionError("no such row")

    def _file(self, number, said):
        name = self.fragments[number].files["image"]
        return blob_file(name, said["blob_id"]) if said.get("kind") else name


def blob_file(name, number):
    """Where a packed or dedicated blob of this number lies."""
    bits = f"{number:032b}"
    return f"{name.removesuffix('.lance')}/{bits[::-1]}.blob"


def descriptors(positions, sizes, kinds=None, numbers=None, nulls=None):
    """As files of version 2.1 have them, or, with kinds, of 2.2."""
    columns = {"position": pa.array(positions, pa.uint64()), "size": pa.array(sizes, pa.uint64())}
    if kinds is not None:
        columns["kind"] = pa.array(kinds, pa.uint8())
        columns["blob_id"] = pa.array(numbers or [0] * len(kinds), pa.uint32())
        columns["blob_uri"] = pa.array([""] * len(kinds))
    mask = None if nulls is None else pa.array(nulls)
    return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=mask)


def write(root, parts=((0, 10), (10, COUNT)), labels=label, beside=False, **more):
    """The images of format_helpers in `root`, some of them in each fragment. labels: of a number;
    None: there are none. beside: in files of version 2.2, every second one is packed, and every
    fifth has a file of its own. more: lists of values of further columns.
    """
    (root / "_versions").mkdir(parents=True, exist_ok=True)
    (root / "_versions" / "1.manifest").write_bytes(b"manifest")
    (root / "data").mkdir(exist_ok=True)
    rows, files = [], []
    for part, (begin, end) in enumerate(parts):
        files.append(f"{part}.lance")
        numbers = range(begin, end)
        columns = {"image": _blobs(root / "data", files[-1], numbers, beside)}
        if labels:
            columns["label"] = pa.array([labels(n) for n in numbers])
        columns |= {name: pa.array(values[begin:end]) for name, values in more.items()}
        rows.append(columns)
    fields = [pa.field(name, column.type) for name, column in rows[0].items()]
    fields[0] = pa.field("image", pa.large_binary())
    return Told(root, pa.schema(fields), ["image"], rows, files)


def _blobs(folder, name, numbers, beside):
    """The files of a fragment, and the descriptors of its images."""
    data = {0: bytearray(GAP)}
    positions, sizes, kinds, ids = [], [], [], []
    for number in numbers:
        kind = (2 if number % 5 == 0 else number % 2) if beside else 0
        one = {0: 0, 1: 1, 2: number + 2}[kind]
        into = data.setdefault(one, bytearray())
        positions.append(len(into))
        into += image(number)
        sizes.append(len(into) - positions[-1])
        kinds.append(kind)
        ids.append(one)
    (folder / name).write_bytes(data.pop(0))
    for one, content in data.items():
        path = folder / blob_file(name, one)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return descriptors(positions, sizes, kinds if beside else None, ids)


def by_lance(root, version="2.1", images=None, labels=None, rows=10, **more):
    """The same as pylance writes it. rows: of a fragment. more: further columns."""
    import lance

    images = list(map(image, NUMBERS)) if images is None else images
    labels = list(map(label, NUMBERS)) if labels is None else labels
    columns = {"image": pa.array(images, pa.large_binary()), "label": pa.array(labels)}
    columns |= {name: pa.array(values) for name, values in more.items()}
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    fields[0] = fields[0].with_metadata(BLOB)
    table = pa.table(list(columns.values()), schema=pa.schema(fields))
    lance.write_dataset(table, str(root), data_storage_version=version, max_rows_per_file=rows)
    return root
