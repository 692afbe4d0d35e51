"""The list of bad samples, and the limits of how many there may be."""

import json
import os
import warnings
from pathlib import Path

import pytest
import torch

import fastload
from fastload import DistributedSampler
from fastload import transforms as T
from fastload.plan import bad_samples

from .on_error_helpers import BAD, OPS, PER_CLASS, loader, with_bad_ones


@pytest.fixture
def broken(tmp_path, encode):
    return with_bad_ones(tmp_path, encode)


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_the_list(broken, tmp_path, backend):
    path = tmp_path / "new" / "bad.jsonl"
    for _ in range(2):  # a second run lists nothing again
        made = loader(broken, bad_samples=path, backend=backend, num_workers=0)
        for _ in range(2):
            list(made)
    found = lines(path)
    assert sorted(row["index"] for row in found) == list(BAD)
    for row in found:
        assert list(row) == ["path", "index", "offset", "reason"]
        assert row["path"] == os.path.join(
            broken, f"class{row['index'] // PER_CLASS}", f"{row['index']:05d}.jpg"
        )
        assert row["offset"] == 0
        assert row["reason"].startswith("cannot be decoded (")


def test_the_list_in_the_cache(broken, cache):
    list(loader(broken))
    (path,) = (cache / "fastload" / "bad_samples").iterdir()
    assert len(lines(path)) == len(BAD)


def test_a_torn_line_is_passed_over(broken, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"path": 1}\n[]\n{"path": "x", "ind')
    list(loader(broken, bad_samples=path))
    text = path.read_bytes().splitlines()
    assert text[2] == b'{"path": "x", "ind'
    assert len(text) == 3 + len(BAD)
    assert all(json.loads(line)["index"] in BAD for line in text[3:])


def test_a_list_that_cannot_be_written_is_one_warning(broken, tmp_path):
    (tmp_path / "file").write_text("")
    made = loader(broken, bad_samples=tmp_path / "file" / "bad.jsonl", num_workers=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(made)
        list(made)
    want = (
        f"{tmp_path}/file/bad.jsonl: bad samples cannot be listed (File exists); give "
        "bad_samples=PATH that can be written"
    )
    said = [str(one.message) for one in caught if one.category is not fastload.BadSamplesWarning]
    assert said == [want]


def test_too_many(broken, tmp_path):
    path = tmp_path / "bad.jsonl"
    made = loader(broken, max_bad=1, bad_samples=path, shuffle=False, num_workers=0)
    with pytest.raises(fastload.BadSamplesError) as caught:
        list(made)
    first, second = str(caught.value).splitlines()
    assert first.startswith(
        os.path.join(broken, "class1", "00011.jpg") + ", sample 11: cannot be decoded ("
    )
    assert second == (
        f"{broken}: 2 bad samples in epoch 0, max_bad=1 allows 1 of 40; see {path}, mend or remove "
        "the files, or allow more"
    )
    list(loader(broken, max_bad=12 / 40, shuffle=False))


def test_the_budget_goes_on_after_resume(broken):
    made = loader(broken, max_bad=3, shuffle=False, num_workers=0)
    iterator = iter(made)
    next(iterator)
    assert made.state_dict()["bad"] == 1
    other = loader(broken, max_bad=3, shuffle=False, num_workers=0)
    other.load_state_dict(made.state_dict())
    with pytest.raises(
        fastload.BadSamplesError, match="4 bad samples in epoch 0, max_bad=3 allows 3 of 40"
    ):
        list(other)


def test_limits():
    assert [bad_samples.limit(most, 1000) for most in (0, 7, 0.0, 0.01, 0.0101, 1.0)] == [
        0,
        7,
        0,
        10,
        11,
        1000,
    ]


@pytest.mark.parametrize(
    ("named", "text"),
    [
        (
            {"on_error": "ignore"},
            "DataLoader: on_error is 'ignore', want 'raise', 'substitute' or 'skip'",
        ),
        (
            {"max_bad": 1.5},
            (
                "DataLoader: max_bad is 1.5, want a share of the samples (0.0 to 1.0) or a number "
                "of them (0, 1, …)"
            ),
        ),
        (
            {"max_bad": True},
            (
                "DataLoader: max_bad is True, want a share of the samples (0.0 to 1.0) or a number "
                "of them (0, 1, …)"
            ),
        ),
        (
            {"bad_samples": "x"},
            (
                "DataLoader: bad_samples is given, but on_error='raise' lists none; leave it out, "
                "or use 'substitute' or 'skip'"
            ),
        ),
        (
            {"on_error": "skip", "mix": T.MixUp(alpha=1.0)},
            (
                "on_error: 'skip' would leave images of a mixed batch without their partners; use "
                "'substitute'"
            ),
        ),
    ],
)
def test_what_makes_no_sense(broken, named, text):
    with pytest.raises(fastload.FastloadError) as caught:
        fastload.DataLoader(fastload.open(broken, OPS), 4, **named)
    assert str(caught.value) == text


def test_pytorchs_own_engine_has_no_policy():
    data = torch.utils.data.TensorDataset(torch.arange(4))
    with pytest.raises(
        fastload.BackendError, match=r"^loader: on_error='skip' cannot run this data set: data set "
    ):
        fastload.DataLoader(data, on_error="skip")
    with pytest.raises(
        fastload.BackendError, match=r"^loader: eval_exact cannot run this data set: data set "
    ):
        fastload.DataLoader(data, sampler=DistributedSampler(4, eval_exact=True))
