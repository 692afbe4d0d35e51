"""verify, index, filter and repair --on slurm: what threads give, whatever the tasks have made."""

import json
import os
import re
import shlex

import pytest

from fastload import __version__ as version
from fastload.conversion.cluster import array, drop, engines, task
from fastload.conversion.cluster.board import Board
from fastload.errors import ConversionError
from fastload.files.below import opened

from .fleet_helpers import fleet
from .spread_helpers import by_threads, damaged

__all__ = ["damaged"]


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def fastload(monkeypatch, command_line, tmp_path):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(engines, "fleet_of", lambda *_: fleet(1))
    return command_line("verify", "index", "filter", "repair")


TIMES = ("seconds", "images_per_s")


class Script:
    """What --on slurm has printed: the folder that tasks are given, and the last command."""

    def __init__(self, text):
        wraps = re.findall(r"--wrap=(.*?)(?:\)\n|\n)", text)
        task_words, last = (shlex.split(shlex.split(each)[0]) for each in wraps)
        self.folder, self.last = task_words[3], last[3:]
        self.units = int(re.search(r"tasks make (\d+) parts", text)[1])


def submitted(fastload, *words):
    code, out, err = fastload(*words, "--on", "slurm:2")
    assert (code, err, out.startswith("#!/bin/sh\n")) == (0, "", True)
    return Script(out)


def tasks(script):
    """One task makes all units."""
    assert task.make_units(script.folder) == script.units


def said(result):
    """Without what says how long it took."""
    found = json.loads(result[1])
    return result[0], {name: found[name] for name in found if name not in TIMES}


VERBS = ("verify", "index", "filter", "repair")


def words(verb, where, source, out):
    """What is given of it on the command line, for the data set `where` that `source` became."""
    more = {"filter": [out, "--where", "label == 0", "--overwrite"], "repair": [source]}
    return [verb, where, *more.get(verb, [])]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_it_gives_what_threads_give(tools, fastload, small, tmp_path, verb, missing):
    """Some units were made by no task, or what lies there is nothing of ours."""
    where, plain = tmp_path / "out", tmp_path / "plain"
    for each in (where, plain):
        tools.convert(small, each, shard_bytes=3000)
        if verb in ("verify", "repair"):
            sorted(each.glob("*.tar"))[1].write_bytes(b"nothing")
    want = fastload(*words(verb, plain, small, tmp_path / "to"), "--json", "-")
    contents = tools.contents(plain)
    got = tools.contents(tmp_path / "to") if verb == "filter" else {}
    script = submitted(fastload, *words(verb, where, small, tmp_path / "to"), "--json", "-")
    assert not list(where.glob(".fastload-*"))
    tasks(script)
    if missing:
        os.unlink(os.path.join(script.folder, "000000"))
        with open(os.path.join(script.folder, "000001" * (script.units > 1) or "x"), "w") as file:
            file.write('{"said": {}, "worker": "a", "images": 1, "bytes": 1, "busy": 0}')
    code, out, err = fastload(*script.last)
    assert said((code, out)) == said((want[0], want[1].replace(str(plain), str(where))))
    assert ("were made by no task; they are made now" in err) == missing
    assert tools.contents(where) == contents
    assert not got or tools.contents(tmp_path / "to") == got
    assert not os.listdir(tmp_path / "here")


@pytest.mark.parametrize("missing", [False, True])
def test_a_folder_is_indexed(tools, fastload, small, tmp_path, missing):
    fastload("index", small)
    want = tools.contents(small)
    for name in small.glob(".fastload*"):
        name.unlink()
    script = submitted(fastload, "index", small)
    tasks(script)
    assert not list(small.glob(".fastload*"))  # nobody holds it meanwhile
    if missing:
        for name in os.listdir(script.folder):
            if name.endswith(".new"):
                os.unlink(os.path.join(script.folder, name))
    assert fastload(*script.last)[0] == 0
    assert tools.contents(small) == want


def test_who_did_it_is_shown(fastload, damaged):
    script = submitted(fastload, "verify", damaged)
    tasks(script)
    code, out, _ = fastload(*script.last)
    assert code == 1
    assert f"/{os.getpid()} " in out
    assert "worker" in out


def test_other_data_than_the_tasks_had_are_refused(tools, fastload, small):
    script = submitted(fastload, "verify", small)
    tasks(script)
    (small / "cat" / "9.JPEG").write_bytes(tools.encode(9, 8))
    code, _, err = fastload(*script.last)
    assert code == 1
    assert err.endswith(
        f"\nfastload: {script.folder}: was made for other data or options than these; give what "
        "it was made for, or begin anew with --on slurm\n"
    )
    assert os.path.isdir(script.folder)


def test_tasks_that_see_other_data_say_so(tools, fastload, small):
    script = submitted(fastload, "verify", small)
    (small / "cat" / "9.JPEG").write_bytes(tools.encode(9, 8))
    with pytest.raises(ConversionError, match="is not what this began with"):
        task.make_units(script.folder)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"work": ["os", "x", "y"], "units": 1}', b"[" * 100_000]
)
def test_what_is_no_work_of_ours_is_refused(tmp_path, text):
    folder = array.make(str(tmp_path))
    with opened(folder) as at:
        at.write(array.WORK, text)
    with pytest.raises(ConversionError) as error:
        task.make_units(folder)
    assert re.fullmatch(
        re.escape(f"{folder}: holds no work.json that this fastload has written (")
        + r".*\); begin with --on slurm",
        str(error.value),
    )


def test_another_fastload_is_refused(fastload, damaged):
    script = submitted(fastload, "verify", damaged)
    work = os.path.join(script.folder, array.WORK)
    with open(work, "r+") as file:
        text = file.read().replace(f'"fastload": "{version}"', '"fastload": "0.0.1"')
        file.seek(0)
        file.write(text)
    with pytest.raises(ConversionError, match=r"\(fastload 0\.0\.1, want "):
        task.make_units(script.folder)


def test_only_a_folder_of_an_array_job_is_removed(fastload, damaged, tmp_path):
    (damaged / "index.arrow").write_bytes(b"")  # so that nothing is asked of any task
    for name in ("precious", "fastload-units-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        assert fastload("verify", damaged, "--on", f"made:{tmp_path / name}")[0] == 1
        assert os.listdir(tmp_path / name) == ["file"]


def test_a_folder_that_is_gone_ends_a_task(fastload, damaged, monkeypatch):
    script, real = submitted(fastload, "verify", damaged), Board.take

    def take(self):
        array.remove(script.folder)
        return real(self)

    monkeypatch.setattr(Board, "take", take)
    with pytest.raises(ConversionError) as error:
        task.make_units(script.folder)
    assert str(error.value) == (
        f"{script.folder}: this task can take no part (No such file or directory); see whether "
        "that folder is there and its disk has room, and submit the job once more"
    )


def test_results_behind_a_link_are_made_again(fastload, damaged, tmp_path):
    script = submitted(fastload, "verify", damaged)
    tasks(script)
    place = os.path.join(script.folder, drop.name_of(0))
    os.rename(place, tmp_path / "aside")
    os.symlink(tmp_path / "aside", place)
    assert "1 of " in fastload(*script.last)[2]


@pytest.mark.parametrize("on", ["slurm", "made:nowhere"])
def test_what_cannot_begin_leaves_nothing(fastload, damaged, tmp_path, on):
    (damaged / "index.arrow").write_bytes(b"")
    code, out, err = fastload("verify", damaged, "--on", on)
    if on == "slurm":
        assert err == (
            "fastload: verify: --on slurm: there is nothing for tasks to do; leave --on out\n"
        )
        assert (code, out) == (1, "")
    assert not os.listdir(tmp_path / "here")
    assert by_threads(damaged).damages
