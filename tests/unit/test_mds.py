"""MDS shards, by a writer of our own after the format, and by MosaicML's where it is installed."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import fastload
from fastload.errors import SourceError
from fastload.transforms import RandomResizedCrop, ToImage
from tests.conftest import encoded, textured
from tests.unit.mds_files import described, shard, write

COUNT = 23


def sample(number):
    image = encoded(textured(40 + number, 57 + 2 * number, number), quality=90)
    return b"c" * number, image, struct.pack("<q", number % 5)


@pytest.fixture(scope="module")
def mds(tmp_path_factory):
    """A data set of three shards, one of them without samples."""
    samples = [sample(number) for number in range(COUNT)]
    parts = {"shard.0.mds": samples[:9], "shard.1.mds": [], "shard.2.mds": samples[9:]}
    return write(
        tmp_path_factory.mktemp("mds"),
        {name: shard(part) for name, part in parts.items()},
        [described(name, len(part)) for name, part in parts.items()],
    )


def batches(path, **options):
    data = fastload.open(path, [RandomResizedCrop((24, 31)), ToImage()])
    return list(fastload.DataLoader(data, 4, seed=3, num_workers=2, **options))


def test_the_batches_are_those_of_a_folder(mds, tmp_path):
    for number in range(COUNT):
        folder = tmp_path / "images" / str(number % 5)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:03}.jpg").write_bytes(sample(number)[1])
    data = fastload.open(tmp_path / "images", [RandomResizedCrop((24, 31)), ToImage()])
    order = sorted(range(COUNT), key=lambda number: int(Path(data.samples[number][0]).stem))
    assert fastload.open(mds).targets == [number % 5 for number in range(COUNT)]
    assert fastload.open(mds).classes == ("0", "1", "2", "3", "4")
    # The draws belong to a sample's number, so each is compared as the sample that it is
    for number in range(COUNT):
        image, label = fastload.open(mds)[number]
        want, target = fastload.open(tmp_path / "images")[order[number]]
        assert label == target
        assert image.tobytes() == want.tobytes()
    got = batches(mds)
    assert [len(labels) for _, labels in got] == [4, 4, 4, 4, 4, 3]
    assert torch.cat([labels for _, labels in got]).tolist() == fastload.open(mds).targets


def test_global_order_spawned_workers_and_resume(mds):
    whole = batches(mds, shuffle=True)
    assert torch.cat([labels for _, labels in whole]).tolist() != fastload.open(mds).targets
    data = fastload.open(mds, [RandomResizedCrop((24, 31)), ToImage()])
    loader = fastload.DataLoader(data, 4, seed=3, shuffle=True, num_workers=1)
    epoch = iter(loader)
    next(epoch)
    state = loader.state_dict()
    again = fastload.DataLoader(data, 4, seed=3, shuffle=True, num_workers=2)
    again.load_state_dict(state)
    for (images, labels), (want, target) in zip(again, whole[1:], strict=True):
        assert torch.equal(images, want)
        assert torch.equal(labels, target)
    copied = pickle.loads(pickle.dumps(data.pipeline.source))
    assert copied.files.read(0, int(copied.offset[0]), int(copied.size[0])) == sample(0)[1]


def test_columns_by_name(tmp_path):
    columns = (("x", "bytes", None), ("small", "uint8", 1), ("y", "png", None), ("z", "int16", 2))
    rows = [
        (encoded(textured(20, 30, n)), bytes([n]), encoded(textured(9, 8, n)), struct.pack("<h", 7))
        for n in range(3)
    ]
    path = write(tmp_path / "a", {"s.mds": shard(rows, columns)}, [described("s.mds", 3, columns)])
    first = fastload.open(path)
    assert (first[1][0].size, first.targets) == ((8, 9), [7, 7, 7])  # signed before unsigned
    chosen = fastload.open(path, fields=("x", "small"))
    assert (chosen[1][0].size, chosen.targets) == ((30, 20), [0, 1, 2])
    with pytest.raises(SourceError) as raised:
        fastload.open(path, fields=("x", "y"))
    assert str(raised.value) == (
        f"{path}/s.mds: has no label column 'y' (has 'x' ('bytes'), 'small' ('uint8'), 'y' "
        "('png'), 'z' ('int16'); labels are int, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64); name the columns with images and labels: fields=(IMAGE, LABEL)"
    )


def test_a_type_with_something_behind_it_is_no_integer(tmp_path):
    columns = (("image", "jpeg", None), ("label", "int:ds", 8))
    rows = [(encoded(textured(9, 8, 1)), struct.pack("<q", 1))]
    path = write(tmp_path / "a", {"s.mds": shard(rows, columns)}, [described("s.mds", 1, columns)])
    assert fastload.open(path).targets == [0]
    with pytest.raises(SourceError, match=r"has no label column 'label' .*'label' \('int:ds'\)"):
        fastload.open(path, fields=("image", "label"))


def test_nothing_is_unpickled(tmp_path):
    columns = (("image", "pkl", None), ("label", "int", 8))
    rows = [(pickle.dumps([1]), struct.pack("<q", 1))]
    path = write(tmp_path / "a", {"s.mds": shard(rows, columns)}, [described("s.mds", 1, columns)])
    with pytest.raises(SourceError, match=r"has no image column \(has 'image' \('pkl'\)"):
        fastload.open(path)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"samples": 10}, "has 9 samples, want 10; write the data set again"),
        ({"samples": 1 << 40}, "bytes, want 4398046511112 and more; write the data set again"),
        ({"samples": -1}, "shard 0 is not described as MDS 2 does (ValueError: -1 samples)"),
        ({"version": 3}, "is 'mds' 3 (want 'mds' 2); write it with MDSWriter of mosaicml-"),
        ({"format": "m\x1b[1m\n"}, r"is 'm\x1b[1m\n' 2 (want 'mds' 2); write it with MDSWrit"),
        ({"raw_data": {"basename": "../x"}}, "(ValueError: name '../x' has a path with '..')"),
        ({"raw_data": {"basename": "a/x"}}, "(ValueError: name 'a/x' has a slash)"),
        ({"raw_data": {"basename": "a\0x"}}, r"(ValueError: name 'a\x00x' has a control charac"),
        ({"raw_data": {"basename": "\ud800"}}, "' is no text (half a surrogate pair))"),
        ({"raw_data": {"basename": "x" * 300}}, "is too long (a part has 300 bytes, want at most "),
        ({"raw_data": {"basename": 7}}, "(ValueError: name 7 is empty)"),
        ({"column_encodings": ["str", "jp\neg", "int"]}, r"of type 'jp\neg': one has a contr"),
        ({"column_names": ["a" * 5000, "image", "label"]}, "one is too long (got 5000 bytes, want"),
        ({"raw_data": {"basename": "none.mds"}}, "none.mds: cannot be read (No such file or direc"),
        ({"raw_data": {"basename": "no.mds"}, "compression": "zstd"}, "is there only compressed ("),
        ({"column_sizes": [None, None, 4]}, "column 'label' of type 'int' with 4 bytes"),
        ({"column_sizes": [None, None]}, "shard 0 is not described as MDS 2 does (ValueError: zip"),
        ({"column_names": 3}, "shard 0 is not described as MDS 2 does (TypeError"),
    ],
)  # fmt: skip
def test_an_index_that_lies(mds, tmp_path, changed, error):
    data = (mds / "shard.0.mds").read_bytes()
    path = write(tmp_path / "a", {"s.mds": data}, [described("s.mds", 9) | changed])
    with pytest.raises(SourceError) as raised:
        fastload.open(path)
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize("index", ["", "[", "[" * 100_000, "{}", '{"shards": 3}', '{"shards":[3]}'])
def test_an_index_that_is_none(tmp_path, index):
    (tmp_path / "s.mds").write_bytes(b"")
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(SourceError, match=r"index\.json: "):
        fastload.open(tmp_path)


def test_shards_without_an_index(tmp_path):
    (tmp_path / "s.mds").write_bytes(b"")
    with pytest.raises(SourceError) as raised:
        fastload.open(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path}/index.json: cannot be read (No such file or directory); MDS shards want it "
        "beside them"
    )


def test_more_samples_than_the_file_has_bytes_for(tmp_path):
    """Nothing is taken for them."""
    count, table = 100_000, 4 * 100_002
    data = struct.pack("<I", count) + np.full(count + 1, table, "<u4").tobytes()
    path = write(tmp_path / "a", {"s.mds": data}, [described("s.mds", count)])
    with pytest.raises(SourceError) as raised:
        fastload.open(path)
    assert str(raised.value) == (
        f"{path}/s.mds: has samples outside of it, or too small ones; write the data set again"
    )


@given(data=st.data())
def test_damaged_shards(mds, tmp_path_factory, data):
    """Each is an error that says so, or gives images inside the file."""
    whole = bytearray((mds / "shard.0.mds").read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, 200))
        whole[at] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.integers(0, len(whole)))]
    folder = tmp_path_factory.mktemp("damaged")
    path = write(folder, {"s.mds": bytes(whole)}, [described("s.mds", 9)])
    try:
        source = fastload.open(path).pipeline.source
    except SourceError as raised:
        error = str(raised)
    else:
        offset, size = np.asarray(source.offset), np.asarray(source.size)
        assert ((offset > 0) & (size > 0) & (offset + size <= len(whole))).all()
        return
    assert "s.mds: " in error


def test_what_mosaicml_writes(tmp_path):
    streaming = pytest.importorskip(
        "streaming", reason="mosaicml-streaming is not installed; it brings many libraries"
    )
    images = [sample(number)[1] for number in range(COUNT)]
    columns = {"image": "bytes", "label": "int", "weight": "float32"}
    with streaming.MDSWriter(out=str(tmp_path / "m"), columns=columns, size_limit=1 << 15) as out:
        for number, image in enumerate(images):
            out.write({"image": image, "label": number % 5, "weight": np.float32(number)})
    source = fastload.open(tmp_path / "m").pipeline.source
    assert len(source.paths) > 1
    theirs = streaming.StreamingDataset(local=str(tmp_path / "m"), batch_size=1)
    for number in range(COUNT):
        at = source.locate(np.array([number]))
        read = source.files.read(int(at.file[0]), int(at.offset[0]), int(at.size[0]))
        assert read == theirs[number]["image"]
        assert source.labels[number] == theirs[number]["label"]
