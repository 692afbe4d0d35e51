"""A line on the terminal while somebody waits, so that nobody takes it for a hang."""

import os
import sys
import time

CLEAR = "\r\x1b[K"


class Line:
    """Shown on a terminal only, by one process of a machine.

    after: s from the first `waited` on, until it is shown.
    """

    def __init__(self, after: float) -> None:
        first = os.environ.get("LOCAL_RANK", "0") == "0"
        self.on = first and sys.stderr is not None and sys.stderr.isatty()
        self.after = after
        self._begin: float | None = None
        self._shown = False

    def waited(self) -> float:
        """s until now; 0: it is not to be shown yet."""
        now = time.monotonic()
        self._begin = now if self._begin is None else self._begin
        return now - self._begin if self.on and now - self._begin >= self.after else 0.0

    def show(self, text: str) -> None:
        self._shown = True
        sys.stderr.write(f"{CLEAR}fastload: {text}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
        self._shown = False
