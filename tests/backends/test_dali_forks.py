"""Processes that fork after DALI has run."""

import pytest

pytest.importorskip("nvidia.dali")

PROGRAM = """
import gc, os
import fastload.backends.dali.engine
class Held:
    def __init__(self):
        self.me = self
    def __del__(self):
        os.write(1, b"ended in %d\\n" % (os.getpid() != first))
first = os.getpid()
gc.disable()
Held()
child = os.fork()
if not child:
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
gc.collect()
"""


@pytest.mark.long
def test_a_child_does_not_end_what_was_garbage_at_the_fork(program):
    done = program("-c", PROGRAM)
    assert (done.returncode, done.stdout) == (0, "ended in 0\n"), done.stderr
