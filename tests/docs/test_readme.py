"""README's example runs and prints what README says; its first number is that of the rows."""

import re
from pathlib import Path

import pytest
from torchvision import transforms
from torchvision.datasets import ImageFolder

from benchmarks.pages import headline
from benchmarks.report import row
from tests.conftest import TREE

README = TREE / "README.md"


def block(name: str) -> str:
    """The code below `<!-- name -->`."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README.read_text(), re.DOTALL)
    assert found
    return found[1]


def test_the_example_prints_what_the_page_says(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").symlink_to(folder)
    ops = [
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
        transforms.TrivialAugmentWide(), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]  # fmt: skip
    names = {"ImageFolder": ImageFolder, "transform": transforms.Compose(ops)}
    exec(block("example"), names)  # README's own code
    *lines, index = capsys.readouterr().out.splitlines()
    *shown, shown_index = block("printed").splitlines()
    assert lines == shown
    parts = re.compile(
        r"  seek index: \d+ of \d+ images; others are collected into \S+/seek/\w{16}"
    )
    assert parts.fullmatch(index)
    assert parts.fullmatch(shown_index)


def test_the_first_number_is_measured() -> None:
    ratios = [r.ratio for r in headline.rows(row.RESULTS) if r.variant.startswith("fastload")]
    said = re.search(
        r"\*\*(\d+) to (\d+) times as fast\*\*.*? and (\d+) times", README.read_text(), re.DOTALL
    )
    assert said
    assert [int(ratio) for ratio in ratios if ratio] == [int(each) for each in said.groups()]


def test_the_rates_with_randaugment_are_measured() -> None:
    found = headline.on_one_core(row.RESULTS, "crop, flip, RandAugment")
    ratios = [found[each].ratio or 0 for each in headline.LABELS if each.startswith("fastload")]
    said = "With RandAugment: {:.1f}, {:.1f} and {:.1f} times.".format(*ratios)
    assert said in README.read_text()


def test_both_commands_install_the_same_packages() -> None:
    """What builds fastload: a bare Debian has neither a compiler nor Python's headers."""
    lines = re.findall(r"^    S=.* apt-get install -y (.*?) && ", README.read_text(), re.MULTILINE)
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert "g++" in lines[0].split()


def test_the_page_fits_one_look() -> None:
    """Claim, picture, installation and example come before everything else."""
    headings = re.findall(r"^## (.*)", README.read_text(), re.MULTILINE)
    assert headings[:4] == ["Install", "Use it", "How fast", "When not to use it"]
    assert len(README.read_text().splitlines()) < 160
