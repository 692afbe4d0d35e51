"""`fastload.open(…, target=)`: captions, JSON and numbers beside the images, in place of labels."""

import json
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

import fastload
from fastload import transforms as T
from fastload.conversion import job
from fastload.errors import PipelineError, SampleError, SourceError
from fastload.sources import tar_members
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_every_step, digest
from tests.sources.tar_helpers import put
from tests.unit import mds_files

COUNT = 14
OPS = [T.RandomResizedCrop((20, 28)), T.ToImage()]


def caption(number):
    return f"a picture of { {0: 'Zürich', 1: '猫', 2: ''}.get(number % 3) } no. {number}"


def facts(number):
    return {"caption": caption(number), "aesthetic": number / 7, "tags": ["x"] * (number % 3)}


def members(numbers, lacking=()):
    for number in numbers:
        yield f"{number:05}.jpg", encoded(textured(40 + number, 60, number))
        if number not in lacking:
            yield f"{number:05}.txt", caption(number).encode()
        yield f"{number:05}.json", json.dumps(facts(number)).encode()
        yield f"{number:05}.cls", str(number % 4).encode()
        yield f"{number:05}.vector.npy", bytes([number]) * 5


def write(root, **named):
    root.mkdir()
    for first in range(0, COUNT, 5):
        numbers = range(first, min(first + 5, COUNT))
        put(root / f"{first:03}.tar", members(numbers, **named), tarfile.GNU_FORMAT)
    return str(root)


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    return write(tmp_path_factory.mktemp("targets") / "tars")


@pytest.fixture(scope="module")
def shards(tars, tmp_path_factory):
    out = str(tmp_path_factory.mktemp("targets") / "shards")
    job.run(job.prepare(tars, out, job.Options(shard_bytes=30_000)))
    return out


@pytest.fixture(scope="module")
def mds(tmp_path_factory):
    """Without a label, as caption data sets are."""
    columns = (
        ("jpg", "bytes", None), ("txt", "str", None), ("json", "json", None),
        ("score", "float32", 4), ("pickled", "pkl", None),
    )  # fmt: skip
    root, shards = tmp_path_factory.mktemp("targets") / "mds", {}
    listed = []
    for first in range(0, COUNT, 5):
        samples = [
            (
                encoded(textured(40 + n, 60, n)), caption(n).encode(),
                json.dumps(facts(n)).encode(), np.float32(n / 2).tobytes(), b"x",
            )
            for n in range(first, min(first + 5, COUNT))
        ]  # fmt: skip
        name = f"shard.{first:05}.mds"
        shards[name] = mds_files.shard(samples, columns)
        listed.append(mds_files.described(name, len(samples), columns))
    return str(mds_files.write(root, shards, listed))


def test_columns_of_mds(mds):
    data = fastload.open(mds, OPS, target=("txt", "json", "score"))
    assert data.classes == ("unlabelled",)
    seen = []
    for _, values in loader(data):
        assert values["score"].dtype == torch.float32
        for text, said, score in zip(values["txt"], values["json"], values["score"], strict=True):
            number = int(2 * score)
            seen.append(number)
            assert (text, said) == (caption(number), facts(number))
    assert sorted(seen) == list(range(COUNT))
    assert data[3][1] == {"txt": caption(3), "json": facts(3), "score": 1.5}
    assert refused(mds, "pickled") == (
        f"{mds}/shard.00000.mds: column 'pickled' is of type 'pkl' (want str, json, bytes, jpeg, "
        "png, jpeg_array, jpegarray or a number); fastload unpickles nothing"
    )
    assert refused(mds, "cls") == (
        f"{mds}: has no 'cls' beside its images (has jpg, txt, json, score, pickled); correct "
        "target"
    )


@pytest.fixture(scope="module", params=["tars", "shards"])
def where(request):
    return request.getfixturevalue(request.param)


def loader(data, batch_size=4, **named):
    settings = {"shuffle": True, "seed": 2, "num_workers": 1} | named
    return fastload.DataLoader(data, batch_size, **settings)


def labelled(where, **named):
    """Of an epoch: images and labels in the loader's order."""
    return list(loader(fastload.open(where, OPS), **named))


def test_texts_come_with_their_images(where):
    data = fastload.open(where, OPS, target="txt")
    one = loader(data)
    numbers = list(one.sampler)
    one.sampler.set_epoch(0)
    found = list(one)
    assert [text for _, texts in found for text in texts] == [caption(n) for n in numbers]
    assert [digest(images) for images, _ in found] == [
        digest(images) for images, _ in labelled(where)
    ]
    image, text = data[3]
    assert text == caption(3)
    assert isinstance(image, torch.Tensor)


def test_several_at_once(where):
    data = fastload.open(where, OPS, target=("json", "label", "vector.npy"))
    for (_, values), (_, labels) in zip(loader(data), labelled(where), strict=True):
        assert list(values) == ["json", "label", "vector.npy"]
        assert values["label"].tolist() == labels.tolist()
        for number, said in enumerate(values["json"]):
            own = int(said["aesthetic"] * 7 + 0.5)
            assert said == facts(own)
            assert values["vector.npy"][number] == bytes([own]) * 5
    assert data[6][1] == {"json": facts(6), "label": 2, "vector.npy": b"\6" * 5}


def test_the_reference_gives_the_same(where):
    data = fastload.open(where, OPS, target="txt")
    native, reference = (
        [texts for _, texts in loader(data, backend=backend)] for backend in ("native", "torch")
    )
    assert native == reference


def test_resumes_at_every_step(where):
    assert check_every_step(lambda: loader(fastload.open(where, OPS, target="txt")))


def test_some_samples_and_several_sets(where):
    data = fastload.open(where, OPS, target="txt")
    some = Subset(data, [9, 2, 2, 13])
    found = loader(some, shuffle=False)
    assert "native" in found.explain()
    assert [texts for _, texts in found] == [[caption(n) for n in (9, 2, 2, 13)]]
    both = loader(ConcatDataset([data, data]), 28, shuffle=False)
    assert next(iter(both))[1] == [caption(n) for n in range(COUNT)] * 2
    mixed = fastload.mix([(data, 1), (where, 1)], OPS, target="txt", length=2 * COUNT)
    assert sorted(next(iter(loader(mixed, 28)))[1]) == sorted(
        [caption(n) for n in range(COUNT)] * 2
    )
    with pytest.raises(PipelineError, match="mix: part 1 has another target than part 0"):
        fastload.mix([(data, 1), (fastload.open(where, OPS), 1)])


def test_pickled_and_sent_to_workers(where):
    data = pickle.loads(pickle.dumps(fastload.open(where, OPS, target="txt")))
    assert data[5][1] == caption(5)
    context = {"backend": "torch", "num_workers": 1, "multiprocessing_context": "spawn"}
    texts = [text for _, texts in loader(data, shuffle=False, **context) for text in texts]
    assert texts == [caption(n) for n in range(COUNT)]


def test_bad_images_leave_with_their_texts(tmp_path):
    root = tmp_path / "tars"
    root.mkdir()
    bad = {3, 8}
    files = [
        (name, b"no image" if name.endswith("jpg") and int(name[:5]) in bad else data)
        for name, data in members(range(COUNT))
    ]
    put(root / "0.tar", files, tarfile.GNU_FORMAT)
    data = fastload.open(str(root), OPS, target="txt")
    options = {"shuffle": False, "on_error": "skip", "max_bad": 2}
    with pytest.warns(fastload.BadSamplesWarning):
        texts = [text for _, texts in loader(data, **options) for text in texts]
    assert texts == [caption(n) for n in range(COUNT) if n not in bad]


def test_where_they_lie_is_kept(tars, monkeypatch):
    fastload.open(tars, OPS, target="txt")
    monkeypatch.setattr(tar_members.Walk, "over", None)  # no header is read again
    data = fastload.open(tars, OPS, target="txt")
    assert data[5][1] == caption(5)
    monkeypatch.undo()
    stamp = os.stat(f"{tars}/000.tar")
    os.utime(f"{tars}/000.tar", ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert fastload.open(tars, OPS, target="txt")[5][1] == caption(5)


def test_explain_names_it(where):
    lines = loader(fastload.open(where, OPS, target=("txt", "json"))).explain().split("\n")
    assert "  target  txt, json, in place of labels" in lines


def refused(where, target):
    with pytest.raises(SourceError) as error:
        fastload.open(where, OPS, target=target)
    return str(error.value)


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


@pytest.mark.parametrize("target", ["", [], [1], ["txt", ""]])
def test_targets_that_name_nothing(where, target):
    assert refused(where, target) == (
        f"target is {target!r}, want a name, or several; such as 'txt'"
    )


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
