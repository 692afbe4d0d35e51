"""The HTML page and the Chrome trace."""

import json
import re
from collections import defaultdict
from dataclasses import replace

import pytest

from fastload.attach import log
from fastload.attach.log import Log
from fastload.cli import attached
from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.profiler import charts, logs, page, trace
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.remedies import Alternative, Priced
from fastload.profiler.report import Report
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.verdict import decide
from tests.tags import Tags

RUNGS = Rungs(Sample((3000.0,) * 3), Sample((600.0, 606.0, 594.0)), Sample((590.0, 588.0, 592.0)))
STAGES = (StageCost("<b>&decode", 0.002, 0.002), StageCost("collate", 0.0001, 0.0001))
REPORT = Report(
    decide(RUNGS, STAGES), RUNGS, StepFacts("attached", None, "a <note>"), Setting(workers=2),
    {"cpu": "<Test>", "usable_cores": 2}, 1.0,
    STAGES, "made up", workers=(AtWorkers(1, Sample((300.0,))), AtWorkers(2, Sample((600.0,)))),
)  # fmt: skip


def test_the_page_is_whole_and_fetches_nothing():
    text = page.write(REPORT)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags.seen}
    assert not re.search(r"https?:|url\(|javascript", text)
    assert "<b>&decode" not in text
    assert "CPU-BOUND: &lt;b&gt;&amp;decode" in text
    assert "--edge: var(--bad)" in text
    assert len([tag for tag, _ in tags.seen if tag == "svg"]) == 3  # rates, stages, workers


def test_bars_are_as_long_as_their_numbers():
    tags = Tags()
    tags.feed(page.write(replace(REPORT, stages=(), workers=())))
    widths = [float(attrs["width"]) for tag, attrs in tags.seen if tag == "rect"]
    assert widths[1] / widths[0] == pytest.approx(600 / 3000, rel=0.01)
    assert widths[0] > charts.WIDTH / 2


@pytest.mark.parametrize("name", ["x", "x" * 80, "change one import and " * 4, "y" * 55])
def test_names_and_numbers_have_room(name):
    """In letters of a phone's width; a long name goes on in the next line, and none is cut."""
    drawn = charts.chart("t", [charts.Bar(name, 2.0, "2,000 images/s", 1.0, 3.0)])
    lines = defaultdict(list)
    for y, text in re.findall(r'<text[^>]* y="(\d+)"[^>]*>([^<]*)</text>', drawn):
        lines[int(y)].append(text)
    for texts in lines.values():
        assert charts.LETTER * len("  ".join(texts)) <= charts.WIDTH - 2 * charts.EDGE
    (bar,) = re.findall(r'<rect class="bar" x="\d+" y="(\d+)"', drawn)
    assert max(lines) < int(bar)
    shown = "".join(text for texts in lines.values() for text in texts)
    assert shown.replace(" ", "") == name.replace(" ", "") + "2,000images/s"


def drawn(bars):
    tags = Tags()
    tags.feed(charts.chart("t", bars))
    return tags.seen


def test_cpu_and_waiting_are_drawn_apart():
    """The longest part in the colour of the CPU is the stage of the verdict."""
    slept = StageCost("slept", 0.003, 0.001)
    bars = page._stages(replace(REPORT, stages=(StageCost("decode", 0.002, 0.002), slept)))
    boxes = [(a["class"], float(a["width"])) for tag, a in drawn(bars) if tag == "rect"]
    assert [kind for kind, _ in boxes] == ["bar", "bar", "wait"]
    assert boxes[2][1] / boxes[1][1] == pytest.approx(2 / 3, rel=0.01)
    assert boxes[1][1] - boxes[2][1] < boxes[0][1]


def test_a_far_range_flattens_no_bar_and_ends_in_an_arrow():
    seen = drawn([charts.Bar("a", 2.0, "2", 1.0, 900.0), charts.Bar("b", 1.0, "1", 0.9, 1.1)])
    widths = [float(attrs["width"]) for tag, attrs in seen if tag == "rect"]
    assert widths[0] > charts.WIDTH / 2
    paths = [attrs["d"] for tag, attrs in seen if tag == "path" and attrs["class"] == "range"]
    assert ["l5 5l-5 5" in path for path in paths] == [True, False]


def test_the_page_answers_first():
    priced = Priced(
        Alternative("backend x", "", "x", ()), Sample((1500.0,) * 3), Sample((600.0,) * 3)
    )
    text = page.write(replace(REPORT, remedies=(priced,)))
    parts = ('<p class="do">Backend x: predicted', "What to do", "Why", "How sure", "Details")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert '<td data-name="training, images/s">1,439 (1,412 to 1,468)</td>' in text
    assert """<td data-name="times today's">2.4 (2.4 to 2.5)</td>""" in text
    assert text.count("CPU-BOUND: &lt;b&gt;&amp;decode") == 2  # title and heading


def test_the_page_says_that_the_step_was_emulated_and_has_all_of_the_report():
    text = page.write(
        replace(
            REPORT,
            step=StepFacts("emulated", 3000.0),
            not_measured=("several GPUs",),
            workers=REPORT.workers * 40,
        )
    )
    assert (
        "The training step was EMULATED: a clock at 3,000 images/s. No GPU did any "
        "work.</p></header>" in text
    )
    assert "Not measured: several GPUs." in text


def test_what_training_would_gain_is_drawn():
    priced = Priced(
        Alternative("backend x", "", "x", ()), Sample((1500.0,) * 3), Sample((600.0,) * 3)
    )
    assert ">1,439 images/s, predicted<" in page.write(replace(REPORT, remedies=(priced,)))
    assert ">1,400 images/s, predicted 1,439<" in page.write(
        replace(REPORT, remedies=(replace(priced, training=Sample((1400.0,) * 3)),))
    )


def test_rungs_that_tell_causes_apart_are_shown():
    assert "step beside the loader" in page.write(
        replace(REPORT, evidence=Evidence(beside=Sample((2000.0,) * 3)))
    )
    assert "step beside the loader" not in page.write(REPORT)


def test_the_trace_has_waits_steps_and_batches(tmp_path):
    made = Log(str(tmp_path))
    made.write(log.WAIT, 0, 10.0, 0.5, 0.1, images=4)
    made.write(log.FETCH, 0, 10.1, 0.3, 0.2, starved=0.05, images=4)
    made.write(log.WAIT, 0, 11.0, 0.25, 0.1, images=4, steps=1)
    spans = [
        event
        for event in trace.document(logs.read(str(tmp_path)))["traceEvents"]
        if event["ph"] == "X"
    ]
    assert [(event["name"], event["ts"], event["dur"]) for event in spans] == [
        ("next (loader 0)", 0.0, 5e5), ("batch", 1e5, 3e5), ("step", 5e5, 5e5), ("next (loader 0)",
        1e6, 2.5e5),
    ]  # fmt: skip
    assert spans[1]["args"] == {"images": 4, "cpu_ms": 200.0, "waiting_for_core_ms": 50.0}
    assert trace.document([]) == {"displayTimeUnit": "ms", "traceEvents": []}


@pytest.mark.long
def test_files_from_the_command_line(run, photos, tmp_path):
    out = tmp_path / "report.html"
    assert (
        run(
            "profile",
            "--data",
            photos,
            "--recipe",
            "mild",
            "--step-rate",
            20,
            "--seconds",
            1,
            "--html",
            out,
        ).exit_code
        == 0
    )
    assert out.read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".fastload")] == []


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(UsageError) as caught:
        attached.save(str(tmp_path), "x", "html")
    assert (
        str(caught.value)
        == f"profile: {tmp_path}: cannot be written (Is a directory); give another file to --html"
    )
    assert json.dumps([path.name for path in tmp_path.parent.glob(".fastload-*")]) == "[]"
