"""A conversion whose parts other processes make: the same bytes, whoever dies."""

import os
import signal

import pytest

from fastload.conversion import distributed, job
from fastload.conversion.cluster import driver, leases, processes, recipe, works
from fastload.conversion.cluster.engines import fleet_of, slurm_tasks
from fastload.conversion.cluster.leases import Held
from fastload.errors import ConversionError, UsageError

from .fleet_helpers import die, die_untold, fail, fail_first, fleet, forked, hang, hang_first
from .format_helpers import convert, found
from .system_calls import out_of


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


def spread(source, out, workers=None, lines=None, slow=leases.SLOW, **options):
    """A conversion on a fleet: its summary."""
    how = job.Options(**{"shard_bytes": 3000, **options})
    on = job.On(workers or fleet(), (lines if lines is not None else []).append, slow=slow)
    return job.run(job.prepare(str(source), str(out), how), on=on)


def whole(tools, source, tmp_path, to="shards", **more):
    out = out_of(tmp_path / "whole", to)
    convert(tools, source, out, to, **more)
    return found(tools, out)


NEVER = 1e9  # times what a unit takes: none is given to a second worker, whose images count too
LONG = [pytest.param(to, marks=pytest.mark.long) for to in ("webdataset", "parquet")]


@pytest.mark.parametrize("to", ["shards", *LONG, "folder"])
def test_the_bytes_are_those_of_one_process(tools, small, tmp_path, to):
    out = out_of(tmp_path, to)
    summary = spread(small, out, to=to, slow=NEVER)
    assert found(tools, out) == whole(tools, small, tmp_path, to)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    by = summary.spread.workers.values()
    assert sum(each.images for each in by) == 7
    assert sum(each.units for each in by) > 2
    assert summary.samples == 7


def test_a_worker_that_is_killed_costs_its_unit_only(tools, small, tmp_path):
    lines = []
    summary = spread(small, tmp_path / "out", fleet(2, die(1, "0", "1")), lines)
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)
    assert summary.spread.again in (1, 2)
    assert lines[0] in [
        f"worker {name} was killed by SIGKILL, perhaps for lack of memory at part 1; it is made "
        "again"
        for name in "01"
    ]


def test_a_unit_that_was_made_by_one_that_died_before_it_said_so(tools, small, tmp_path):
    """The copy that lies there counts, and not the one that is made again."""
    summary = spread(small, tmp_path / "out", fleet(2, die_untold("0", "1")))
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)
    assert summary.spread.again in (1, 2)


def test_a_sample_that_kills_every_worker_is_named(tools, small, tmp_path, monkeypatch):
    """In C, say, where no exception tells of it."""
    bad = os.path.join(str(small), "dog", "4.JPEG")
    real = works.unit

    def deadly(made_by, number, **more):
        opened = recipe.opened(made_by)
        read = opened.reader.read

        def kills(sample):
            if opened.reader.name(sample) == bad:
                os.kill(os.getpid(), signal.SIGTERM)
            return read(sample)

        monkeypatch.setattr(type(opened.reader), "read", lambda _, sample: kills(sample))
        return real(made_by, number, **more)

    monkeypatch.setattr(works, "unit", deadly)
    with pytest.raises(ConversionError) as error:
        spread(small, tmp_path / "out")
    assert f"has failed on {leases.TRIES} workers, the last at {bad}: worker" in str(error.value)
    assert "was killed by SIGTERM; leave that sample out" in str(error.value)
    # What the others had made is kept
    monkeypatch.undo()
    assert convert(tools, small, tmp_path / "out", "shards", resume=True).resumed > 0
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)


def test_a_worker_that_hangs_loses_its_unit_to_another(tools, small, tmp_path, monkeypatch):
    """Its lease is over when all else is made; when that is: test_leases.py."""
    lines = []

    def over(self, now):
        late = self._ended and not self._returned and set(self._held) == {0}
        return [Held(0, "0")] if late and "0" in self.holders(0) else []

    monkeypatch.setattr(driver.Leases, "expired", over)
    summary = spread(small, tmp_path / "out", fleet(2, hang(0, "0")), lines, slow=float("inf"))
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)
    assert summary.spread.doubled == 0
    assert lines == ["worker 0 said nothing for 120 s and was ended at part 0; it is made again"]


def test_a_slow_worker_does_not_hold_up_the_end(tools, small, tmp_path):
    summary = spread(small, tmp_path / "out", fleet(2, hang_first(0)))
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)
    assert summary.spread.doubled == 1
    assert summary.spread.again == 0


def test_a_machine_with_a_full_disk_is_left_out(tools, small, tmp_path):
    lines = []
    spread(small, tmp_path / "out", fleet(2, fail_first()), lines)
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)
    assert " failed ([Errno 28] No space left on device) at part" in lines[0]


def test_all_disks_full_is_one_line(tools, small, tmp_path):
    with pytest.raises(ConversionError) as error:
        spread(small, tmp_path / "out", fleet(1, fail("0")))
    assert "all workers fail, the last one: worker 0 failed ([Errno 28]" in str(error.value)


def test_bad_samples_fail_and_are_named_as_by_one_process(tools, small, tmp_path):
    (small / "cat" / "3.JPEG").write_bytes(b"no image")
    (small / "dog" / "0.JPEG").write_bytes(b"")
    said = []
    for on in (None, job.On(fleet())):
        prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(shard_bytes=3000))
        with pytest.raises(ConversionError) as error:
            job.run(prepared, on=on)
        said.append(str(error.value))
        assert not (tmp_path / "out").exists()
    assert said[0] == said[1]
    spread(small, tmp_path / "out", on_error="skip")
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path, on_error="skip")


def test_resume_goes_on_with_what_workers_had_put_there(tools, small, tmp_path):
    """The driver is killed before it takes what they made."""
    out = tmp_path / "out"

    def killed():
        def die(self, event, now):
            if event.number >= 2:
                os.kill(os.getpid(), signal.SIGKILL)

        driver.Driver._made = die
        spread(small, out)

    assert tools.in_child(killed) == -signal.SIGKILL
    assert not (out / "index.arrow").exists()
    summary = tools.convert(small, out, shard_bytes=3000, resume=True)
    assert summary.resumed >= 2
    assert found(tools, out) == whole(tools, small, tmp_path)
    assert not [name for name in os.listdir(out) if name.startswith(".")]


def test_a_worker_that_an_earlier_run_has_left_can_change_nothing(tools, small, tmp_path):
    out = tmp_path / "out"
    old = distributed.begin(str(small), str(out), shard_bytes=3000)
    tools.convert(small, out, shard_bytes=4000)
    before = found(tools, out)
    with pytest.raises(ConversionError, match=r"so this job is over or was begun anew"):
        distributed.unit(old, 0)
    assert found(tools, out) == before


def test_a_source_that_is_another_one_there_is_refused(tools, small, tmp_path):
    made_by = distributed.begin(str(small), str(tmp_path / "out"), shard_bytes=3000)
    (small / "dog" / "8.JPEG").write_bytes(tools.encode(9, 8))
    with pytest.raises(ConversionError, match="is not what the conversion began with"):
        distributed.unit(made_by, 0)


def test_workers_that_end_at_once_are_an_error(small, tmp_path):
    def stillborn(name):
        child = forked(name)
        child.kill()
        return child

    with pytest.raises(ConversionError, match="workers: 3 processes was killed by SIGKILL"):
        spread(small, tmp_path / "out", processes.Processes(2, stillborn))


def test_a_worker_that_has_just_ended_need_not_be_stopped():
    """Its end and another one's success may be known at the same moment."""
    assert fleet().stop("0") is None


def test_samples_of_a_program_cannot_be_spread(small, tmp_path):
    reader = job.readers.from_iterable([("a", b"x", 0)], ["c"])
    prepared = job.prepare_reader(reader, str(tmp_path / "out"), job.Options())
    with pytest.raises(UsageError, match="its samples come from this program"):
        job.run(prepared, on=job.On(fleet()))


def test_what_on_says():
    assert fleet_of("processes:3").count == 3
    assert fleet_of("processes", 5).count == 5
    assert slurm_tasks("slurm:7") == 7
    assert slurm_tasks("slurm", 4) == 4
    assert slurm_tasks("processes") is None
    for wrong in ("process", "ray://", "slurm:0", "processes:-1"):
        with pytest.raises(UsageError, match="--on: got"):
            fleet_of(wrong)


def test_ctrl_c_never_comes_to_a_worker_that_begins():
    child = processes.start("0")
    try:
        os.kill(child.pid, signal.SIGINT)
        with open(f"/proc/{child.pid}/status") as file:
            masks = dict(line.split(":\t", 1) for line in file)
        assert int(masks["SigBlk"], 16) & 1 << signal.SIGINT - 1
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        child.kill()
        child.close()
        child.wait()
