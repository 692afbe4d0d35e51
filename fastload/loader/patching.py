"""A function of a library replaced for a while: in a worker for good, in the caller's process while
a batch is made. Afterwards it is what it was.
"""

import threading
from collections.abc import Callable

from fastload.image.stand_ins import Call, Wrap


class Patch:
    """One function, and how many ask for it to be replaced.

    Args:
        owner: Gives what has the function; None: the program has not imported it.
        name: Of the function.
        wrap: Makes what stands in for it.
        fits: Whether it may: the function is the library's own, and both agree.
    """

    def __init__(
        self,
        owner: Callable[[], object],
        name: str,
        wrap: Wrap,
        fits: Callable[[Call], bool] = bool,
    ) -> None:
        self.owner, self.name, self.wrap, self.fits = owner, name, wrap, fits
        self.lock, self.uses = threading.Lock(), 0
        self.home: object = None  # that has been patched
        self.before: Call | None = None
        self.ours: Call | None = None
        self.made: tuple[Call, Call] | None = None  # before, and what stands in for it

    def enter(self) -> None:
        with self.lock:
            if self.uses == 0:
                self._put()
            self.uses += 1

    def leave(self) -> None:
        with self.lock:
            self.uses -= 1
            # Else the program has put something around it meanwhile, which calls it on.
            if self.uses == 0 and self.ours and getattr(self.home, self.name, None) is self.ours:
                setattr(self.home, self.name, self.before)
                self.ours = None

    def forget(self) -> None:
        """In a child of fork, whose parent may have been making a batch."""
        self.lock, uses, self.uses = threading.Lock(), self.uses, 1
        if uses:
            self.leave()
        self.uses = 0

    def _put(self) -> None:
        home = self.owner()
        now = getattr(home, self.name, None)
        if now is None or now is self.ours or not self.fits(now):
            return
        if self.made is None or self.made[0] is not now:
            self.made = now, self.wrap(now, lambda: self.uses > 0)
        self.home, (self.before, self.ours) = home, self.made
        setattr(home, self.name, self.ours)
