"""`fastload.open(…, target=)`: what is not there, is damaged, or does not go together."""

import reprlib
import tarfile

import pytest
from torch.utils.data import ConcatDataset

import fastload
from fastload import transforms as T
from fastload.conversion import job
from fastload.errors import PipelineError, SampleError
from tests.conftest import encoded, textured
from tests.loader.target_helpers import OPS, loader, refused, write
from tests.sources.tar_helpers import put
from tests.unit import mds_files


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    return write(tmp_path_factory.mktemp("targets") / "tars")


@pytest.fixture(scope="module")
def shards(tars, tmp_path_factory):
    out = str(tmp_path_factory.mktemp("targets") / "shards")
    job.run(job.prepare(tars, out, job.Options(shard_bytes=30_000)))
    return out


@pytest.fixture(scope="module", params=["tars", "shards"])
def where(request):
    return request.getfixturevalue(request.param)


def test_what_is_not_there(where, folder, tmp_path):
    text = refused(where, "png")
    assert text.startswith(f"{where}: has no 'png' beside its images (has ")
    assert text.endswith("); correct target")
    assert "'txt'" not in text
    assert "txt" in text
    assert refused(folder, "txt") == (
        f"{folder}: of folder of classes nothing but labels is read (target is txt); run fastload "
        f"convert {folder} DST, and open DST"
    )
    lacking = write(tmp_path / "lacking", lacking={4, 11})
    assert refused(lacking, "txt") == (
        f"{lacking}: 2 of 14 samples have no 'txt' (first {lacking}/000.tar:00004.jpg); leave "
        "these samples out, or correct target"
    )


@pytest.mark.parametrize(
    "target", ["", [], [1], ["txt", ""], 5, {"txt"}, b"txt", "a\0b", "\ud800", "x" * 5000]
)
def test_targets_that_name_nothing(where, target):
    assert refused(where, target) == (
        f"target is {reprlib.repr(target)}, want a name, or several; such as 'txt'"
    )


def test_parts_whose_values_are_of_other_kinds(tars, tmp_path):
    columns = (("jpg", "bytes", None), ("txt", "bytes", None))
    shard = mds_files.shard([(encoded(textured(40, 60, 1)), b"x")], columns)
    listed = [mds_files.described("0.mds", 1, columns)]
    mds = str(mds_files.write(tmp_path / "mds", {"0.mds": shard}, listed))
    mix = fastload.mix({tars: 1, mds: 1}, OPS, target="txt", length=4)
    parts = ConcatDataset([fastload.open(path, OPS, target="txt") for path in (tars, mds)])
    text = (
        "target (txt): txt is not there in all parts, or of several kinds; mix parts that have the "
        "same, or declare types: target={name: type}"
    )
    with pytest.raises(PipelineError) as error:
        loader(mix)
    assert str(error.value) == text
    assert text in loader(parts).explain()


def test_pickles_are_refused(where, tmp_path):
    root = tmp_path / "pickled"
    root.mkdir()
    files = [("0.jpg", encoded(textured(40, 60, 1))), ("0.pkl", b"x"), ("0.cls", b"0")]
    put(root / "0.tar", files, tarfile.GNU_FORMAT)
    assert refused(str(root), "pkl") == (
        f"{root}: 'pkl' is pickled, and fastload never unpickles; write it as JSON or text"
    )


def test_damaged_values(tmp_path):
    root = tmp_path / "damaged"
    root.mkdir()
    files = [
        ("0.jpg", encoded(textured(40, 60, 1))), ("0.txt", b"\xff"), ("0.json", b"{"),
        ("0.deep.json", b"[" * 100_000),
    ]  # fmt: skip
    put(root / "0.tar", files, tarfile.GNU_FORMAT)
    for target, why in (
        ("txt", "is no UTF-8 ("),
        ("json", "is no JSON ("),
        ("deep.json", "is no "),
    ):
        data = fastload.open(str(root), OPS, target=target)
        with pytest.raises(SampleError) as error:
            next(iter(loader(data, 1)))
        text = str(error.value)
        assert text.startswith(f"{root}/0.tar:0.jpg, {target}, sample 0: {why}")
        assert text.endswith("; restore it")
        assert "\n" not in text


def test_what_does_not_go_with_a_target(where, folder):
    data = fastload.open(where, OPS, target="txt")
    with pytest.raises(PipelineError, match="the data set makes other targets than labels"):
        loader(data, mix=T.MixUp(num_classes=4))
    with pytest.raises(PipelineError) as error:
        fastload.open(folder, OPS, masks=folder, target="txt")
    assert str(error.value) == "masks: come in place of labels, as target does; leave one out"
