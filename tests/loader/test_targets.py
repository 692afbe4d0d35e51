"""What `fastload.open(target=)` gives: captions, JSON and numbers in place of labels."""

import os
import pickle
import tarfile

import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

import fastload
from fastload.conversion import job
from fastload.errors import PipelineError
from fastload.sources import tar_members
from tests.loader.resume_helpers import check_every_step, digest
from tests.loader.target_helpers import (
    COUNT,
    OPS,
    caption,
    facts,
    loader,
    members,
    refused,
    write,
    write_mds,
)
from tests.sources.tar_helpers import put


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
    return write_mds(tmp_path_factory.mktemp("targets") / "mds")


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
        f"{mds}/shard.00000.mds: column 'pickled' is of type 'pkl' (want str, json, str_int, "
        "str_float, bytes, jpeg, png, jpeg_array, jpegarray, ndarray or a number); fastload "
        "unpickles nothing"
    )
    assert refused(mds, "cls") == (
        f"{mds}: has no 'cls' beside its images (has jpg, txt, json, score, pickled); correct "
        "target"
    )


@pytest.fixture(scope="module", params=["tars", "shards"])
def where(request):
    return request.getfixturevalue(request.param)


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


def test_names_as_the_user_writes_them(tars):
    assert fastload.open(tars, OPS, target=("TXT", "label"))[3][1] == {
        "TXT": caption(3),
        "label": 3,
    }


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
    context = {"backend": "torch", "num_workers": 1, "multiprocessing_context": "forkserver"}
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


def test_a_sheet_has_the_captions(where):
    cards = fastload.show(loader(fastload.open(where, OPS, target="txt")), 4).contents.cards
    numbers = [int(card.subtitle.split("sample ")[1].split(",")[0]) for card in cards]
    assert len(numbers) == 4
    for number, card in zip(numbers, cards, strict=True):
        text = " ".join(caption(number).split())  # in one line
        assert card.subtitle.startswith(f"{text}, sample {number}, ")


def test_explain_names_it(where):
    lines = loader(fastload.open(where, OPS, target=("txt", "json"))).explain().split("\n")
    assert "  target  txt, json, in place of labels" in lines
