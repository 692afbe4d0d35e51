"""Any share of bad images:

`skip` leaves them out, `substitute` says with counts where nothing is left to try; the list stays
cheap.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.errors import SampleError
from fastload.plan import bad_samples
from fastload.plan.bad_samples import BadSamples, Report
from fastload.state.resume import Progress
from fastload.system.meter import Meter

COUNT = 60
OPS = [T.Resize((6, 8))]


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    from tests.conftest import encoded, textured

    return encoded(textured(21, 34, 5), quality=90)


def folder(root: Path, good: bytes, share: float, count: int = COUNT) -> tuple[str, set[int]]:
    """A data set, and which of it are bad: `share` of them, spread by chance."""
    bad = set(np.random.default_rng(7).permutation(count)[: round(share * count)].tolist())
    (root / "a").mkdir(parents=True)
    for number in range(count):
        (root / "a" / f"{number:05d}.jpg").write_bytes(b"no image" if number in bad else good)
    return str(root), bad


def loader(root: str, policy: str, **named: object):
    options = {
        "batch_size": 7,
        "shuffle": True,
        "seed": 3,
        "max_bad": 1.0,
        "on_error": policy,
        **named,
    }
    return fastload.DataLoader(fastload.open(root, OPS), **options)


def outcomes(made) -> list[object]:
    """Batches of an epoch, or the texts of their errors."""
    found: list[object] = []
    iterator = iter(made)
    while True:
        try:
            found.append(next(iterator))
        except StopIteration:
            return found
        except SampleError as error:
            found.append(str(error))


def same(ones: list[object], others: list[object]) -> None:
    assert len(ones) == len(others)
    for one, other in zip(ones, others, strict=True):
        assert type(one) is type(other)
        if isinstance(one, str):
            assert one == other
        else:
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("batch", [1, 7, COUNT])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95, 1.0])
def test_skip_leaves_out_any_share(share, batch, tmp_path, good):
    root, bad = folder(tmp_path / "data", good, share)
    made = loader(root, "skip", batch_size=batch, num_workers=2)
    found = outcomes(made)
    assert sum(len(labels) for _, labels in found) == COUNT - len(bad)
    assert all(len(labels) for _, labels in found)
    same(found, outcomes(loader(root, "skip", batch_size=batch, backend="torch")))
    assert made._progress.bad == len(bad)
    assert made._progress.step == -(-COUNT // batch)
    assert made.stats()["bad_samples"] == len(bad)


@pytest.mark.long
def test_skip_passes_over_thousands_of_batches_in_a_row(tmp_path, good):
    root, _ = folder(tmp_path / "data", good, 1.0, 3000)
    made = loader(root, "skip", batch_size=1)
    assert outcomes(made) == []
    assert made._progress.bad == 3000


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
def test_others_stand_in_for_most(share, tmp_path, good):
    root, bad = folder(tmp_path / "data", good, share)
    made = loader(root, "substitute", num_workers=2)
    found = outcomes(made)
    assert [len(labels) for _, labels in found] == [7] * 8 + [4]
    same(found, outcomes(loader(root, "substitute", backend="torch")))
    assert made._progress.bad == len(bad)


@pytest.mark.parametrize(
    "how",
    [{}, {"num_workers": 2}, {"backend": "torch"}, {"backend": "torch", "num_workers": 1}],
    ids=str,
)
def test_where_nothing_can_stand_in_the_error_counts(how, tmp_path, good):
    root, _ = folder(tmp_path / "data", good, 1.0)
    path = tmp_path / "bad.jsonl"
    made = loader(root, "substitute", shuffle=False, bad_samples=path, **how)
    first, *others = outcomes(made)
    tried = len(bad_samples.candidates(next(made._works(made._route.plan, 3, 0)), 0, COUNT))
    assert 60 < tried <= bad_samples.TRIES
    assert first == (
        f"{root}/a/00000.jpg, sample 0: cannot be decoded (cannot identify image file); mend or "
        "remove the file; and so are all "
        f"{tried} that were tried in its place (1 bad samples so far in epoch 0, of {COUNT} in "
        "all); use on_error='skip', which needs none"
    )
    assert len(others) == 8
    assert "(9 bad samples so far in epoch 0, of 60 in all)" in others[-1]
    assert made._progress.bad == 9
    listed = [json.loads(line)["index"] for line in path.read_text().splitlines()]
    assert sorted(listed) == sorted(set(listed))
    assert len(listed) > 30  # those that were only tried too
    assert made.stats()["bad_samples"] > 9 * 60


def test_too_many_is_said_before_too_few_tries(tmp_path, good):
    """The default limit of 1 %: the first error of a run whose files are all bad says how many
    are.
    """
    root, _ = folder(tmp_path / "data", good, 1.0)
    for policy in ("substitute", "skip"):
        with pytest.raises(fastload.BadSamplesError) as caught:
            list(loader(root, policy, max_bad=0, shuffle=False))
        assert "bad samples in epoch 0, max_bad=0 allows 0 of 60; see " in str(caught.value)


def test_the_error_is_still_what_was_raised(tmp_path, good):
    root, _ = folder(tmp_path / "data", good, 1.0)
    data = fastload.open(root, OPS)
    for number in range(COUNT):
        os.unlink(f"{root}/a/{number:05d}.jpg")
    with pytest.raises(FileNotFoundError, match="and so are all") as caught:
        next(iter(fastload.DataLoader(data, 4, on_error="substitute", max_bad=1.0)))
    assert caught.value.errno == 2


def report(*indices: int) -> Report:
    return Report(tuple(SampleError("file", index, "is bad") for index in indices), indices)


def test_the_list_is_read_once(tmp_path, good, monkeypatch):
    """A list of a million lines would be read again at every batch, for hours."""
    root, _ = folder(tmp_path / "data", good, 0.0)
    source, path = fastload.open(root).pipeline.source, str(tmp_path / "bad.jsonl")
    ones, others = (BadSamples(source, path, 1.0) for _ in range(2))
    read, loads = 0, json.loads

    def counted(text: str) -> object:
        nonlocal read
        read += 1
        return loads(text)

    monkeypatch.setattr(json, "loads", counted)
    for turn in range(0, COUNT, 4):
        ones.take(Meter(), Progress(0), report(turn, turn + 1))
        others.take(Meter(), Progress(0), report(turn + 1, turn + 2))
    assert read <= COUNT + 15  # each line by the other one, and none twice
    listed = [loads(line)["index"] for line in Path(path).read_text().splitlines()]
    assert sorted(listed) == [index for index in range(COUNT) if index % 4 != 3]


def test_a_list_that_is_emptied_or_cut_off_meanwhile(tmp_path, good):
    root, _ = folder(tmp_path / "data", good, 0.0)
    path = tmp_path / "bad.jsonl"
    bad = BadSamples(fastload.open(root).pipeline.source, str(path), 1.0)
    bad.take(Meter(), Progress(0), report(1))
    path.write_bytes(b'{"path": "x')
    bad.take(Meter(), Progress(0), report(2))
    path.write_bytes(b"")
    bad.take(Meter(), Progress(0), report(3))
    path.write_bytes(path.read_bytes() + b"x" * (3 * bad_samples.LONGEST))
    bad.take(Meter(), Progress(0), report(4))
    lines = path.read_bytes().splitlines()
    assert [json.loads(lines[place])["index"] for place in (0, 2)] == [3, 4]
    assert len(lines) == 3
