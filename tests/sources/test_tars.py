"""Plain tars, opened where they lie: the same samples and the same pixels as any other way."""

import io
import json
import os
import pickle
import shutil
import tarfile

import pytest
import torch
from torchvision.datasets import ImageFolder

import fastload
from fastload.conversion.readers import TO_LOOK, open_reader
from fastload.sources import open_source, read
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_every_step
from tests.sources.tar_helpers import (
    OPS,
    batches,
    contents,
    folder_of,
    image,
    put,
    same,
    sample,
    tars_of,
)

COUNT, CLASSES = 22, 3


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("tars")


@pytest.fixture(scope="module")
def plain(root):
    return folder_of(root / "plain", COUNT, CLASSES)


@pytest.fixture(scope="module")
def tars(root):
    return tars_of(root / "tars", COUNT, CLASSES, 8)


@pytest.fixture
def place(tmp_path):
    """A folder without the test's cache in it."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def test_batches_are_those_of_a_folder(plain, tars):
    wanted = batches(plain)
    assert same(batches(tars), wanted)
    assert same(batches(f"{tars}/{{00000..00002}}.tar"), wanted)
    assert same(batches(tars, num_workers=0), wanted)
    assert same(
        batches(
            ImageFolder(plain, fastload.transforms.Compose([*OPS, fastload.transforms.ToImage()]))
        ),
        wanted,
    )


def test_one_sample_is_that_of_a_folder(plain, tars):
    ours, theirs = fastload.open(tars), fastload.open(plain)
    assert ours.classes == theirs.classes == ("0", "1", "2")
    assert ours.targets == theirs.targets
    assert all(ours[n][0].tobytes() == theirs[n][0].tobytes() for n in range(COUNT))
    assert ours.samples[9] == (f"{tars}/00001.tar:000000009.webp", 1)
    extension, _ = image(3)
    assert ours.samples[3][0] == f"{tars}/00000.tar:000000003.{extension}"


def test_one_tar_and_patterns_take_what_they_name(tars):
    assert contents(f"{tars}/00001.tar") == contents(tars)[8:16]
    assert contents(f"{tars}/0000{{2,0}}.tar") == contents(tars)[16:] + contents(tars)[:8]
    assert contents(f"{tars}/{{00002..00001}}.tar") == contents(tars)[16:] + contents(tars)[8:16]


@pytest.mark.parametrize(
    "format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=str
)
def test_long_names_and_dots_in_folders(tars, tmp_path, format):
    long = 90 if format == tarfile.USTAR_FORMAT else 300

    def key(number: int) -> str:
        return f"v1.0/a.b/{'x' * long}{number:04d}"

    other = tars_of(tmp_path / "long", COUNT, CLASSES, 8, key, format)
    assert contents(other) == contents(tars)
    assert open_source(other).name(0) == f"{other}/00000.tar:{key(0)}.jpg"


def test_names_that_are_not_ascii(tmp_path):
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = put(tmp_path / f"{format}.tar", sample("na\u00efve/\u732b", 0, "7"), format)
        source = open_source(path)
        assert (source.name(0), source.labels.tolist()) == (f"{path}:na\u00efve/\u732b.jpg", [7])


def test_img2datasets_layout_has_no_labels(plain, place):
    """Tables and statistics lie beside the tars, captions and JSON beside the images."""
    for first in (0, 10):
        members = []
        for number in range(first, first + 10):
            extension, data = image(number)
            key = f"{number:09d}"
            said = json.dumps({"caption": "a cat", "url": "u", "width": 5}).encode()
            members += [(f"{key}.{extension}", data), (f"{key}.json", said), (f"{key}.txt", b"cat")]
        name = f"{first // 10:05d}"
        put(place / f"{name}.tar", members, tarfile.PAX_FORMAT)
        (place / f"{name}.parquet").write_bytes(b"PAR1")
        (place / f"{name}_stats.json").write_text("{}")
    data = fastload.open(place)
    assert (data.classes, set(data.targets)) == (("unlabelled",), {0})
    assert [bytes_ for _, bytes_ in contents(place)] == [image(n)[1] for n in range(20)]


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ({"k.cls": b"3\n"}, ("0", "1", "2", "3")),
        ({"k.cls": b"dog"}, ("dog",)),
        ({"k.json": b'{"label": 2}'}, ("0", "1", "2")),
        ({"k.json": b'{"label": 2}', "k.cls": b"0"}, ("0",)),
    ],
)
def test_labels_are_read_as_conversions_read_them(tmp_path, label, classes):
    path = put(tmp_path / "a.tar", [("k.jpg", image(0)[1]), *label.items()], tarfile.GNU_FORMAT)
    source, reader = open_source(path), open_reader(path)
    assert source.classes == tuple(reader.classes) == classes
    assert source.labels.tolist() == reader.labels.tolist()


def test_names_of_classes_lie_beside(place):
    put(place / "a.tar", sample("k", 0, "cat") + sample("l", 1, "ant"), tarfile.GNU_FORMAT)
    (place / "classes.json").write_text('["cat", "dog", "ant"]')
    for where in (place, f"{place}/{{a,a}}.tar"):
        assert open_source(where).classes == ("cat", "dog", "ant")
        assert open_source(where).labels.tolist()[:2] == [0, 2]
    assert open_source(place / "a.tar").classes == ("ant", "cat")


def test_a_tar_of_a_folder_of_classes(plain, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(plain, "top/train")
    reader = open_reader(str(tmp_path / "a.tar"))
    assert open_source(tmp_path / "a.tar").classes == reader.classes == ("0", "1", "2")
    assert sorted(contents(tmp_path / "a.tar")) == sorted(contents(plain))


def test_one_tar_with_labels_decides_for_all(place):
    put(place / "a.tar", sample("c/k", 0), tarfile.GNU_FORMAT)
    assert open_source(place).classes == ("c",)
    put(place / "b.tar", sample("l", 1), tarfile.GNU_FORMAT)
    assert open_source(place).classes == ("unlabelled",)
    os.remove(place / "b.tar")
    assert open_source(place).classes == ("c",)


def test_folders_that_are_no_classes_change_nothing(place):
    put(place / "a.tar", sample("k", 0), tarfile.GNU_FORMAT)
    (place / "_tmp").mkdir()
    (place / ".cache").mkdir()
    assert len(open_source(place)) == len(open_reader(str(place), TO_LOOK)) == 1


def test_a_class_folder_with_a_tar_in_it_stays_one(tmp_path):
    where = folder_of(tmp_path / "plain", 6, 2)
    put(f"{where}/all.tar", sample("k", 0, "0"), tarfile.GNU_FORMAT)
    put(f"{where}/0/some.tar", sample("k", 0, "0"), tarfile.GNU_FORMAT)
    assert len(open_source(where)) == 6


def test_parts_ranks_and_pickling(plain, tars):
    ours, theirs = fastload.open(tars, OPS), fastload.open(plain, OPS)
    subsets = [torch.utils.data.Subset(each, [20, 3, 3, 11]) for each in (ours, theirs)]
    assert same(batches(subsets[0]), batches(subsets[1]))
    for rank in range(2):
        samplers = [
            fastload.DistributedSampler(each, num_replicas=2, rank=rank, shuffle=True)
            for each in (ours, theirs)
        ]
        assert same(batches(ours, sampler=samplers[0]), batches(theirs, sampler=samplers[1]))
    source = ours.pipeline.source
    again = pickle.loads(pickle.dumps(source))
    assert [again.name(n) for n in range(COUNT)] == [source.name(n) for n in range(COUNT)]
    assert [read(again, n) for n in range(COUNT)] == [image(n)[1] for n in range(COUNT)]


def test_a_run_goes_on_where_it_stopped(tars, tmp_path):
    def of(where):
        return lambda: fastload.DataLoader(
            fastload.open(where, OPS), 5, shuffle=True, seed=2, num_workers=2, backend="native"
        )

    assert check_every_step(of(tars)) > 0
    assert check_every_step(of(tars), of(shutil.copytree(tars, tmp_path / "moved"))) > 0


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # webdataset leaves files open
def test_samples_are_those_that_webdataset_reads(tmp_path):
    wds = pytest.importorskip("webdataset", reason="compares with WebDataset (pip install it)")
    path = str(tmp_path / "a.tar")
    with wds.TarWriter(path) as sink:
        for number in range(12):
            sink.write(
                {
                    "__key__": f"v1.5/{number:05d}",
                    "jpg": encoded(textured(30 + number, 50, number)),
                    "cls": number % 4,
                    "json": {"caption": "x"},
                    "seg.png": encoded(textured(8, 9, number), "PNG"),
                }
            )
    other = put(
        tmp_path / "b.tar",
        [
            ("__meta__/x.jpg", b"no"), (".hidden.jpg", b"no"), ("README", b"no"),
            *sample("k.x/a", 0, "1"), ("k.x/a.note", b"n"), ("./k.x/b.jpg", image(5)[1]),
            ("./k.x/b.CLS", b"2"),
        ],
        tarfile.GNU_FORMAT,
    )  # fmt: skip
    for each in (path, other):
        theirs = [
            (int(one["cls"]), next(one[name] for name in ("jpg", "png") if name in one))
            for one in wds.WebDataset(each, shardshuffle=False)
            if "cls" in one
        ]
        assert contents(each) == theirs
    assert len(contents(path)) == 12


def test_what_convert_writes_as_webdataset_opens(plain, tmp_path):
    from fastload.conversion import job

    job.run(job.prepare(plain, str(tmp_path / "w"), job.Options(to="webdataset", workers=1)))
    assert sorted(contents(tmp_path / "w")) == sorted(contents(plain))


def test_a_member_of_no_bytes_is_a_bad_sample(tmp_path):
    where = put(tmp_path / "a.tar", [("k.jpg", b""), *sample("l", 0)], tarfile.GNU_FORMAT)
    with pytest.raises(fastload.SampleError, match=r"a\.tar:k\.jpg"):
        fastload.open(where)[0]
    out = batches(where, epochs=1, shuffle=False, on_error="skip")
    assert len(out[0]) == 1
    assert io.BytesIO(image(0)[1]).getvalue() == contents(where)[1][1]


@pytest.mark.parametrize("form", ["path", "url"])
def test_one_tar_through_a_cache(tmp_path, form):
    """As from a slow network file system; nothing lies below a file, so nobody waits for it."""
    pytest.importorskip("obstore")
    members = [*sample("a", 1, "3"), *sample("b", 2, "5")]
    path = put(tmp_path / "one.tar", members, tarfile.GNU_FORMAT)
    where = path if form == "path" else f"file://{path}"
    data = fastload.open(where, cache=tmp_path / "disk", deadline=5)
    assert data.targets == [3, 5]
    assert data[1][0].tobytes() == fastload.open(path)[1][0].tobytes()
