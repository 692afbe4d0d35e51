"""fastload convert --on: what it prints, and what it refuses."""

import json
import sys

import pytest

from fastload import cli
from fastload.conversion import job
from fastload.conversion.cluster import engines, processes, ray_fleet
from fastload.conversion.cluster.on import On
from fastload.errors import ConversionError

from .fleet_helpers import die, fleet


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def fastload(monkeypatch, command_line):
    """Run a command, its workers forks: exit code, stdout, stderr."""
    monkeypatch.setattr(engines, "fleet_of", lambda *_: fleet(2, die(1, "0")))
    run = command_line("convert")
    return lambda *arguments: run("convert", *arguments)


def test_the_summary_has_a_row_for_each_worker(fastload, small, tmp_path):
    out, rest = tmp_path / "out", ("--shard-size", "3K", "--on", "processes")
    code, text, err = fastload(small, out, *rest, "--json", tmp_path / "said.json")
    assert code == 0
    assert "worker  parts  images  images/s" in text
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["on"] == "processes"
    assert sum(each["units"] for each in said["workers"]) == said["shards"]
    assert said["made_again"] == len(said["lost_workers"]) <= 1
    for line in said["lost_workers"]:
        assert f"{line}; it is made again" in err.splitlines()


def test_an_array_job_is_printed_and_the_target_made_ready(fastload, small, tmp_path):
    code, text, err = fastload(small, tmp_path / "out", "--shard-size", "3K", "--on", "slurm:2")
    assert (code, err) == (0, "")
    assert text.startswith("#!/bin/sh\n")
    assert "--array=0-1" in text
    assert f"-m fastload convert {small} {tmp_path / 'out'} --shard-size 3K --resume" in text
    assert not (tmp_path / "out" / "index.arrow").exists()
    code, _, err = fastload(small, tmp_path / "out", "--shard-size", "3K", "--resume")
    assert (code, err) == (0, "")
    assert (tmp_path / "out" / "index.arrow").exists()


@pytest.mark.parametrize(
    ("target", "on", "text"),
    [
        ("s3://b/p", "slurm", "s3://b/p: --on slurm writes to a folder that all tasks share"),
        ("out.beton", "processes", "convert: --on is for shards, not for a .beton file"),
    ],
)
def test_what_makes_no_sense_is_one_line(fastload, small, tmp_path, monkeypatch, target, on, text):
    monkeypatch.chdir(tmp_path)
    code, _, err = fastload(small, target, "--on", on)
    assert code in (1, 2)
    assert text in err
    assert len(err.splitlines()) == 1


def test_without_ray_it_says_what_to_do(monkeypatch, small, tmp_path, capsys):
    monkeypatch.setattr(cli, "VERBS", ("convert",))
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ["fastload", "convert", str(small), str(tmp_path / "out"), "--on", "ray"]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    err = capsys.readouterr().err
    assert "--on ray: needs Ray, which is not installed" in err
    assert "pip install 'fastload-torch[ray]', on every machine, or take --on processes" in err
    assert not (tmp_path / "out").exists()


def test_a_head_that_does_not_answer_is_one_line(small, tmp_path, monkeypatch):
    class Dead:
        exceptions = None

        @staticmethod
        def is_initialized():
            return False

        @staticmethod
        def init(**_):
            raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray_fleet, "import_ray", lambda: Dead)
    on = On(ray_fleet.Ray("ray://nowhere:1"))
    with pytest.raises(ConversionError) as error:
        job.run(job.prepare(str(small), str(tmp_path / "out"), job.Options()), on=on)
    assert str(error.value) == (
        "--on ray://nowhere:1: no cluster answers (ray client connection timeout); see `ray "
        "status` there, or take --on processes"
    )
    assert not (tmp_path / "out").exists()


def test_no_process_can_be_started_is_one_line(small, tmp_path, monkeypatch):
    def none(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes.subprocess, "Popen", none)
    with pytest.raises(ConversionError) as error:
        job.run(
            job.prepare(str(small), str(tmp_path / "out"), job.Options()),
            on=On(processes.Processes(2)),
        )
    assert str(error.value) == (
        "workers: no process can be started (Resource temporarily unavailable); give fewer, by "
        "--workers, or leave --on out"
    )
