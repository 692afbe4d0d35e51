"""What a conversion keeps of detection data sets: each reader's targets, by each writer."""

import json
import pickle
import tarfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import v2

import fastload
from fastload import detection
from fastload.detection import record
from fastload.detection.objects import Objects
from tests.detection import kept_helpers as kept
from tests.detection.kept_helpers import READERS, TO, convert, equal, same
from tests.loader.detection_helpers import collate

pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation"),  # pycocotools' masks
]


@pytest.fixture(autouse=True)
def _masks():
    pytest.importorskip("pycocotools", reason="masks need pycocotools")


@pytest.mark.parametrize("make", READERS)
def test_each_writer_keeps_the_targets_of_each_reader(tmp_path, make):
    made = make(tmp_path / "data")
    data = made.opened(keys=made.keys)
    for to in TO:
        convert(made.source, tmp_path / to, to, boxes=made.boxes)
        assert equal(tmp_path / to, data)
        again = pickle.loads(pickle.dumps(detection.kept(tmp_path / to, keys=made.keys)))
        assert same(again[2][1], data[2][1])  # as processes get it that are spawned


def test_from_one_format_to_the_others_and_back(tmp_path):
    made = kept.lvis(tmp_path / "data")
    data = made.opened(keys=made.keys)
    convert(made.source, tmp_path / "0", boxes=made.boxes)
    first = texts(tmp_path / "0")
    for number, to in enumerate(("parquet", "webdataset", "parquet", "shards", "webdataset")):
        convert(tmp_path / f"{number}", tmp_path / f"{number + 1}", to)
        assert equal(tmp_path / f"{number + 1}", data)
    assert texts(tmp_path / "5") == first


def texts(folder):
    """The file beside each image, of all tars."""
    found = {}
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as archive:
            for one in archive:
                if one.name.endswith(record.NAME):
                    found[one.name] = archive.extractfile(one).read()
    return found


def test_the_file_beside_an_image_is_as_documented(tmp_path):
    made = kept.coco(tmp_path / "data", 2)
    convert(made.source, tmp_path / "out", boxes=made.boxes)
    left, top, right, bottom = kept.files.boxes_of(0, 37, 53)[0].tolist()
    area = (right - left) * (bottom - top)
    outline = [[left, top, right, top, right, bottom, left, bottom]]
    assert texts(tmp_path / "out") == {
        "000.detection.json": (
            '{"image_id":100,"height":37,"width":53,"bbox_format":"XYWH","bbox_unit":"px",'
            f'"objects":[{{"bbox":[{left}.0,{top}.0,{right - left}.0,{bottom - top}.0],'
            f'"category":1,"name":"a","id":1,"area":{area}.0,"iscrowd":0,'
            f'"segmentation":{json.dumps(outline, separators=(",", ":"))}}}]}}'
        ).encode(),
        "001.detection.json": (
            b'{"image_id":101,"height":64,"width":48,"bbox_format":"XYWH","bbox_unit":"px",'
            b'"objects":[]}'
        ),
    }


def test_the_columns_of_parquet_are_as_documented(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    made = kept.yolo(tmp_path / "data", 2)
    convert(made.source, tmp_path / "out", "parquet", boxes=made.boxes)
    (path,) = (tmp_path / "out").glob("*.parquet")
    table = pq.read_table(path).drop_columns(["image", "label", "key"])
    assert dict(zip(table.schema.names, map(str, table.schema.types), strict=True)) == {
        "image_id": "int64", "height": "int64", "width": "int64", "bbox_format": "string",
        "bbox_unit": "string", "objects": "list<element: struct<bbox: list<element: double>, "
        "category: int64, name: string, id: int64, area: double, iscrowd: int64, "
        "keypoints: list<element: double>, segmentation: string>>",
    }  # fmt: skip
    rows = table.to_pylist()
    assert rows[1] == {
        "image_id": 1, "height": 64, "width": 48, "bbox_format": "CXCYWH", "bbox_unit": "share",
        "objects": [],
    }  # fmt: skip
    (one,) = rows[0]["objects"]
    assert (one["category"], one["name"], one["id"], one["area"]) == (0, "cat", None, None)
    features = json.loads(pq.read_schema(path).metadata[b"huggingface"])["info"]["features"]
    assert features["objects"][0]["bbox"] == [{"dtype": "float64", "_type": "Value"}]


@pytest.mark.parametrize("to", TO)
def test_batches_are_those_of_the_data_set(tmp_path, to):
    made = kept.coco(tmp_path / "data", 8)
    convert(made.source, tmp_path / "out", to, boxes=made.boxes)
    moves = v2.Compose([
        v2.ToImage(), v2.RandomHorizontalFlip(), v2.RandomShortestSize([20, 30], max_size=50),
        v2.SanitizeBoundingBoxes(),
    ])  # fmt: skip
    how = {"keys": made.keys, "transforms": moves}
    both = [made.opened(**how), detection.kept(tmp_path / "out", **how)]
    loaders = [
        fastload.DataLoader(one, 3, shuffle=True, seed=5, num_workers=2, collate_fn=collate)
        for one in both
    ]
    assert loaders[1].explain().startswith("backend native"), loaders[1].explain()
    for (images, targets), (want_images, wants) in zip(*loaders, strict=True):
        assert all(map(torch.equal, images, want_images))
        assert all(map(same, targets, wants))


def test_pytorchs_loader_reads_it_in_its_processes(tmp_path):
    made = kept.yolo(tmp_path / "data")
    convert(made.source, tmp_path / "out", boxes=made.boxes)
    data = detection.kept(tmp_path / "out", transforms=v2.ToImage(), keys=made.keys)
    loader = torch.utils.data.DataLoader(data, 2, num_workers=1, collate_fn=collate)
    wants = made.opened(transforms=v2.ToImage(), keys=made.keys)
    for at, (images, targets) in enumerate(loader):
        for number, (image, target) in enumerate(zip(images, targets, strict=True), start=2 * at):
            assert torch.equal(image, wants[number][0])
            assert same(target, wants[number][1])


def test_labels_can_begin_later(tmp_path):
    made = kept.yolo(tmp_path / "data")
    convert(made.source, tmp_path / "out", boxes=made.boxes)
    assert detection.kept(tmp_path / "out", first_label=1)[2][1]["labels"].tolist() == [1, 2, 3]
    assert repr(detection.kept(tmp_path / "out")) == "fastload.detection 'out': 4 images, 0 classes"


numbers = st.floats(-1e6, 1e6, width=64)
sides = st.integers(1, 1 << 20)
points = st.none() | st.integers(0, 3).flatmap(
    lambda count: st.lists(numbers, min_size=3 * count, max_size=3 * count)
)
outlines = st.none() | st.lists(st.lists(numbers, max_size=8), max_size=2)


@given(
    st.integers(0, 1 << 40) | st.text(max_size=9), st.tuples(sides, sides),
    st.lists(st.tuples(numbers, numbers, numbers, numbers, points, outlines), max_size=4),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_any_objects_come_back_to_the_bit(identity, size, rows):
    boxes = np.array([[x, y, abs(w), abs(h)] for x, y, w, h, _, _ in rows]).reshape(-1, 4)
    labels = np.arange(len(rows))
    kept_outlines = tuple(row[-1] for row in rows)
    more = tuple({} if one[-2] is None else {"keypoints": one[-2]} for one in rows)
    given_ = Objects(identity, boxes, labels, "XYWH", outlines=kept_outlines, more=more)
    said = record.parsed(record.text(given_, size))
    found = record.objects_of(said)
    assert (found.image_id, found.size, found.format, found.shares) == (
        identity, size, "XYWH", False,
    )  # fmt: skip
    assert found.boxes.tobytes() == boxes.tobytes()
    assert (found.labels.tolist(), found.outlines) == (labels.tolist(), kept_outlines)
    assert found.more == more
    row = record.row_of(said)
    assert record.dumped(record.of_row(row)) == record.text(given_, size)


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_images_with_an_orientation_keep_their_targets(tmp_path, suffix):
    """Pillow turns TIFFs while it reads them, and no other format."""
    made = kept.yolo(tmp_path / "yolo")
    path = made.source / "images" / "train" / "001.jpg"
    turned = Image.Exif()
    turned[0x112] = 6
    image = Image.open(path)
    image.load()
    path.unlink()
    image.save(path.with_suffix(f".{suffix}"), exif=turned)
    convert(made.source, tmp_path / "out", boxes="yolo")
    assert equal(tmp_path / "out", made.opened())
