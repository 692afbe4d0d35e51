"""50 appends while four loaders train: none sees a change before it opens the data set again."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fastload.conversion import verify
from tests.conversion.conftest import convert
from tests.waiting import until

from .version_helpers import append, folder, prints

LOADERS, APPENDS, FIRST = 4, 50, 6
TRAINER = str(Path(__file__).with_name("version_trainer.py"))


@pytest.mark.long
def test_loaders_train_while_it_grows(program, in_memory):
    data, stop = in_memory / "out", in_memory / "stop"
    convert(folder(in_memory / "in", range(FIRST)), data, shard_bytes=1024)
    with ThreadPoolExecutor(1) as pool:
        said = str(in_memory / "said")
        trainers = pool.submit(program, TRAINER, str(data), str(stop), said, str(LOADERS))
        try:
            assert until(
                lambda: trainers.done() or len(list(in_memory.glob("said*.ready"))) == LOADERS
            )
            for number in range(APPENDS):
                source = folder(in_memory / f"more{number}", [FIRST + number])
                assert append(source, data).version == number + 2
        finally:
            stop.touch()
        done = trainers.result()
    assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads((in_memory / f"said{number}").read_text()) for number in range(LOADERS)]
    assert [said["wrong"] for said in told] == [[]] * LOADERS
    assert all(said["sizes"] == sorted(said["sizes"]) for said in told)
    assert {said["sizes"][-1] for said in told} == {FIRST + APPENDS}
    assert all(said["grew_meanwhile"] > 0 for said in told)
    convert(folder(in_memory / "all", range(FIRST + APPENDS)), in_memory / "once", shard_bytes=1024)
    once, got = prints(in_memory / "once"), prints(data)
    assert {name: got[name] for name in once} == once
    assert verify.verify(verify.prepare(str(data)), 1).damages == ()
