"""Ctrl-C: before the point of commitment it interrupts what --resume goes on with; behind it the
target is whole."""

import itertools
import os
import shutil
import signal
import sys

import pytest

from fastload import cli
from fastload.conversion import job, writers

from .finished_helpers import run
from .system_calls import CALLS, FORMATS, Nth, interrupt, out_of

KEPT = "interrupted; what is done is kept: go on with --resume\n"


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


def visible(path):
    """What stands under the final name, once it is whole: bytes by name; None before."""
    if path.is_dir():
        found = {
            str(each.relative_to(path)): each.read_bytes()
            for each in sorted(path.rglob("*"))
            if each.is_file()
        }
        return (
            None
            if any(os.path.basename(name).startswith(".fastload-") for name in found) or not found
            else found
        )
    return path.read_bytes() if path.exists() else None


def interrupted_at(tools, monkeypatch, k, *arguments):
    """In a child: exit code of the program and whether there were so many calls; or the signal that
    ended it.
    """

    def work():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nth = Nth(k, interrupt, (*CALLS, "link", "fchmod"))
        with monkeypatch.context() as patch:
            nth.install(patch)
            sys.argv = ["fastload", *map(str, arguments)]
            try:
                cli.main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
        return code, nth.count >= k

    return tools.in_child(work)


@pytest.mark.long
@pytest.mark.parametrize("to", FORMATS)
def test_ctrl_c_at_system_calls(tools, small, tmp_path, monkeypatch, capfd, to):
    """Every third call, another third for each format."""
    whole = out_of(tmp_path / "whole", to)
    asked = ("--to", to, "--workers", 1)
    assert run(capfd, "convert", small, whole, *asked)[0] == 0
    want, ends = visible(whole), []
    for k in itertools.count(1 + FORMATS.index(to) % 3, 3):
        out = out_of(tmp_path / f"k{k}", to)
        said = interrupted_at(tools, monkeypatch, k, "convert", small, out, *asked)
        told = capfd.readouterr()
        if said == -signal.SIGINT:
            assert (told.out, told.err) == ("", KEPT)
            assert visible(out) is None
            assert run(capfd, "convert", small, out, *asked, "--resume")[0] == 0
        else:
            assert said[0] == 0
            assert told.err == ""
            assert "converted" in told.out
        assert visible(out) == want
        assert run(capfd, "convert", small, out, *asked, "--resume")[1].startswith(
            f"{out}: already whole: "
        )
        shutil.rmtree(out.parent)
        ends.append(said == -signal.SIGINT)
        if said != -signal.SIGINT and not said[1]:
            break
    # Interrupted up to the commit, whole from there on.
    assert [end for end, _ in itertools.groupby(ends)] == [True, False]
    assert sum(ends) > 2
    assert len(ends) - sum(ends) > 1


LATE = """
import atexit, os, signal, sys

class Last:
    def __del__(self, kill=os.kill, mine=os.getpid(), number=signal.SIGINT):
        kill(mine, number)

import fastload.errors
fastload.errors.last = Last()  # goes when modules are emptied
atexit.register(os.kill, os.getpid(), signal.SIGINT)
from fastload.cli import convert_report
real = convert_report.emit

def emit(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    real(*arguments)
    os.kill(os.getpid(), signal.SIGINT)

convert_report.emit = emit
from fastload import cli
sys.argv = ["fastload", "convert", *sys.argv[1:]]
cli.main()
"""


@pytest.mark.long
def test_ctrl_c_while_the_result_is_said_and_while_the_program_ends(program, small, tmp_path):
    done = program("-c", LATE, str(small), str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "converted" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("verb", ["index", "split", "merge", "filter"])
def test_other_verbs_do_all_or_nothing(tools, small, tmp_path, monkeypatch, capfd, verb):
    tools.convert(small, tmp_path / "a")
    tools.write_tree(
        tmp_path / "more",
        {f"{name}/m{n}.jpg": tools.encode(9, 14, n) for n, name in enumerate(("cat", "dog"))},
    )
    tools.convert(tmp_path / "more", tmp_path / "b")
    asked = {
        "index": ("index", small),
        "split": ("split", tmp_path / "a", tmp_path / "out", "--parts", "x=0.5,y=0.5"),
        "merge": ("merge", tmp_path / "a", tmp_path / "b", tmp_path / "out"),
        "filter": ("filter", tmp_path / "a", tmp_path / "out", "--where", "height > 12"),
    }[verb]
    place = small if verb == "index" else tmp_path / "out"
    before, ends = tools.contents(place), []
    for k in itertools.count(1):
        said = interrupted_at(tools, monkeypatch, k, *asked)
        told = capfd.readouterr()
        ends.append(said == -signal.SIGINT)
        if ends[-1]:
            assert (told.out, told.err) == ("", "interrupted; everything is as it was\n")
            assert tools.contents(place) == before
            assert place.exists() == (verb == "index")
        else:
            assert said[0] == 0
            assert len(tools.contents(place)) > len(before)
            if not said[1]:
                break
            for name in set(tools.contents(place)) - set(before):
                (place / name).unlink()
            if verb != "index":
                shutil.rmtree(place)
    assert [end for end, _ in itertools.groupby(ends)] == [True, False]


@pytest.mark.usefixtures("ctrl_c")
def test_a_program_gets_its_ctrl_c_when_the_target_is_whole(small, tmp_path, monkeypatch):
    real = writers.open_writer

    def writer(*arguments):
        made = real(*arguments)
        commit = made.commit

        def interrupting(*more):
            os.kill(os.getpid(), signal.SIGINT)
            return commit(*more)

        made.commit = interrupting
        return made

    monkeypatch.setattr(writers, "open_writer", writer)
    prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1))
    with pytest.raises(KeyboardInterrupt):
        job.run(prepared)
    again = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1, resume=True))
    assert job.run(again).whole
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
