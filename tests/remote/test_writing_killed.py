"""kill -9 at any moment of a conversion to a store, and Ctrl-C while the store does not answer."""

import os
import signal
import sys
import time

import pytest

from tests.remote import s3
from tests.remote.kill_writing import Checks


@pytest.mark.long
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_and_resumed(bucket, shards, program, replacing):
    """The last steps are those that make the data set readable."""
    checks, prefix = Checks(bucket, shards.parent, program), f"killed-{replacing}"
    steps = checks.steps(prefix, replacing=replacing)
    for number, share in enumerate((0.5, 0.88, 0.97)):
        checks.kill(int(share * steps), f"{prefix}-{number}", replacing=replacing)
    assert checks.found["resumed"] >= 2
    assert checks.found["old"] >= replacing


def test_ctrl_c_while_the_store_does_not_answer(bucket, shards, forker, tmp_path):
    hanging = []
    with s3.faulty(bucket) as faulty:
        faulty.faults = lambda _, key, __: "hang" if key == "shard-000002.tar" else ""
        faulty.seen = lambda _, key: hanging.append(key)
        command = [
            sys.executable, "-m", "fastload", "convert", str(shards.parent / "images"),
            "s3://images/interrupted", "--shard-size", "128K", "--shuffle", "5", "--workers", "1",
            "--scratch", str(tmp_path / "scratch"),
        ]  # fmt: skip
        environment = {**os.environ, **bucket.environment(faulty.url), "PYTHONPATH": forker.path}
        running = forker.start(command, environment)
        while "shard-000002.tar" not in hanging:
            assert running.poll() is None, forker.err.read_text()
            time.sleep(0.01)
        begin = time.monotonic()
        running.kill(signal.SIGINT)
        assert running.wait(60) == -signal.SIGINT
        assert time.monotonic() - begin < 30
    assert "--resume" in forker.err.read_text()
    done = forker.run(*command[1:], "--resume", **bucket.environment())
    assert done.returncode == 0, done.stderr
    assert "samples were there already" in done.stdout
    assert bucket.contents("interrupted") == {
        path.name: path.read_bytes() for path in shards.iterdir()
    }
