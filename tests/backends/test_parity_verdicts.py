"""What the comparison of backends says of those that are wrong, cannot run, or are not there."""

import json
import sys
import types

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.backends.table import BACKENDS, BackendFacts
from fastload.errors import BackendError, SampleError, UsageError
from fastload.parity import measure, report, run
from fastload.parity.report import Column
from fastload.parity.run import Setting, columns

from .parity_helpers import MEAN, OTHERS, SHORT, STD


@pytest.fixture
def fake(monkeypatch):
    """fake(change, own_draws=…): a backend "fake" whose batches are change(images, target, number
    of the batch) of the native one's.
    """
    real = run.batches

    def make(change, *, own_draws=False, unsupported=lambda _plan, _device: []):
        module = types.ModuleType("fastload_fake_backend")
        module.unsupported = unsupported
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(
            BACKENDS.own,
            "fake",
            BackendFacts("fake", module.__name__, "native", own_draws=own_draws),
        )

        def batches(column, *rest):
            made = real(Column("native", "cpu") if column.backend == "fake" else column, *rest)
            if column.backend != "fake":
                return made
            return (
                found
                for number, batch in enumerate(made)
                if (found := change(*batch, number)) is not None
            )

        monkeypatch.setattr(run, "batches", batches)

    return make


UINT8 = [T.RandomResizedCrop((24, 31)), T.ToImage()]


def last(path, ops=UINT8, setting=SHORT, **options):
    return measure(fastload.open(path, ops), setting, names=["fake"], **options).whole[0]


def one_value(images, target, number):
    """A value of the first batch's second image is 3 off."""
    out = images[0].clone()
    if number == 0:
        out[1, 2, 5, 7] ^= 3
    return [out], target


def test_one_value_that_differs_is_found_and_named(folder, fake):
    fake(one_value)
    cell = last(folder)
    largest = cell.largest
    assert largest in (1, 2, 3)  # x ^ 3
    assert cell.mean == pytest.approx(largest / (3 * 24 * 31) / 10)
    assert cell.share == pytest.approx(1 / (24 * 31) / 10)
    assert str(cell) == f"within {largest:g}: mean {cell.mean:.2g}, 0.0134 % of pixels"
    data = fastload.open(folder, UINT8)
    second = list(fastload.ShuffleSampler(len(data), 3))[1]
    assert cell.worst.name == data.samples[second][0]
    assert np.argwhere(cell.worst.got != cell.worst.want).tolist() == [[5, 7, 2]]


def test_levels_do_not_depend_on_what_is_stored(folder, fake):
    def brighter(images, target, _):
        return [
            images[0]
            + torch.tensor([2 / 255 / std for std in STD])[:, None, None].to(images[0].dtype)
        ], target

    fake(brighter)
    for kind, slack in (("float32", 1e-4), ("float16", 0.2), ("bfloat16", 2)):
        ops = [*UINT8, T.ToDtype(kind, scale=True), T.Normalize(MEAN, STD)]
        cells = measure(fastload.open(folder, ops), SHORT, names=["fake"]).whole
        assert cells[0].verdict == "within"
        assert cells[0].largest == pytest.approx(2, abs=slack)
        assert cells[0].share == 1


def nothing(images, target, _):
    return images, target


@pytest.mark.parametrize(
    ("change", "text", "why"),
    [
        (lambda images, target, _: ([images[0].flip(3)], target), "differs: max ", ()),
        (lambda images, target, _: (images, target.flip(0)), "other labels",
         ("2 of 4 targets of a batch are others",)),
        (lambda images, target, _: (images, target.int()), "other labels",
         ("targets are torch.int32 [4], want torch.int64 [4]",)),
        (lambda images, target, _: ([images[0][:, :, :-1].contiguous()], target), "other shape",
         ("images are uint8 [4, 3, 23, 31], want uint8 [4, 3, 24, 31]",)),
        (lambda images, target, _: ([images[0].float()], target), "other shape",
         ("images are float32 [4, 3, 24, 31], want uint8 [4, 3, 24, 31]",)),
        (lambda images, target, _:
         ([images[0].contiguous(memory_format=torch.channels_last)], target), "other shape",
         ("images are uint8 [4, 3, 24, 31], channels last, want uint8 [4, 3, 24, 31]",)),
        (lambda images, target, _: (images * 2, target), "other shape",
         ("batches have 2 views, want 1",)),
        (lambda images, target, number: None if number else (images, target), "failed",
        ("its epoch ended after 4 images",)),
        (lambda *_: torch.zeros(2) @ torch.zeros(3), "failed", None),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_backend_is_said(change, text, why, folder, fake):
    fake(change)
    found = measure(fastload.open(folder, UINT8), SHORT)
    cells = dict(zip(map(str, found.columns), found.whole, strict=True))
    assert str(cells["native"]) == "bit-equal"  # the others go on
    assert str(cells["fake"]).startswith(text)
    if why is None:
        assert len(cells["fake"].why) == 1
        assert "\n" not in cells["fake"].why[0]
    else:
        assert cells["fake"].why == why
    assert found.largest() > report.NEAR


def test_what_a_backend_cannot_is_named_in_every_row_that_has_it(folder, fake):
    def unsupported(plan, device):
        return [
            f"{step.label} is not written"
            for step in plan.steps
            if isinstance(step.op, T.RandomHorizontalFlip)
        ] + [device] * 0

    fake(nothing, unsupported=unsupported)
    ops = [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()]
    found = measure(fastload.open(folder, ops), SHORT, names=["fake"])
    assert [cells[0].verdict for _, cells in found.rows] == [
        "bit-equal",
        "bit-equal",
        "cannot",
        "cannot",
    ]
    assert found.whole[0].why == ("op 2 (RandomHorizontalFlip) is not written",)
    assert found.largest() == 0


def test_a_library_that_is_not_installed_is_a_reason(folder, monkeypatch):
    monkeypatch.setitem(
        BACKENDS.own, "fake", BackendFacts("fake", "fastload.backends.no_such_module", "own")
    )
    (column, cell) = (last(folder).verdict, last(folder).why)
    assert (column, cell) == (
        "cannot",
        ("is not installed (No module named 'fastload.backends.no_such_module')",),
    )


def test_own_draws_must_be_distributed_as_the_references(folder, fake):
    """Every image is there 4 times, so that 160 are compared."""
    other = fastload.open(folder, UINT8)
    drawn = list(
        fastload.DataLoader(other, 4, sampler=list(fastload.ShuffleSampler(40, 0)), seed=99)
    )
    fake(lambda _images, target, number: ([drawn[number][0]], target), own_draws=True)
    cell = last(folder, setting=Setting(images=40, batch_size=4))
    assert cell.verdict == "own draws"
    assert cell.chance > 0.01
    assert str(cell) == f"own draws: p {cell.chance:.2g}"


@pytest.mark.parametrize(
    "change", [lambda i: i // 2, lambda i: i.flip(1) // 2 + 90, lambda i: i[:, :, :1].expand_as(i)]
)
def test_other_distributions_are_found(change, folder, fake):
    fake(lambda images, target, _: ([change(images[0]).contiguous()], target), own_draws=True)
    cell = last(folder, setting=Setting(images=40, batch_size=8))
    assert cell.verdict == "other distribution"
    assert cell.chance < 0.001


def test_the_document_is_plain(folder, fake):
    fake(
        lambda images, target, _: (
            [images[0] * torch.nan if images[0].is_floating_point() else images[0]],
            target,
        )
    )
    found = measure(
        fastload.open(folder, [*UINT8, T.ToTensor()][::2]), SHORT, names=["fake", "native"]
    )
    text = json.dumps(found.to_json(), allow_nan=False)
    cells = json.loads(text)["rows"][-1]["cells"]
    assert [
        (cell["backend"], cell["device"], cell["verdict"], cell["max_levels"]) for cell in cells[:1]
    ] == [("native", "cpu", "bit-equal", 0)]
    assert (
        cells[-1]["backend"],
        cells[-1]["verdict"],
        cells[-1]["max_levels"],
        cells[-1]["pixels_share"],
    ) == ("fake", "differs", None, 1)
    assert found.largest() == float("inf")


def test_errors(folder, bad_folder, tmp_path):
    with pytest.raises(UsageError) as caught:
        columns(["native", "torch"])
    known = ", ".join(OTHERS)
    assert (
        str(caught.value)
        == f"parity: backend 'torch' is unknown (want {known}; torch is what they are compared "
        "with); choose one of them"
    )
    with pytest.raises(
        BackendError, match=r"^parity: only PyTorch's own engine can run this data set: "
    ):
        measure([1, 2, 3])
    path = bad_folder({"1bad.jpg": b"\xff\xd8\xff nothing"})
    with pytest.raises(SampleError, match=r"1bad\.jpg"):
        measure(fastload.open(path, UINT8), SHORT)
