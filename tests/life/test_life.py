"""A small, fixed part of the release's checks: python -m tests.life.death, faults, memory, mixed
and one_hash run them whole.
"""

import json
import random
import re

import pytest

from tests.life import death, fault_server, faults, memory, mixed, one_hash
from tests.loader import resume_release
from tests.loader.resume_helpers import check_some


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    made = death.Zygote(tmp_path_factory.mktemp("programs"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return death.images(tmp_path_factory.mktemp("life") / "images")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("native", "int"),
        ("inline", "int"),
        ("own", "int group"),
        ("own", "kill"),
        ("own", "kill worker"),
        ("torch", "kill"),
        ("torch", "kill worker"),
    ],
)
def test_a_program_that_is_stopped_leaves_nothing(zygote, images, kind, how):
    wrong, first, _ = death.event(zygote, kind, how, random.Random(2), images)
    assert wrong == ""
    assert first.startswith("ready ")


def test_a_program_has_no_time_while_others_have_the_cores(monkeypatch):
    def process(state, ticks=0):
        return [state, *["0"] * 10, str(ticks), "0"]

    looks = iter(
        [
            {7: process("R")},  # at the begin
            {7: process("R"), 8: process("S")},  # ready, and no core for it
            {7: process("D"), 8: process("S")},  # waits for the disk
            {7: process("S"), 8: process("S")},
            {7: process("R", death.TICKS), 8: process("S")},  # 1 s of CPU time
            {8: process("S")},  # it has ended; what it computed stays
        ]
    )
    monkeypatch.setattr(death, "living", lambda _: next(looks))
    monkeypatch.setattr(death.time, "sleep", lambda _: None)
    own, look = death.OwnTime(7), death.LOOK
    passed = [own.passed() for _ in range(5)]
    assert passed == pytest.approx([0, 0, look, 1 + look, 1 + 2 * look])


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    made = faults.Faults(tmp_path_factory.mktemp("faults"))
    yield made
    made.close()


SLICE = {
    "eio": "SampleError: /images/class1/15.jpg, sample 19: cannot be read (Input/output error)",
    "eintr_storm": "ok the calls are made again",
    "short_reads": "ok the calls are made again",
    "stalled_read_at_exit": "ok the program ends (status 0)",
    "stalled_mask_at_exit": "ok the program ends (status 0)",
    "a_named_pipe_in_a_masks_place": "SampleError: /masks/class0/10.png, sample 5: cannot be read "
    "(is a named pipe (want a file)); "
    "restore the mask",
    "too_many_files": "SampleError: /images/class1/15.jpg, sample 19: cannot be read (Too many "
    "open files)",
    "no_room_for_threads": "HostMemoryError: loader: no memory is left for 512 threads (5,264 MiB "
    "cannot be had); "
    "take fewer workers or smaller batches, or allow the process more memory",
    "out_of_memory_in_a_decode": "SampleError: /images/class0/10.jpg, sample 5: cannot be decoded "
    "(out of memory); "
    "shrink it, take fewer workers, or allow the process more memory",
    "a_named_pipe_in_its_place": "SampleError: /images/class0/10.jpg, sample 5: cannot be read (is "
    "a named pipe (want a file))",
    "an_index_cut_off_in_use": "ok it is in memory",
    "shards_that_vanish_in_use": "ok they are open",
    "sidecars_cut_off_in_use": "ok images are decoded whole",
    "collected_indexes_cut_off_in_use": "ok images are decoded whole",
    "a_forked_child": "ok it has threads of its own",
}
# Who takes the last memory first, the decoder or the feeder with the next batch, the threads or
# Python itself, is not said.
INSTEAD = {
    "no_room_for_threads": "HostMemoryError: loader: out of memory (MemoryError); "
    "take fewer workers or smaller batches, or allow the process more memory",
    "out_of_memory_in_a_decode": "HostMemoryError: loader: no memory is left for a batch (16 MiB "
    "cannot be had); "
    "take fewer workers or smaller batches, or allow the process more memory",
}


@pytest.mark.long
@pytest.mark.parametrize("name", SLICE)
def test_a_fault_is_an_error_with_a_type_or_is_got_over(broken, name):
    said = broken.run(name)
    if said.startswith("needs "):
        pytest.skip(said)
    assert said in (SLICE[name], INSTEAD.get(name))


def test_a_stalled_read_is_told_with_its_file_and_every_queue(broken):
    said = broken.run("stalled_read")
    if said.startswith("needs "):
        pytest.skip(said)
    assert said.startswith("StalledError: loader: no batch within 3.0 s; of the batches under way ")
    assert re.search(
        r" \| thread fastload-r?\d: reads /images/class\d/\d\d\.jpg for \d+\.\d s", said
    )
    assert " | thread fastload-feeder: " in said


def test_a_stalled_mask_is_told_with_its_file(broken):
    said = broken.run("stalled_mask")
    if said.startswith("needs "):
        pytest.skip(said)
    assert said.startswith("StalledError: loader: no batch within 3.0 s; of the batches under way ")
    assert re.search(
        r" \| thread fastload-masks-\d: makes /masks/class\d/\d\d\.png for \d+\.\d s", said
    )


def test_every_fault_is_of_a_known_kind():
    assert len(fault_server.CASES) >= 40
    assert not faults.good("MemoryError: std::bad_alloc")
    assert not faults.good("killed by signal 7")
    assert faults.good("SampleError: x")


@pytest.mark.long
def test_epochs_leave_nothing_behind(program):
    code = (
        "import json; from tests.life import memory; print(json.dumps([memory.apart(name, 12) "
        "for name in ('native', 'left early')]))"
    )
    done = program(
        "-c", code
    )  # of its own: what other tests have left would count, and so would its going
    assert (done.returncode, done.stderr) == (0, "")
    for slope, first, last in json.loads(done.stdout):
        found = memory.Result(slope, memory.Held(*first), memory.Held(*last))
        assert not found.more, found
        assert found.slope < 4 * memory.MOST  # of few epochs; the release's check has 100


def test_the_slope_is_the_median_of_all():
    assert memory.slope([0.0, 3.0, 6.0, 9.0]) == 3.0
    assert memory.slope([5.0, 5.0, 5.0, 500.0, 5.0]) == 0.0


def test_good_samples_are_as_they_were_beside_bad_ones():
    said = []
    assert mixed.check(400, ("native",), lambda text, **_: said.append(text)) == []
    assert said[1:] == [
        f"native  {policy:11} 8 batches, 4 bad samples: 0 wrong"
        for policy in ("raise", "skip", "substitute")
    ]


def test_the_check_of_good_samples_sees_another_one(tmp_path):
    mixed.make(tmp_path, 100)
    clean = [
        batch
        for batch in mixed.run(mixed.loader(tmp_path, "good", "raise", "native"))[0]
        if batch is not None
    ]
    clean[1][3], clean[1][4] = clean[1][4], clean[1][3]
    assert mixed.one(tmp_path, "skip", "native", clean) == ["batch 1"]


def test_one_hash():
    assert len(one_hash.check(1, (0, 3), lambda *_, **__: None)) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["mix", "bad images"])
def test_states_of_the_release(name, tmp_path):
    resume_release.images(str(tmp_path))
    assert (
        check_some(
            lambda: resume_release.make(str(tmp_path), resume_release.CONFIGURATIONS[name]), 30
        )
        >= 30
    )
