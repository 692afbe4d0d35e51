"""Processes that fork after DALI has run."""

import pytest

pytest.importorskip("nvidia.dali")

# The hook stands for those of other modules, which allocate as soon as the child runs: threading's
# was seen to start the collector.
PROGRAM = """
import gc, os
def allocate():
    gc.set_threshold(1)
    [[] for _ in range(9)]
    gc.set_threshold(10**6)
os.register_at_fork(after_in_child=allocate)
import fastload.backends.dali.engine
class Held:
    def __init__(self):
        self.me = self
    def __del__(self):
        os.write(1, b"ended in %d\\n" % (os.getpid() != first))
first = os.getpid()
gc.set_threshold(10**6)
Held()
child = os.fork()
if not child:
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert gc.isenabled()
gc.collect()
"""


@pytest.mark.long
def test_a_child_does_not_end_what_was_garbage_at_the_fork(program):
    done = program("-c", PROGRAM)
    assert (done.returncode, done.stdout) == (0, "ended in 0\n"), done.stderr
