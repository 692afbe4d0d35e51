"""Help and results at 60, 80 and 200 columns: no word and no number is cut; colours only where
they are wanted.
"""

import io
import re
from dataclasses import replace

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from fastload import cli, demo_images
from fastload.cli import output, profile
from fastload.measure import Sample
from fastload.profiler.cuts import Cut
from fastload.profiler.sweep import AtWorkers
from tests.cli.test_option_names import verbs
from tests.profiler.test_report import REPORT

WIDTHS = (60, 80, 200)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:[34][0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
RUNS = (
    ["inspect", "DATA", "--histograms"],
    ["verify", "DATA"],
    ["convert", "DATA", "OUT", "--dry-run"],
    ["recipes", "list"],
    ["recipes", "show", "hot"],
    ["recipes", "diff", "hot", "mild"],
    ["doctor"],
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("widths") / "images"
    demo_images.make_folder(folder, 20, 20, workers=1, on_done=lambda *_: None)
    return folder


@pytest.fixture
def printed(monkeypatch, data, tmp_path):
    """printed(width, "inspect", …): what a verb prints on a terminal of that width."""

    def run(width, *arguments, terminal=True):
        file = io.StringIO()
        console = Console(
            file=file, width=width, force_terminal=terminal, highlight=False, soft_wrap=True
        )
        monkeypatch.setattr(output, "results", console)
        places = {"DATA": str(data), "OUT": str(tmp_path / "out")}
        done = CliRunner().invoke(cli.build(), [places.get(one, one) for one in arguments])
        assert done.exit_code == 0, done.output
        return file.getvalue()

    return run


def words(text):
    """Words in order of the alphabet: columns that are broken change the order of words."""
    bare = re.sub("[█▏▎▍▌▋▊▉]+", "", ESCAPE.sub("", text))
    return sorted(word for word in bare.split() if not re.fullmatch(r"[\d.,]+s?|~?[\d.,]+", word))


def unbroken(help_text):
    """Words of help, which may be broken after a hyphen."""
    return re.sub(r"-\s+", "-", help_text).split()


def too_wide(text, width):
    """Lines that are wider, but for those of one word, such as a path."""
    lines = ESCAPE.sub("", text).splitlines()
    return [line for line in lines if len(line.rstrip()) > width and " " in line.strip()]


@pytest.mark.parametrize("width", WIDTHS)
def test_help_of_every_verb(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    app = typer.main.get_command(cli.build())
    for verb, command in [("", app), *verbs()]:
        context = typer.Context(command, info_name=f"fastload {verb}".strip(), terminal_width=width)
        text = command.get_help(context)
        wide = typer.Context(command, info_name=f"fastload {verb}".strip(), terminal_width=1000)
        assert unbroken(text) == unbroken(command.get_help(wide)), verb
        assert max(map(len, text.splitlines())) <= width, verb
        assert "..." not in text.replace("COMMAND ...", "").replace("train.py ...", "").replace(
            "COMMAND [ARGS]...", ""
        ).replace("1, 2, 4, ...", ""), verb


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_nothing_is_cut_on_a_terminal(printed, run):
    whole = words(printed(500, *run))
    assert whole
    for width in WIDTHS:
        text = printed(width, *run)
        assert words(text) == whole, width
        assert "…" not in text
        assert too_wide(text, width) == []


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_lines_of_a_pipe_stay_whole(printed, run):
    narrow, wide = (printed(width, *run, terminal=False) for width in (60, 500))
    assert "\x1b" not in narrow
    assert words(narrow) == words(wide)
    assert len(narrow.splitlines()) == len(wide.splitlines())


@pytest.fixture
def profile_of(monkeypatch, printed):
    """profile_of(report, width): what `fastload profile` prints of a report."""

    def run(report, width, **how):
        monkeypatch.setattr(profile, "_report", lambda *_, **__: report)
        return printed(width, "profile", "--data", "DATA", **how)

    return run


def a_profile():
    """With a remedy of a long name, as a command's report has it."""
    long = replace(REPORT.remedies[0].alternative, name=10 * "a long name " + "of what to do")
    one = replace(REPORT.remedies[0], alternative=long)
    cut = Cut("+ crop", Sample((600.0, 612.0)), Sample((60.0, 62.0)))
    return replace(
        REPORT,
        remedies=(one, *REPORT.remedies[1:]),
        cuts=(cut,),
        workers=(AtWorkers(2, Sample((600.0, 612.0))),),
    )


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_profile_is_whole_at_every_width(profile_of, width):
    """No line is too wide, each word and number is there, and numbers stay beside their names."""
    report = a_profile()
    text = profile_of(report, width)
    assert too_wide(text, width) == []
    assert set(words(text)) == set(words(str(report)))
    flat = " ".join(ESCAPE.sub("", text).split())
    for cell in ("1,500 (2.5x [2.5, 2.5])", "1,439 (1,412 to 1,468)", "none: the same ops"):
        assert cell in flat
        assert any(cell in line for line in text.splitlines())
    assert "decode 2.000 67 % 0.100 1,000" in flat
    in_table, stacked = (
        "96 px 25 % 9,000 700 700 92 %",
        "96 px of the epochs 25 % step images/s 9,000",
    )
    assert (in_table if width >= 120 else stacked) in flat


def test_a_profile_through_a_pipe_is_what_a_report_is_as_text(profile_of):
    report = a_profile()
    assert profile_of(report, 60, terminal=False) == f"{report}\n"


def test_what_wraps_is_indented_to_the_second_column():
    text = output.Text("native   vector code: one two three\nshort")
    wrapped = [line.plain for line in output._wrapped(text, 24)]
    assert wrapped == ["native   vector code:", "         one two three", "short"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {}])
def test_json_is_never_coloured(monkeypatch, environment):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(cli.build(), ["recipes", "list", "--json", "-"])
    assert done.stdout.startswith("{")
    assert "\x1b" not in done.stdout


def test_no_color_is_honoured(monkeypatch, printed):
    monkeypatch.setenv("NO_COLOR", "1")
    for run in RUNS:
        assert not COLOUR.search(printed(80, *run)), run
