"""Plots of benchmarks: a name and a ratio for each variant."""

import dataclasses

import pytest

from benchmarks.pages import headline, results
from fastload.errors import UsageError
from tests.cli.test_benchmarks import ROW, row


@pytest.mark.long
def test_a_plot_of_many_variants_has_a_name_and_a_ratio_for_each(command, tmp_path):
    pytest.importorskip("matplotlib")
    many = [
        dataclasses.replace(ROW, variant=f"variant {number}", ratio=1.5 + number)
        for number in range(6)
    ]
    stage = dataclasses.replace(ROW, variant="a stage", settings={"table": "stages"})
    row.save(tmp_path / "loader.jsonl", [*many, stage])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "loader.svg").read_text()
    assert all(
        f"variant {number}<" in drawn and f"2,000  ×{1.5 + number:.2f}<" in drawn
        for number in range(6)
    )
    assert "a stage" not in drawn  # only the main table is drawn


@pytest.mark.long
def test_a_gpus_plot_is_of_its_loaders(command, tmp_path):
    pytest.importorskip("matplotlib")
    tables = ("rates", "train_resnet50_hot", "decode")
    made = [
        dataclasses.replace(ROW, benchmark="gpu", variant=f"in {name}", settings={"table": name})
        for name in tables
    ]
    gpu = {**ROW.machine, "gpu": "Fake 9000"}
    row.save(tmp_path / "gpu.jsonl", [dataclasses.replace(one, machine=gpu) for one in made])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "gpu.svg").read_text()
    assert [
        name in drawn for name in ("in rates", "in train_resnet50_hot", "in decode", "Fake 9000")
    ] == [True, True, False, True]


@pytest.mark.long
def test_a_plot_is_a_png_and_an_svg(command, tmp_path):
    pytest.importorskip("matplotlib")
    row.save(tmp_path / "loader.jsonl", [ROW])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "loader.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "loader.svg").read_text()


@pytest.mark.long
def test_the_headline_is_of_six_rows_on_one_core(command, tmp_path):
    pytest.importorskip("matplotlib")
    made = [
        dataclasses.replace(
            ROW, benchmark="peers", variant=variant, ratio=ratio, ratio_low=1.96, ratio_high=2.04,
            settings={"pipeline": headline.PIPELINE, "cores": 1},
        )
        for variant, ratio in zip(headline.LABELS, (None, *[2.0] * 5), strict=True)
    ]  # fmt: skip
    row.save(tmp_path / "peers.jsonl", made)
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmarks: headline -->\n<!-- /benchmarks -->\n")
    assert results.update(page, tmp_path)
    assert page.read_text().splitlines()[3:5] == [
        "| PyTorch's `DataLoader`, torchvision | 2,000 | 1 |",
        "| NVIDIA DALI, on the CPU | 2,000 | 2.0 (2.0 to 2.0) |",
    ]
    done = command("-m", "benchmarks", "plot", "headline", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(tmp_path / f"headline.{e}") for e in ("png", "svg")]
    drawn = (tmp_path / "headline.svg").read_text()
    assert "NVIDIA DALI,<" in drawn  # two lines of one label
    assert "on the CPU<" in drawn
    row.save(tmp_path / "others" / "peers.jsonl", made[1:])
    with pytest.raises(
        UsageError,
        match=r"^headline: peers has no row of PyTorch, torchvision, Pillow on one core; ",
    ):
        headline.rows(tmp_path / "others")
