"""Tables of URLs: interrupted, resumed, tried again, and from the command line."""

import asyncio
import errno
import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fastload
from fastload import cli
from fastload.cli import convert_web_options, web
from fastload.conversion import verify
from fastload.conversion.options import Options
from fastload.conversion.shards_writer import ShardsWriter
from fastload.conversion.web import retrying
from fastload.conversion.web.options import Columns, Fetch
from fastload.errors import ConversionError, SourceError
from tests.conversion.conftest import contents, encode
from tests.conversion.web_helpers import QUICK, failures, fetched, parquet, samples
from tests.conversion.web_server import Request, Server, says, serving

pytest.importorskip("aiohttp", reason="aiohttp is not installed (pip install aiohttp)")
IMAGES = [encode(13, 17 + n, n) for n in range(12)]
BROKEN = ("/3.jpg", "/7.jpg", "/11.jpg")


@pytest.fixture
def server():
    with serving({f"/{n}.jpg": says(image) for n, image in enumerate(IMAGES)}) as one:
        yield one


def table(folder: Path, server: Server) -> Path:
    return parquet(folder / "urls.parquet", url=[server.url(f"/{n}.jpg") for n in range(12)])


def again(source: Path, target: Path, **how: object) -> retrying.RetrySummary:
    fetch = (Columns(), Fetch(**{**QUICK, **how}))
    return retrying.run(str(source), str(target), Options(workers=1), fetch)


def test_what_failed_comes_later_as_new_shards(tmp_path: Path, server: Server):
    whole = {path: server.answers.pop(path) for path in BROKEN}
    source, target = table(tmp_path, server), tmp_path / "out"
    fetched(source, target, rows=5)
    assert sorted(failures(target)) == [3, 7, 11]
    before, opened = contents(target), fastload.open(str(target))
    server.answers.update({path: whole[path] for path in BROKEN[:2]})
    server.asked.clear()
    done = again(source, target, rows=5)
    assert (done.tried, done.added, done.samples, done.shards) == (3, 2, 11, 4)
    assert set(server.asked) == set(BROKEN)
    assert failures(target) == {11: ("http_status", 404, 2)}
    after = contents(target)
    shards = [name for name in before if name.startswith("shard")]
    assert all(after[name] == before[name] for name in shards)
    found = samples(target)
    assert list(found) == [f"{n:09d}" for n in (0, 1, 2, 4, 5, 6, 8, 9, 10, 3, 7)]
    assert all(sample["jpg"] == IMAGES[int(key)] for key, sample in found.items())
    assert not verify.verify(verify.prepare(str(target)), 1).damages
    assert (len(opened), len(fastload.open(str(target)))) == (9, 11)
    assert not list(tmp_path.glob(".fastload-*"))
    server.answers.update(whole)
    assert again(source, target).samples == 12
    assert not (tmp_path / "out.failed.parquet").exists()
    assert "bad_samples.jsonl" not in contents(target)


def test_nothing_came_again(tmp_path: Path, server: Server):
    for path in BROKEN:
        del server.answers[path]
    source, target = table(tmp_path, server), tmp_path / "out"
    fetched(source, target)
    before = contents(target)
    done = again(source, target)
    assert (done.tried, done.added, done.failed) == (3, 0, {"http_status 404": 3})
    assert {row[2] for row in failures(target).values()} == {2}
    after = contents(target)
    del before["bad_samples.jsonl"], after["bad_samples.jsonl"]
    assert after == before


def test_a_table_of_failures_belongs_to_a_table_of_urls(tmp_path: Path, server: Server):
    del server.answers["/3.jpg"]
    source, target = table(tmp_path, server), tmp_path / "out"
    fetched(source, target)
    other = parquet(tmp_path / "other.parquet", url=["http://x/1.jpg"])
    with pytest.raises(SourceError) as error:
        again(other, target)
    assert str(error.value) == (
        f"{target}.failed.parquet: lists rows that {other} does not have; give the table of URLs "
        "that the data set was made from"
    )
    pq.write_table(pq.read_table(source), f"{target}.failed.parquet")
    with pytest.raises(SourceError, match="is no table of what failed"):
        again(source, target)


def test_a_job_that_broke_off_asks_for_nothing_twice(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
):
    source, target = table(tmp_path, server), tmp_path / "out"
    fetched(source, tmp_path / "whole", rows=3)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ShardsWriter, "commit", full)
        with pytest.raises(ConversionError, match="go on with --resume"):
            fetched(source, target, rows=3)
    server.asked.clear()
    assert fetched(source, target, rows=3, options={"resume": True}).conversion.resumed == 12
    assert not server.asked
    assert contents(target) == contents(tmp_path / "whole")


@pytest.fixture
def interruptible():
    """As in a terminal: a shell's background jobs ignore SIGINT, and so would this test."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_does_not_wait_for_hosts(tmp_path: Path, server: Server):
    """A host that never answers: a job that waited for it would not end."""

    async def interrupts(request: Request) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(3600)

    source, target = table(tmp_path, server), tmp_path / "out"
    answer, server.answers["/7.jpg"] = server.answers["/7.jpg"], interrupts
    with pytest.raises(KeyboardInterrupt):
        fetched(source, target, rows=3, timeout=3600.0)
    server.answers["/7.jpg"] = answer
    assert fetched(source, target, rows=3, options={"resume": True}).conversion.samples == 12


@pytest.mark.long
def test_a_killed_job_goes_on_and_asks_for_nothing_twice(
    tmp_path: Path, server: Server, forker, program
):
    source, target = table(tmp_path, server), tmp_path / "out"
    fetched(source, tmp_path / "whole", rows=3)
    server.asked.clear()

    async def never(request: Request) -> None:
        await asyncio.sleep(3600)

    held, server.answers["/7.jpg"] = server.answers["/7.jpg"], never
    command = [
        "-m", "fastload", "convert", str(source), str(target), "--workers", "1",
        "--rows-per-shard", "3", "--allow-private", "--resume",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": forker.path}
    child = forker.start([sys.executable, *command], environment)
    journal = target / ".fastload-journal"
    until = time.monotonic() + 600
    while time.monotonic() < until and not (
        journal.exists() and journal.read_bytes().count(b'"part"') >= 3
    ):
        time.sleep(0.02)
    child.kill()
    child.wait()
    server.answers["/7.jpg"] = held
    assert len(list(target.glob(".fastload-*.tar"))) >= 3
    server.asked.clear()
    done = program(*command, "--json", "-")
    assert json.loads(done.stdout)["resumed"] == 9
    assert set(server.asked) == {"/6.jpg", "/7.jpg", "/8.jpg"}
    assert contents(target) == contents(tmp_path / "whole")


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """`fastload convert …` in this process: its status and what it prints."""

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["fastload", "convert", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def test_the_command_line_says_what_failed(tmp_path: Path, server: Server, convert):
    whole = {path: server.answers.pop(path) for path in BROKEN}
    source, target = table(tmp_path, server), tmp_path / "out"
    said = tmp_path / "said.json"
    status, out, err = convert(source, target, "--allow-private", "--json", said)
    assert (status, "http_status 404" in out) == (0, True)
    assert f"each failed URL is listed in {target}.failed.parquet" in err
    summary = json.loads(said.read_text())
    assert (summary["rows"], summary["samples"]) == (12, 9)
    assert summary["failed"] == {"http_status 404": 3}
    server.answers.update(whole)
    status, out, _ = convert(
        source, target, "--allow-private", "--retry-failed", "--json", "-", "--min-side", "1"
    )
    assert (status, json.loads(out)["added"], json.loads(out)["failed"]) == (0, 3, {})
    _, out, _ = convert(source, tmp_path / "dry", "--dry-run", "--rows-per-shard", 5, "--json", "-")
    assert json.loads(out) == {"rows": 12, "shards": 3, "rows_per_shard": 5, "dry_run": True}


def test_the_command_line_refuses_what_does_not_fit(tmp_path: Path, server: Server, convert):
    source = table(tmp_path, server)
    assert convert(source, tmp_path / "x", "--shard-size", "1M") == (
        1,
        "",
        (
            "fastload: convert: a table of URLs takes no --shard-size; leave it out (its shards "
            "are cut by --rows-per-shard)\n"
        ),
    )
    assert convert(source, tmp_path / "x.beton")[2] == (
        "fastload: convert: URLs go into shards, not into a .beton file; convert them after\n"
    )
    assert convert(tmp_path, tmp_path.parent / "x", "--timeout", 3, "--from", "folder")[2] == (
        f"fastload: convert: --timeout is for tables of URLs (got {tmp_path}); name its column by "
        "--url-column, or leave it out\n"
    )
    assert convert(source, tmp_path / "x", "--url-column", "nothing")[2] == (
        f"fastload: {source}: no column 'nothing' (has url); give the name of one that is there\n"
    )
    assert convert(source, tmp_path / "x", "--connections", 0)[0] == 2


def test_the_command_line_has_the_defaults_of_the_library():
    given = {name: default for name, (_, default) in convert_web_options.OPTIONS.items()}
    assert web.fetched(given) == (Columns(), Fetch())
    assert convert_web_options.given(given) == []
