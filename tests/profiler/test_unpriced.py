"""What may help and has no figure: each is named with its reason."""

import re
from dataclasses import replace

import pytest

from fastload.measure import Sample
from fastload.profiler import page, unpriced
from fastload.profiler.remedies import MILDER, Alternative, Priced
from tests.conftest import TREE

from .test_report import REPORT

RATES = Sample((200.0, 210.0, 190.0))


SHARDS = (
    "shards (fastload convert '/my data' SHARDS): they hold the images once more, so nothing was "
    "written; they have a seek index, and are read in long pieces"
)
NATIVE = (
    "Pillow-SIMD, or decode_image and v2 on tensors: docs/peers.md has 1.2 and 1.0 to 1.4 "
    "times Pillow's rate, and 6.1 to 6.6 for fastload's loader, which needs neither"
)
OTHER = (
    "Pillow-SIMD, or decode_image and v2 on tensors: docs/peers.md has 1.2 and 1.0 to 1.4 "
    "times Pillow's rate; fastload's loader decodes the JPEGs of both"
)
BATCHES = (
    "steps on whole batches on the GPU, such as Kornia's or torchvision's v2 (images = "
    "more(images.cuda())): which of your steps can do so is not known, and its time on a GPU was "
    "not measured"
)


def milder(name: str, rate: float) -> Priced:
    return Priced(Alternative(name, MILDER, "native", ()), Sample((rate,) * 3), RATES)


def named(tier, *priced, stages=("decode",), gpu=None, folder=None):
    facts = {"trial": {"tier": tier, "folder": folder}}
    return [one.text for one in unpriced.of_command(facts, priced, set(stages), gpu)]


def test_a_folder_that_fastload_reads():
    assert named("native", folder="/my data") == [SHARDS, NATIVE]


def test_work_on_the_gpu_has_an_upper_limit_only():
    """What is measured is the loader without the ops that would move."""
    whole, op = milder("x, without A and B", 900.0), milder("x, without A", 700.0)
    (found,) = named("native", whole, op, stages=(), gpu="Some GPU")
    assert found == (
        'A on the GPU, by fastload or by Kornia after the loader (DataLoader(..., device="cuda", '
        'augment="gpu")): its time on a GPU was not measured; at most 700 images/s of the loader, '
        "measured without A"
    )
    (found,) = named("native", stages=(), gpu="Some GPU")
    assert found == (
        'decoding on the GPU (DataLoader(..., device="cuda")): its time on a GPU was not measured'
    )
    assert named("native", op, stages=()) == []  # there is no GPU


def test_a_data_set_that_fastload_leaves_to_pytorch():
    assert named("pytorch", gpu="Some GPU") == [BATCHES, OTHER]


def test_where_nothing_was_tried_nothing_is_named():
    assert named(None) == []
    assert unpriced.of_command({}, (), {"decode"}, "Some GPU") == ()


def test_a_recipe():
    names = [one.name for one in unpriced.of_recipe("d", (milder("without A", 7.0),), None, "cpu")]
    assert names == ["shards", "A on the GPU, by fastload or by Kornia after the loader"]
    assert unpriced.of_recipe(None, (), "Some GPU", "cuda") == ()


def test_every_form_of_a_report_has_them():
    report = replace(REPORT, unpriced=(unpriced.Unpriced("a & b", "do(it)", "why"),))
    assert "Not tried: a & b (do(it)): why." in str(report).splitlines()
    assert "<li>a &amp; b (do(it)): why</li>" in page.write(report)
    assert report.to_json()["unpriced"] == [{"name": "a & b", "how": "do(it)", "why": "why"}]


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("PyTorch, torchvision, Pillow-SIMD", unpriced.SIMD),
        ("PyTorch, torchvision v2 on tensors", unpriced.TENSORS),
        ("fastload, folder", unpriced.DROPIN),
    ],
)
def test_figures_of_other_machines_are_those_of_the_results(variant, said):
    text = (TREE / "docs" / "peers.md").read_text()
    tables = re.findall(r"benchmarks: peers \(pipeline: .*?<!-- /benchmarks", text, re.DOTALL)
    row = re.compile(rf"^\| \d \| {re.escape(variant)} \|[^|]*\|[^|]*\| ([\d.]+) \(", re.MULTILINE)
    found = [float(ratio) for table in tables for ratio in row.findall(table)]
    assert (len(found), round(min(found), 1), round(max(found), 1)) == (4, *said)
