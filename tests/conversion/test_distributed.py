"""Units that any engine makes, and those of an array job."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fastload.cli.convert_on import resuming
from fastload.conversion import distributed
from fastload.conversion.cluster import drop, leases, slurm, task
from fastload.conversion.cluster.board import Board
from fastload.conversion.cluster.recipe import parse_recipe
from fastload.errors import ConversionError
from fastload.files.below import opened
from fastload.files.names import Inner

from .format_helpers import convert, found
from .system_calls import out_of


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def begun(small, tmp_path):
    return distributed.begin(str(small), str(tmp_path / "out"), shard_bytes=3000)


def whole(tools, source, tmp_path, to="shards"):
    out = out_of(tmp_path / "whole", to)
    convert(tools, source, out, to)
    return found(tools, out)


@pytest.mark.parametrize("to", ["shards", "folder"])
def test_units_are_made_in_any_order_and_more_than_once(tools, small, tmp_path, to):
    out = tmp_path / "out"
    begun = distributed.begin(str(small), str(out), shard_bytes=3000, to=to)
    begun = pickle.loads(pickle.dumps(begun))
    numbers = [*reversed(range(begun.units)), 0, 1]
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda number: distributed.unit(begun, number), numbers))
    assert [each["part"] for each in made] == numbers
    assert all(each["whole"] for each in made)
    assert found(tools, out) is None or not any("." in name[0] for name in found(tools, out))
    summary = distributed.finish(begun)
    assert summary.samples == summary.resumed == 7
    assert found(tools, out) == whole(tools, small, tmp_path, to)


def test_units_that_are_missing_are_made_at_the_end(tools, small, tmp_path, begun):
    distributed.unit(begun, 1)
    summary = distributed.finish(begun)
    assert 0 < summary.resumed < 7
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)


def test_a_unit_that_was_damaged_is_made_again(tools, small, tmp_path, begun):
    distributed.unit(begun, 0)
    distributed.unit(begun, 1)
    tars = sorted((tmp_path / "out").glob(".fastload-units-*/*/*.tar"))
    assert len(tars) == 2
    content = bytearray(tars[0].read_bytes())
    content[600] ^= 1
    tars[0].write_bytes(content)
    tars[1].write_bytes(tars[1].read_bytes()[:-1])
    assert distributed.finish(begun).resumed == 0
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)


@pytest.mark.parametrize(
    "said", [b"", b"{}", b"[1]", b'{"part": 0}', b'{"part": 0, "job": "JOB", "whole": true}']
)
def test_what_is_no_unit_of_ours_is_passed_over(tools, small, tmp_path, begun, said):
    with opened(begun.drop) as folder, folder.folder(Inner("000000"), make=True) as made:
        made.write(drop.PART, said.replace(b"JOB", begun.job.encode()))
    assert distributed.finish(begun).resumed == 0
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)


def test_a_unit_whose_names_lead_out_is_passed_over(small, tmp_path):
    out = tmp_path / "out"
    begun = distributed.begin(str(small), str(out), shard_bytes=3000, to="folder")
    distributed.unit(begun, 0)
    with opened(begun.drop) as folder, folder.folder(Inner("000000")) as made:
        text = made.read(drop.PART).replace(b" cat/", b" ../cat/")
        assert b"../cat/" in text
        made.replace(drop.PART, text)
    assert distributed.finish(begun).resumed == 0
    assert not (tmp_path / "cat").exists()


def test_a_recipe_survives_its_text(begun):
    assert parse_recipe(begun.text()) == begun


def test_a_source_that_has_changed_meanwhile_is_refused(tools, small, begun):
    (small / "cat" / "9.JPEG").write_bytes(tools.encode(9, 8))
    with pytest.raises(ConversionError, match="has changed since the conversion began"):
        distributed.finish(begun)


def test_a_folder_that_is_gone_says_so(begun, tmp_path):
    os.rename(tmp_path / "out", tmp_path / "away")
    with pytest.raises(ConversionError, match="No such file or directory"):
        distributed.unit(begun, 0)


def test_tasks_make_all_units_once(tools, small, tmp_path, begun):
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda first: task.make_units(begun.drop, first), (0, 2)))
    assert sum(made) >= begun.units
    names = os.listdir(begun.drop)
    assert sorted(filter(drop.MADE.fullmatch, names)) == [
        drop.name_of(number) for number in range(begun.units)
    ]
    assert not [name for name in names if name.startswith("clock-")]
    assert distributed.finish(begun).resumed == 7
    assert found(tools, tmp_path / "out") == whole(tools, small, tmp_path)


def waits(seconds):
    pytest.fail("waits, though there is something to do")


@pytest.fixture
def board(tmp_path):
    def make(worker, units=2, first=0, lease=60.0):
        return Board(opened(str(tmp_path)), units, worker, first, lease, waits)

    return make


def make_old(folder, name, age):
    then = os.stat(folder / name).st_mtime - age
    os.utime(folder / name, (then, then))


def test_files_are_leases(board, tmp_path):
    one, two = board("one"), board("two", first=1)
    assert (two.take(), one.take()) == (1, 0)
    make_old(tmp_path, "lease-000001", 61)
    assert one.take() == 1
    assert b'"tries": 1' in (tmp_path / "lease-000001").read_bytes()
    make_old(tmp_path, "lease-000001", 61)
    two.signed = -1e9
    two.sign()  # it was only slow
    assert os.stat(tmp_path / "lease-000001").st_mtime > os.stat(tmp_path).st_mtime - 30
    for number in range(2):
        (tmp_path / drop.name_of(number)).mkdir()
    assert one.take() is None


def test_a_slow_unit_gets_a_second_worker(board, tmp_path):
    one, two = board("one"), board("two")
    assert (one.take(), two.take()) == (0, 1)
    two.times.append(-1.0)  # everything is slower than that
    assert two.take() == 0
    assert (tmp_path / "second-000000").exists()
    assert b'"worker": "two"' in (tmp_path / "second-000000").read_bytes()


def test_a_unit_that_fails_everywhere_is_left_to_the_last_step(board, tmp_path):
    one = board("one", units=1)
    assert one.take() == 0
    for tries in range(1, leases.TRIES):
        make_old(tmp_path, "lease-000000", 61)
        assert one.take() == 0
        assert f'"tries": {tries}'.encode() in (tmp_path / "lease-000000").read_bytes()
    make_old(tmp_path, "lease-000000", 61)
    assert one.take() is None


def test_a_lease_that_was_never_written_expires(board, tmp_path):
    """Its worker was killed between the two: all others would wait for it for ever."""
    (tmp_path / "lease-000000").touch()
    (tmp_path / drop.name_of(1)).mkdir()
    one = board("one")
    assert one._lease_of(0) is None
    make_old(tmp_path, "lease-000000", 61)
    assert one.take() == 0
    assert b'"tries": 1' in (tmp_path / "lease-000000").read_bytes()


SBATCH = """#!/bin/sh
# Runs what Slurm would queue: the tasks of an array one after the other.
for each; do
  case $each in
    --array=0-*) last=${each#--array=0-} ;;
    --wrap=*) wrapped=${each#--wrap=} ;;
    --parsable) parsable=1 ;;
  esac
done
for SLURM_ARRAY_TASK_ID in $(seq 0 ${last:-0}); do
  export SLURM_ARRAY_TASK_ID
  sh -c "$wrapped" 1>&2
done
[ -z "$parsable" ] || echo "17;cluster"
"""


def test_the_script_submits_tasks_and_then_the_commit(tmp_path, begun):
    """With a program in the place of Python, since that takes seconds."""
    (tmp_path / "sbatch").write_text(SBATCH)
    said = tmp_path / "said"
    (tmp_path / "python's").write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    for name in ("sbatch", "python's"):
        os.chmod(tmp_path / name, 0o755)
    old, sys.executable = sys.executable, str(tmp_path / "python's")
    try:
        text = slurm.script(
            begun.drop, begun.units, 2, ["convert", "a b", "out", "--resume"], str(tmp_path)
        )
    finally:
        sys.executable = old
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", text], check=True, env={**os.environ, "PATH": path})
    step = -(-begun.units // 2)
    assert said.read_text().splitlines() == [
        f"-m fastload.conversion.cluster.task {begun.drop} 0",
        f"-m fastload.conversion.cluster.task {begun.drop} {step}",
        "-m fastload convert a b out --resume",
    ]


def test_the_last_step_is_the_same_command_to_go_on():
    words = ["convert", "in", "out", "--on", "slurm:4", "--shuffle", "1", "--on=slurm"]
    words += ["--workers", "64", "--workers=64"]
    assert resuming(words) == ["convert", "in", "out", "--shuffle", "1", "--resume"]
