"""Rows of benchmarks in their file and in the tables of the documents."""

import dataclasses

import pytest

from fastload.errors import UsageError
from tests.cli.test_benchmarks import ROW, results, row, table


def test_a_row_replaces_its_own_of_the_same_commit_and_machine_only(tmp_path):
    path = tmp_path / "loader.jsonl"
    other_commit, other_variant = (
        dataclasses.replace(ROW, commit="older"),
        dataclasses.replace(ROW, variant="PyTorch"),
    )
    other_data = dataclasses.replace(ROW, data={**ROW.data, "name": "others"})
    again = dataclasses.replace(ROW, median=3000.0, dirty=True)
    row.save(path, [other_commit, other_data, other_variant, ROW])
    row.save(path, [again])
    assert row.read(path) == [other_commit, other_data, other_variant, again]
    assert row.latest(row.read(path)) == [other_variant, again]
    of_no_data = dataclasses.replace(ROW, variant="kernels alone", data={})
    row.save(path, [of_no_data])
    assert row.latest(row.read(path)) == [other_variant, again, of_no_data]


def test_a_line_that_is_no_row_is_named(tmp_path):
    path = tmp_path / "loader.jsonl"
    path.write_text(row.line(ROW) + "\n{}\n")
    with pytest.raises(UsageError, match=r"loader\.jsonl, line 2: is no benchmark row"):
        row.read(path)


def test_the_table_goes_between_its_markers_and_stays(tmp_path):
    row.save(
        tmp_path / "loader.jsonl", [dataclasses.replace(ROW, variant="PyTorch", ratio=None), ROW]
    )
    text = "before\n<!-- benchmarks: loader -->\nold\n<!-- /benchmarks -->\nafter\n"
    readme = tmp_path / "README.md"
    readme.write_text(text)
    assert results.update(readme, tmp_path, check=True)
    assert readme.read_text() == text
    assert results.update(readme, tmp_path)
    assert not results.update(readme, tmp_path, check=True)
    assert "| fastload | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |" in readme.read_text()
    assert "commit 1a2b3c4d5e6f, 2026-01-01." in readme.read_text()


def test_a_marker_takes_the_rows_of_one_setting(tmp_path):
    rows = [
        dataclasses.replace(ROW, variant=way, settings={"pipeline": way, "cores": 1})
        for way in ("crop", "crop, flip")
    ]
    row.save(tmp_path / "loader.jsonl", rows)
    page = tmp_path / "README.md"
    page.write_text("<!-- benchmarks: loader (pipeline: crop, flip) -->\n<!-- /benchmarks -->\n")
    assert results.update(page, tmp_path)
    assert (
        page.read_text().splitlines()[3]
        == "| crop, flip | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |"
    )
    assert not results.update(page, tmp_path, check=True)
    page.write_text("<!-- benchmarks: loader (pipeline: turn) -->\n<!-- /benchmarks -->\n")
    with pytest.raises(
        UsageError, match=r"^table: loader has no row whose pipeline is 'turn'; mend the marker$"
    ):
        results.update(page, tmp_path)


def test_a_further_table_has_a_marker_of_its_own(tmp_path):
    plain = dataclasses.replace(ROW, ratio=None, ratio_low=None, ratio_high=None)
    stage = dataclasses.replace(
        plain,
        variant="entropy",
        settings={"table": "stages", "cores": 1},
        also={"own_microseconds": 280.4},
    )
    row.save(tmp_path / "loader.jsonl", [ROW, stage])
    readme = tmp_path / "README.md"
    readme.write_text(
        "<!-- benchmarks: loader stages -->\n<!-- /benchmarks -->\n<!-- benchmarks: loader "
        "-->\n<!-- /benchmarks -->\n"
    )
    assert results.update(readme, tmp_path)
    first, second = readme.read_text().split("<!-- benchmarks: loader -->\n")
    assert first.splitlines()[1:4] == [
        # Nothing is compared, so there is no ratio
        "| variant | images/s | lowest to highest | own microseconds |",
        "| --- | ---: | ---: | ---: |",
        "| entropy | 2,000 | 1,900 to 2,100 | 280 |",
    ]
    assert "; cores 1; page cache warm;" in first
    assert second.splitlines()[2] == "| fastload | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |"
    assert "entropy" not in second
    assert table.every([ROW, stage]) == table.markdown([ROW]) + "\nstages:\n\n" + table.markdown(
        [stage]
    )


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("loader cores", "table: loader has no table cores (want one of: stages); mend the marker"),
        ("decode", "table: decode has no rows; run `python -m benchmarks decode` first"),
    ],
)
def test_a_marker_without_rows_is_refused_and_nothing_is_written(tmp_path, marker, text):
    stage = dataclasses.replace(ROW, settings={"table": "stages"})
    row.save(tmp_path / "loader.jsonl", [ROW, stage])
    readme = tmp_path / "README.md"
    readme.write_text(
        f"<!-- benchmarks: loader -->\n<!-- /benchmarks -->\n<!-- benchmarks: {marker} -->\n<!-- "
        "/benchmarks -->\n"
    )
    before = readme.read_text()
    with pytest.raises(UsageError) as error:
        results.update(readme, tmp_path)
    assert str(error.value) == text
    assert readme.read_text() == before
