"""The point of commitment: before it Ctrl-C interrupts what --resume goes on with; behind it the
target is whole, and is known to be.
"""

import itertools
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest

from fastload import cli
from fastload.conversion import commits, finished, job, subset_columns, subsets
from fastload.errors import ConversionError

FORMATS = ("shards", "webdataset", "parquet", "folder", "beton")
CALLS = (
    "open",
    "write",
    "writev",
    "pwrite",
    "fsync",
    "ftruncate",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
    "link",
    "fchmod",
)
KEPT = "interrupted; what is done is kept: go on with --resume\n"


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture(autouse=True)
def cache(in_memory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_memory / "cache"))


def out_of(folder, to):
    return folder / ("out.beton" if to == "beton" else "out")


def facts(path):
    """Names, sizes and times of everything below."""
    paths = sorted([path, *path.rglob("*")])
    return [
        (str(each), each.stat().st_size * each.is_file(), each.stat().st_mtime_ns) for each in paths
    ]


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


def run(capfd, *arguments):
    """A command in this process: exit code, stdout, stderr."""
    before = sys.argv
    sys.argv = ["fastload", *map(str, arguments)]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    said = capfd.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("to", FORMATS)
def test_resume_of_a_finished_target_says_so(small, tmp_path, capfd, to):
    out = out_of(tmp_path, to)
    asked = ("convert", small, out, "--to", to, "--workers", 1)
    assert run(capfd, *asked)[0] == 0
    before = facts(out)
    code, said, error = run(capfd, *asked, "--resume")
    assert (code, error) == (0, "")
    assert said.startswith(f"{out}: already whole: 7 samples, ")
    assert said.endswith("; nothing was written\n")
    code, said, _ = run(capfd, *asked, "--resume", "--json", "-")
    assert code == 0
    assert '"already_whole": true' in said
    assert facts(out) == before


@pytest.mark.parametrize("to", FORMATS)
def test_of_another_job_or_of_a_changed_target_it_is_an_error(small, tmp_path, capfd, to):
    out = out_of(tmp_path, to)
    asked = ("convert", small, out, "--to", to, "--workers", 1)
    assert run(capfd, *asked)[0] == 0
    before = facts(out)
    code, said, error = run(capfd, *asked, "--resume", "--shuffle", 3)
    assert (code, said) == (1, "")
    assert (
        error
        == f"fastload: {out}: was made with another shuffle; give the same again, or --overwrite "
        "to replace it\n"
    )
    (small / "cat" / "more.jpg").write_bytes((small / "cat" / "1.JPEG").read_bytes())
    code, _, error = run(capfd, *asked, "--resume")
    assert code == 1
    assert error.startswith(f"fastload: {out}: was made with another ")
    (small / "cat" / "more.jpg").unlink()
    assert facts(out) == before
    victim = next(each for each in (out, *sorted(out.rglob("*"))) if each.is_file())
    os.utime(victim, ns=(1, 1))
    code, _, error = run(capfd, *asked, "--resume")
    assert code == 1
    assert error.startswith(
        (
            f"fastload: {out}: holds a data set already; ",
            f"fastload: {out}: exists already; ",
            f"fastload: {out}: is not",
        )
    )


def test_what_is_kept_of_a_target_is_believed_only_from_its_owner(small, tmp_path, capfd, tools):
    tools.convert(small, tmp_path / "out")
    place = Path(finished.place(str(tmp_path / "out")))
    content = place.read_bytes()
    for bad in (
        b"",
        b"[]",
        b"{}",
        b"[" * 50_000,
        content[:-1],
        content.replace(b'"version": 1', b'"version": 2'),
        b"x" * (1 << 20),
    ):
        place.write_bytes(bad)
        with pytest.raises(ConversionError) as refused:
            tools.convert(small, tmp_path / "out", resume=True)
        text = "holds a data set already; give another folder, or --overwrite to replace it"
        assert str(refused.value) == f"{tmp_path}/out: {text}"
    place.write_bytes(content)
    assert tools.convert(small, tmp_path / "out", resume=True).whole
    os.chown(place, 12345, -1)
    with (
        pytest.warns(UserWarning, match="belongs to another user; nothing is kept there"),
        pytest.raises(ConversionError),
    ):
        tools.convert(small, tmp_path / "out", resume=True)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(ConversionError):
        tools.convert(small, tmp_path / "out", resume=True)


class Nth:
    """Replaces os functions: Ctrl-C comes before the kth call that changes something."""

    def __init__(self, k):
        self.k, self.count, self.lock = k, 0, threading.Lock()

    def install(self, monkeypatch):
        for name in CALLS:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name), name))

    def wrap(self, real, name):
        def call(path, *arguments, **named):
            reads = name == "open" and not (arguments[0] & (os.O_WRONLY | os.O_RDWR))
            with self.lock:
                self.count += not reads
                mine = self.count == self.k and not reads
            if mine:
                os.kill(os.getpid(), signal.SIGINT)
            return real(path, *arguments, **named)

        return call


def interrupted_at(tools, monkeypatch, k, *arguments):
    """In a child: exit code of the program and whether there were so many calls; or the signal that
    ended it.
    """

    def work():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        nth = Nth(k)
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


def test_ctrl_c_while_the_result_is_said_and_while_the_program_ends(program, small, tmp_path):
    done = program("-c", LATE, str(small), str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "converted" in done.stdout


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


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_split_that_fails_leaves_no_first_part(tools, small, tmp_path, monkeypatch, overwrite):
    tools.convert(small, tmp_path / "a")
    index = subsets.open_index(str(tmp_path / "a"))
    rows = subsets.drawn(index, [0.5, 0.5], 0)
    wanted = [
        (str(tmp_path / "out" / name), [subset_columns.Part(index, part)])
        for name, part in zip("xy", rows, strict=True)
    ]
    if overwrite:
        subsets.write_all(wanted)
    before, real, count = tools.contents(tmp_path / "out"), commits.commit, itertools.count()

    def commit(*arguments, **named):
        if next(count) == 1:
            raise OSError(5, "Input/output error")
        return real(*arguments, **named)

    monkeypatch.setattr(commits, "commit", commit)
    with pytest.raises(ConversionError) as failed:
        subsets.write_all(wanted, overwrite=overwrite)
    assert str(failed.value).startswith(f"{tmp_path}/out/y: cannot be written (Input/output error)")
    left = tools.contents(tmp_path / "out")
    if (
        overwrite
    ):  # the first part was replaced, and what replaced it is gone; the second is as it was
        assert left == {name: data for name, data in before.items() if name.startswith("y/")}
    else:
        assert not (tmp_path / "out").exists()


@pytest.fixture
def python_takes_ctrl_c():
    """As in a program that was started in the foreground: shells let others ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_takes_ctrl_c")
def test_a_program_gets_its_ctrl_c_when_the_target_is_whole(small, tmp_path, monkeypatch):
    real = job.formats.writer

    def writer(*arguments):
        made = real(*arguments)
        commit = made.commit

        def interrupting(*more):
            os.kill(os.getpid(), signal.SIGINT)
            return commit(*more)

        made.commit = interrupting
        return made

    monkeypatch.setattr(job.formats, "writer", writer)
    prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1))
    with pytest.raises(KeyboardInterrupt):
        job.run(prepared)
    again = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1, resume=True))
    assert job.run(again).whole
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
