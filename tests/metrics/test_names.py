"""The table of names, and what is made of it: the page and the dashboard."""

import json
import re

from benchmarks.pages import metrics as pages
from fastload.metrics.names import COUNTER, GAUGE, METRICS
from tests.conftest import TREE, needs_checkout

pytestmark = needs_checkout
BY_NAME = {one.name: one for one in METRICS}
ENDS = {"s": "_seconds", "By": "_bytes", "1": "_ratio", "{image}/s": "_per_second"}


def test_names_say_kind_and_unit():
    """As Prometheus's and OpenTelemetry's conventions ask for."""
    assert len(BY_NAME) == len(METRICS)
    for one in METRICS:
        assert re.fullmatch(r"fastload(_[a-z]+)+", one.name)
        assert one.kind in (COUNTER, GAUGE)
        assert one.name.endswith("_total") == (one.kind == COUNTER)
        assert one.meaning.endswith(".")
        bare = one.name.removesuffix("_total")
        assert bare.endswith(ENDS.get(one.unit, "")), one
        assert one.unit in ENDS or re.fullmatch(r"\{[a-z]+\}", one.unit), one


def test_the_page_has_the_table():
    """Else: python -m benchmarks metrics."""
    text = (TREE / "docs" / "metrics.md").read_text()
    assert pages.page(text) == text
    assert all(f"| `{one.name}` |" in text for one in METRICS)


def test_the_dashboard_is_what_its_generator_prints():
    """Else: python -m benchmarks metrics."""
    assert (TREE / "docs" / pages.DASHBOARD).read_text() == pages.dashboard_text()


def test_the_dashboard_asks_for_names_and_labels_of_the_table():
    board = json.loads((TREE / "docs" / pages.DASHBOARD).read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) > 5
    for panel in board["panels"]:
        assert panel["title"]
        for target in panel["targets"]:
            query, legend = target["expr"], target["legendFormat"]
            asked = re.findall(r"fastload_\w+", query)
            assert asked, query
            labels = {"loader", "rank", *(BY_NAME[name].label for name in asked)}
            by = re.search(r"sum by \(([^)]*)\)", query)
            grouped = set(by[1].split(", ")) if by else labels
            assert grouped <= labels
            assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= grouped
            rated = set(re.findall(r"rate\((\w+)", query))
            assert all(BY_NAME[name].kind == COUNTER for name in rated)
            assert query.count("(") == query.count(")")


def test_the_dashboards_panels_do_not_overlap():
    board = json.loads((TREE / "docs" / pages.DASHBOARD).read_text())
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
