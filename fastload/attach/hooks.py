"""Puts the recorder into PyTorch, at run time and by name: iterators of loaders, fetchers of
workers, optimisers, PIL's decoding.
"""

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

from fastload.attach import handed_down, imports
from fastload.attach.control import Control
from fastload.attach.looking import held
from fastload.attach.recorder import Recorder, time_collate
from fastload.attach.stages import STAGES

_make: Callable[[], Recorder] | None = None  # of this process; a forked child makes its own
_recorder: Recorder | None = None
_making = threading.RLock()  # two recorders of one process would share, and cut off, one file
_undo: list[Callable[[], object]] = []


def recorder() -> Recorder | None:
    """This process's recorder; None while no profiler is attached."""
    if _recorder is None and _make is not None:
        with _making:
            _begin()
    return _recorder


def _begin() -> None:
    global _make, _recorder  # noqa: PLW0603  one per process
    if _recorder is not None or _make is None:  # another thread was first
        return
    try:
        _recorder = _make()
    # The disk is full, or the folder has gone: the program must go on
    except Exception as error:  # noqa: BLE001
        _make = None
        print(
            f"fastload: profile: process {os.getpid()} is not measured ({error})",
            file=sys.stderr,
        )


def install_from_environment() -> None:
    """Attach to this process, if `fastload profile -- …` started it."""
    if given := handed_down.received():
        folder, limits = given
        install(lambda: Recorder(folder, Control(limits, folder, leave)))
        import atexit

        atexit.register(finish)


def install(make: Callable[[], Recorder]) -> None:
    """Attach to this process. make: called once it is needed, and again in forked children."""
    global _make  # noqa: PLW0603
    _make = make
    _once()
    actions: dict[str, Callable[[ModuleType], object]] = {
        "torch.utils.data.dataloader": _loaders,
        "torch.utils.data._utils.fetch": _fetchers,
        "torch.optim.optimizer": _optimizers,
        "fastload.engine.native": _engine,
        "fastload.loader.loader": _drop_in,
        "PIL.ImageFile": _pil,
        "fastload.image.encoded": _lazy,
    }
    imports.after(actions)


@functools.cache
def _once() -> None:
    os.register_at_fork(after_in_child=_forked)


def uninstall() -> None:
    """Detach from this process: every hook is undone."""
    global _make  # noqa: PLW0603
    _make = None
    _forget()
    imports.forget()
    while _undo:
        _undo.pop()()


def leave() -> None:
    """Detach from this process and from those that it starts."""
    uninstall()
    handed_down.stop()


def finish() -> None:
    """Write what is still in flight."""
    if _recorder is not None:
        _recorder.finish(stopped=getattr(_recorder.turn, "stopped", False))


def _forked() -> None:
    """In a child: a thread of the parent's may have held the lock."""
    global _making  # noqa: PLW0603
    _making = threading.RLock()
    _forget()


def _forget() -> None:
    global _recorder  # noqa: PLW0603
    _recorder = None
    STAGES.open = False


def _replace(
    owner: object, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., object]]
) -> None:
    original = None if owner is None else getattr(owner, name, None)
    if original is None:  # another version of the library: that part is not measured
        return
    setattr(owner, name, functools.wraps(original)(wrap(original)))
    _undo.append(lambda: setattr(owner, name, original))


def _nothing() -> None:
    """A reference to no loader."""


def _reference(loader: object) -> Callable[[], object]:
    """For its iterator, which holds it: `for batch in DataLoader(...)` drops the loader at once.

    A loader that keeps its iterator is not held by that, or neither would ever go.
    """
    if held(loader, "persistent_workers"):
        return weakref.ref(loader)
    return lambda: loader


def _loaders(module: ModuleType) -> None:
    def init(original: Callable[..., object]) -> Callable[..., object]:
        def __init__(self: Any, loader: object) -> None:  # noqa: N807
            original(self, loader)
            with suppress(Exception):  # a subclass may allow no such thing
                self._fastload_loader = _reference(loader)

        return __init__

    iterator = getattr(module, "_BaseDataLoaderIter", None)
    _replace(iterator, "__init__", init)
    _replace(iterator, "__next__", _timed_next)


def _timed_next(original: Callable[..., object]) -> Callable[..., object]:
    def __next__(self: object) -> object:  # noqa: N807
        active = recorder()
        if active is None:
            return original(self)
        loader = vars(self).get("_fastload_loader", _nothing)()
        return active.next(self if loader is None else loader, lambda: original(self))

    return __next__


def _fetchers(module: ModuleType) -> None:
    def fetch(original: Callable[..., object]) -> Callable[..., object]:
        def timed(self: Any, index: object) -> object:
            active = recorder()
            return (
                original(self, index)
                if active is None
                else active.make_batch(self, lambda: original(self, index))
            )

        return timed

    def init(original: Callable[..., object]) -> Callable[..., object]:
        def __init__(self: Any, *args: object, **kwargs: object) -> None:  # noqa: N807
            original(self, *args, **kwargs)
            with suppress(Exception):
                time_collate(self)

        return __init__

    _replace(getattr(module, "_BaseDatasetFetcher", None), "__init__", init)
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        _replace(getattr(module, name, None), "fetch", fetch)


def _optimizers(module: ModuleType) -> None:
    def step(*_: object) -> None:
        if active := recorder():
            active.step()

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        _undo.append(register(step).remove)


def _engine(module: ModuleType) -> None:
    """fastload's own iterators."""

    def epoch(original: Callable[..., Iterator[object]]) -> Callable[..., object]:
        def timed(self: Any, *args: object) -> _Epoch:
            loader = vars(self).get("_fastload_loader", _nothing)()
            return _Epoch(original(self, *args), _reference(self if loader is None else loader))

        return timed

    for name in ("NativeEngine", "TorchEngine"):
        _replace(getattr(module, name, None), "epoch", epoch)


def _drop_in(module: ModuleType) -> None:
    def make(original: Callable[..., object]) -> Callable[..., object]:
        def _make_engine(self: Any, *args: object) -> object:
            engine: Any = original(self, *args)
            # Weak: the program drops the loader when it likes.
            engine._fastload_loader = weakref.ref(self)
            return engine

        return _make_engine

    _replace(getattr(module, "DataLoader", None), "_make_engine", make)


class _Epoch:
    """An iterator, timed."""

    def __init__(self, inner: Iterator[object], loader: Callable[[], object]) -> None:
        self._inner, self._loader = inner, loader

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> object:
        active, loader = recorder(), self._loader()
        if active is None or loader is None:
            return next(self._inner)
        return active.next(loader, self._inner.__next__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _pil(module: ModuleType) -> None:
    def load(original: Callable[..., object]) -> Callable[..., object]:
        def timed(self: object, *args: object, **kwargs: object) -> object:
            if not STAGES.open or getattr(self, "tile", None) in (None, []):  # decoded already
                return original(self, *args, **kwargs)
            return STAGES.run("decode", original, self, *args, **kwargs)

        return timed

    _replace(getattr(module, "ImageFile", None), "load", load)


def _lazy(module: ModuleType) -> None:
    """The pixels of a lazy image, made where they are first looked at."""

    def make(original: Callable[..., object]) -> Callable[..., object]:
        def timed(self: object, cut: object) -> object:
            return STAGES.run("decode", original, self, cut)

        return timed

    _replace(getattr(module, "Encoded", None), "make", make)


def attached() -> bool:
    """Whether a profiler is attached to this process."""
    return _make is not None


__all__ = [
    "attached",
    "finish",
    "install",
    "install_from_environment",
    "leave",
    "recorder",
    "uninstall",
]
