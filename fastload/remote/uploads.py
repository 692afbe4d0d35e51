"""Files on their way to a store: a few at once, in threads that keep no program from ending."""

import threading
import time
from collections.abc import Callable

LOOK = 0.1  # s between two looks at whether the one who waits still wants to
PATIENCE = 2.0  # s for uploads that are given up: their current requests may end


class Uploads:
    """Work in threads; what the first of it raises, the next call raises.

    most: how much of it runs at once.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._changed = threading.Condition()
        self._running = 0
        self._error: BaseException | None = None
        self._given_up = False

    def given_up(self) -> bool:
        """Whether nobody wants the work under way any more."""
        return self._given_up

    def begin(self, work: Callable[[], None], check: Callable[[], None]) -> None:
        """Do it in a thread; this returns once it has one.

        check: asked while it waits for one; raises to give up.
        """
        with self._changed:
            while self._running >= self.most and self._error is None:
                self._changed.wait(LOOK)
                check()
            self._raise()
            self._running += 1
        thread = threading.Thread(target=self._run, args=(work,), name="fastload-upload")
        thread.daemon = True
        thread.start()

    def settle(self) -> None:
        """All that was begun is done when this returns."""
        with self._changed:
            while self._running and self._error is None:
                self._changed.wait(LOOK)  # in steps: Ctrl-C is obeyed between them
            self._raise()

    def give_up(self, patience: float = PATIENCE) -> None:
        """What is under way ends soon; what of it has not ended then, notes nothing any more."""
        end = time.monotonic() + patience
        with self._changed:
            self._given_up = True
            while self._running and time.monotonic() < end:
                self._changed.wait(LOOK)

    def noting(self, note: Callable[[], None]) -> bool:
        """Call it unless the work was given up; whether it was called."""
        with self._changed:
            if not self._given_up:
                note()
            return not self._given_up

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self, work: Callable[[], None]) -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as raised:  # noqa: BLE001  the one who waits gets it
            error = raised
        with self._changed:
            self._running -= 1
            self._error = self._error or error
            self._changed.notify_all()
