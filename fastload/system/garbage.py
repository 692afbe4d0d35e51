"""What is garbage when a process forks is left alone in the child.

A cycle may hold what has threads, such as a pipeline of DALI. The child has none of these threads,
so its garbage collector would wait for them for ever. It may run as soon as the child does: the
hooks of other modules allocate, too.
"""

import gc
import os

_paused = False  # by a fork that is under way


def _pause() -> None:
    global _paused  # noqa: PLW0603  a hook has no other place
    _paused = gc.isenabled() or _paused
    gc.disable()


def _go_on() -> None:
    global _paused  # noqa: PLW0603
    if _paused:
        gc.enable()
    _paused = False


def _in_child() -> None:
    gc.freeze()  # all that is there now is never looked at again
    _go_on()


def leave_to_parent() -> None:
    """From now on. Call it once, where what has threads is made."""
    os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_in_child)
