"""TensorBoard and Weights & Biases: what their own readers find afterwards."""

import json
import struct
import sys
import types

import pytest

from fastload import metrics
from fastload.errors import MetricsError
from tests.metrics.names import ALWAYS
from tests.waiting import until

BLOCK, FULL, LAST = 32768, 1, 4  # of LevelDB's log


def test_tensorboards_reader_finds_every_value(make, tmp_path):
    pytest.importorskip("tensorboard")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    loader = make()
    with metrics.tensorboard({"train": loader}, tmp_path / "runs", every=3600):
        for _ in loader:
            pass
    read = events.EventAccumulator(str(tmp_path / "runs"))
    read.Reload()
    tags = read.Tags()["scalars"]
    assert {tag.partition("/")[0] for tag in tags} == ALWAYS
    (last,) = read.Scalars("fastload_images_total/train/rank0")
    assert (last.step, last.value) == (5, 40.0)
    stages = {tag.rpartition("/")[2] for tag in tags if tag.startswith("fastload_stage_seconds")}
    assert stages == set(loader.stats()["stages"])


def test_a_writer_of_the_programs_stays_open(make, tmp_path):
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        metrics.tensorboard(make(), writer).close()
        writer.add_scalar("loss", 1.0, 1)


def test_a_folder_that_cannot_be_written(make, tmp_path):
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(
        MetricsError, match=r"^metrics\.tensorboard: \S+file/runs: cannot be written"
    ):
        metrics.tensorboard(make(), tmp_path / "file/runs")


class Run:
    """What a program's own run is asked to do."""

    def __init__(self):
        self.rows = []

    def log(self, row, commit):
        self.rows.append((row, commit))


@pytest.mark.parametrize("commit", [False, True])
def test_a_run_is_given_rows(make, commit):
    loader, run = make(), Run()
    with metrics.wandb({"train": loader}, run, every=3600, commit=commit):
        for _ in loader:
            pass
    ((row, committed),) = run.rows
    assert committed == commit
    assert row["fastload_images_total/train/rank0"] == 40
    assert {key.partition("/")[0] for key in row} == ALWAYS


def test_without_a_run_it_is_told(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(run=None))
    with pytest.raises(MetricsError) as caught:
        metrics.wandb(make())
    assert str(caught.value) == (
        "metrics.wandb: there is no run; call wandb.init() first, or give its run"
    )


@pytest.mark.long
def test_an_offline_run_of_wandb_holds_the_values(make, tmp_path, monkeypatch):
    """In the row of the program's own log(), whose steps stay as they are."""
    wandb = pytest.importorskip("wandb")
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    loader = make()
    quiet = wandb.Settings(console="off", silent=True)
    run = wandb.init(project="p", mode="offline", dir=str(tmp_path), settings=quiet)
    with metrics.wandb({"train": loader}, every=3600):
        for _ in loader:
            pass
    run.log({"loss": 0.5})
    run.finish()
    (path,) = tmp_path.rglob("*.wandb")
    assert until(lambda: rows_with("loss", path))  # a process of its own writes the file
    (row,) = rows_with("loss", path)
    assert row["_step"] == 0
    assert row["fastload_images_total/train/rank0"] == 40
    assert {key.partition("/")[0] for key in row} >= ALWAYS


def rows_with(name, path):
    rows = [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in row}
        for row in histories(path)
    ]
    return [row for row in rows if name in row]


def histories(path):
    """The rows of a run's file: protocol buffers in LevelDB's log format, after 7 bytes."""
    from wandb.proto import wandb_internal_pb2

    content, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(content):
        left = BLOCK - at % BLOCK
        if left < 7:  # no room for a header: the block is filled up
            at += left
            continue
        size, kind = struct.unpack_from("<HB", content, at + 4)
        whole += content[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (FULL, LAST):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            if record.HasField("history"):
                yield record.history.item
