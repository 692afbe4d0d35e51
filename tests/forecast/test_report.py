"""Choices, and a forecast as text, JSON and HTML."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pages import planning
from fastload.forecast import document, lines, options, page, plots, words
from fastload.forecast.bands import Range
from fastload.forecast.findings import stretches
from fastload.forecast.options import Option
from fastload.profiler import foretold
from tests.forecast import made
from tests.forecast.test_model import simple
from tests.tags import Tags

DOCS = Path(__file__).parents[2] / "docs"
FOUND = made.forecast(made.question(180, cores=22), target=0.78)
COMPARED = made.with_results(FOUND)


def option(name: str, seconds: float, top1: float | None, price: float | None = None) -> Option:
    return Option(name, simple(seconds, 0.0), top1, "somebody", price)


def test_the_front_is_what_nothing_beats():
    choices = [
        option("slow", 9, 0.7), option("fast", 1, 0.6), option("best", 5, 0.8),
        option("twin", 5, 0.79), option("unknown", 0.1, None), Option("cannot", note="no"),
    ]  # fmt: skip
    assert [one.name for one in options.front(choices)] == ["fast", "best"]
    assert options.cheapest(choices, 0.75).name == "best"
    assert options.cheapest(choices, 0.9) is None
    assert options.cheapest(choices, None).name == "unknown"


def test_money_counts_where_there_is_a_price():
    choices = [option("fast", 1, 0.8, 100.0), option("cheap", 5, 0.8, 1.0)]
    assert options.cheapest(choices, 0.8).name == "cheap"
    assert options.cheapest([replace(one, price=None) for one in choices], 0.8).name == "fast"
    assert choices[1].cost.value == pytest.approx(3 * 1000 * 5 / 3600)


def test_stretches_hold_the_whole_run():
    parts = stretches(FOUND.run)
    assert parts[0].first == 0
    assert parts[-1].last == 179
    assert all(one.last + 1 == two.first for one, two in itertools.pairwise(parts))
    assert sum(one.hours.value for one in parts) == pytest.approx(FOUND.hours.value)
    assert len({one.size for one in parts}) == len(set(FOUND.asked.sizes))


def test_the_text_begins_with_the_answer():
    said = lines.lines(FOUND)
    assert said[0].startswith("hot, 180 epochs on node, 8 GPUs: ")
    assert ", cost " in said[0]
    text = "\n".join(said)
    assert "top-1 79.86 %, published, which reaches 78.00 %" in text
    assert "8 GPUs give 7.4 times what one gives (6.7 to 8.0)" in text
    assert "an epoch of 1,281,167 images, 1,281 times those that are here" in text
    assert "the loader on 22 cores from 2 here, 11 times" in text
    assert "not included: EMA; BlurPool; stochastic depth; binary cross-entropy; validation" in text
    assert "accuracies are of ImageNet" not in text
    assert "141 GB an epoch; once with 176 GB of memory, whose cache holds them" in text
    fewer = replace(FOUND, asked=replace(FOUND.asked, images=1000))
    assert lines.whose(fewer) == (
        "accuracies are of ImageNet's 1,281,167 images, and an epoch here has 1,000"
    )
    other = lines.accuracy(made.forecast(made.question(36)))
    assert other == (
        "top-1 is not known: nobody published hot's after 36 epochs (published: 79.86 % after 180, "
        "80.78 % after 450 epochs)"
    )


def test_the_cheapest_that_reaches_the_target_is_named():
    (said,) = lines.chosen(COMPARED)
    assert said.startswith("cheapest that reaches 78.00 %: ffcv-rn50, 56 epochs: ")
    assert lines.chosen(replace(COMPARED, target=0.9)) == [
        "none has a published top-1 of 90.00 % or more"
    ]
    assert [row[0] for row in lines.option_rows(COMPARED) if row[0].endswith(" *")]


@pytest.mark.parametrize(
    ("value", "text"),
    [(90, "90 s"), (600, "10 min"), (7300, "2.03 h"), (4 * 86400, "4 days"), (0.5, "0.5 s")],
)
def test_times_have_a_unit_that_fits(value, text):
    assert words.time(value) == text


def test_ranges_have_their_unit_once():
    assert words.times(Range(600, 540, 660)) == "10 min (9 to 11 min)"
    assert words.times(Range(600, 60, 8000)) == "10 min (60 s to 2.22 h)"
    assert words.cores(Range(3, 2, float("inf"))) == "3 (2 to no number)"
    assert words.epochs(0, 0) == "1"
    assert words.epochs(0, 4) == "1 to 5"


def test_the_document_is_json_with_every_epoch():
    written = json.loads(json.dumps(document.document(COMPARED), allow_nan=False))
    assert written["schema"] == "fastload.plan/1"
    assert len(written["epochs"]) == 180
    total = sum(epoch["seconds"]["value"] for epoch in written["epochs"])
    assert total == pytest.approx(written["seconds"]["value"])
    assert written["cost"]["value"] == pytest.approx(32.77 * total / 3600)
    assert sum(one["cheapest"] for one in written["options"]) == 1
    full, last = written["full_size"], COMPARED.run.training.at(179)
    assert (full["size_px"], full["limit"]) == (167, COMPARED.run.limits[179])
    assert full["training_img_per_s"]["low"] == pytest.approx(1 / last.high)
    assert (
        foretold.report(written)["replicates"]["training_img_per_s"][1]
        == (full["training_img_per_s"]["value"])
    )
    assert written["measured"]["loader_img_per_s"]["99"] == [4950.0, 5000.0, 5050.0]


@pytest.fixture(scope="module")
def html() -> str:
    return page.write(COMPARED)


def test_the_page_is_whole_and_fetches_nothing(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags.seen}
    assert not re.search(r"https?:|url\(|javascript", html)
    assert "prefers-color-scheme: dark" in html
    assert "<train>" not in html
    assert "Test &lt;CPU&gt;" in html
    assert "fastload plan --data &#x27;/data/&lt;train&gt;&#x27;" in html


def test_every_picture_is_told_and_is_a_table_too(html):
    tags = Tags()
    tags.feed(html)
    pictures = [attrs for tag, attrs in tags.seen if tag == "svg"]
    assert len(pictures) == 3  # the strip, the Pareto plot, what would change it
    assert all(one["role"] == "img" and len(one["aria-label"]) > 40 for one in pictures)
    assert len([tag for tag, _ in tags.seen if tag == "table"]) == 2
    heads = [attrs for tag, attrs in tags.seen if tag == "th"]
    assert all(one["scope"] == "col" for one in heads)


def test_points_and_numbers_lie_within_the_plot():
    drawn = plots.pareto(COMPARED)
    points = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert len(points) == len(COMPARED.options)
    assert len([one for one in points if one[0] == "best"]) == len(COMPARED.front)
    for _, x, y in points:
        assert plots.LEFT <= float(x) <= plots.WIDTH - plots.EDGE
        assert plots.TOP <= float(y) <= plots.PLOT_HIGH - plots.BOTTOM
    numbers = re.findall(r'<text class="mid name" x="[\d.]+" y="[\d.]+">(\d+)</text>', drawn)
    assert numbers == [str(number) for number in range(1, len(points) + 1)]
    assert plots.pareto(FOUND) == ""


def test_an_axis_keeps_order_and_has_round_ticks():
    for axis in (plots.Axis(0, 37, 10, 110), plots.Axis(1, 900, 10, 110, logarithmic=True)):
        ticks = axis.ticks(6)
        assert 2 <= len(ticks) <= 6
        places = [axis.at(tick) for tick in ticks]
        assert places == sorted(places)
        assert all(10 <= place <= 110 for place in places)
    assert plots.Axis(0, 37, 0, 1).ticks(4) == [0, 10, 20, 30]


def test_the_pages_table_of_published_runs_is_up_to_date():
    """Else: python -m benchmarks planning."""
    text = (DOCS / "planning.md").read_text()
    assert planning.page(text) == text
