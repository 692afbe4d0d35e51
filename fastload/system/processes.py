"""PyTorch's worker processes, made to end when they should.

They end with the process that started them, even where that was killed (PyTorch's look for it every
5 s); one that was killed does not hold up the others; and Ctrl-C is not lost where Python can only
print it: while a process is forked, and in `__del__`.
"""

import copy
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

PR_SET_PDEATHSIG = 1  # prctl(2)
SOON = 0.01  # s: `__del__` is over by then
LOOK = 1.0  # s between two looks at whether the workers live, while a batch is waited for


class Hold:
    """From its making to `release`, a signal (SIGINT) only is noted."""

    def __init__(self, number: signal.Signals = signal.SIGINT) -> None:
        self.number, self.came = number, False
        self.old: Any = None
        # Which handler is told when this one is done, if another one was put before it
        self.after: Any = None
        old = signal.getsignal(number)
        if callable(old) and threading.current_thread() is threading.main_thread():
            self.old = old
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.after is None:
            self.came = True
        else:
            self.after(number, frame)

    def release(self, *, later: bool = False) -> None:
        """What was noted happens now; or later, where nothing can be raised."""
        old, self.old = self.old, None
        if old is None:
            return
        self.after = old
        if signal.getsignal(self.number) == self._note:  # else a later one puts this one back
            signal.signal(self.number, old)
        if self.came and later:
            threading.Timer(
                SOON, signal.pthread_kill, (threading.main_thread().ident, self.number)
            ).start()
        elif self.came:
            old(self.number, sys._getframe())


class Workers(_MultiProcessingDataLoaderIter):
    """PyTorch's iterator with such workers."""

    # Kept here, since modules are emptied before the interpreter ends
    _process = staticmethod(os.getpid)

    def __init__(self, loader: Any) -> None:
        self._owner = self._process()
        self._hold = Hold()
        try:
            super().__init__(_tied(loader))
        finally:
            self._hold.release()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if first_iter:
            self._start_feeders()
        # The workers have started; samplers are the user's, and may take any time
        self._hold.release()
        super()._reset(loader, first_iter)

    def _start_feeders(self) -> None:
        """The threads of the workers' queues; in the middle of that, torch would raise of a worker
        that was killed, and break them.
        """
        hold = Hold(signal.SIGCHLD)
        try:
            for queue in self._index_queues:
                if getattr(queue, "_thread", queue) is None:  # multiprocessing.queues.Queue's
                    queue._start_thread()  # type: ignore[attr-defined]
        finally:
            hold.release()

    def _try_get_data(self, timeout: float = LOOK) -> Any:
        try:
            return super()._try_get_data(timeout)  # type: ignore[no-untyped-call]
        except (ConnectionError, EOFError) as error:
            # A worker died while it handed a batch over, and is not known to be dead yet.
            ended = multiprocessing.connection.wait([one.sentinel for one in self._workers], LOOK)
            for worker in self._workers:
                if worker.sentinel in ended:
                    worker.join(LOOK)  # the system closes its files, and then ends it
            if dead := ", ".join(
                str(worker.pid) for worker in self._workers if not worker.is_alive()
            ):
                # These are torch's words.
                raise RuntimeError(
                    f"DataLoader worker (pid(s) {dead}) exited unexpectedly"
                ) from error
            raise

    def _shutdown_workers(self) -> None:
        if self._owner != self._process():
            # A copy that a forked child drops: the workers are its parent's, and told to end by
            # what both share.
            self._shutdown = True
            return
        # A dead worker may hold a lock of the queue that the others wait for.
        if any(worker.exitcode for worker in self._workers):
            for worker in self._workers:
                worker.kill()
        super()._shutdown_workers()

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """`ending` is kept here for the same reason."""
        if "_workers" not in self.__dict__:  # its beginning failed
            return
        hold = None if ending() else Hold()
        try:
            super().__del__()
        except RuntimeError:  # a worker was killed meanwhile, and nobody waits for it any more
            pass
        finally:
            if hold:
                hold.release(later=True)


class _Tied:
    """A worker_init_fn: the worker is killed once its parent is gone, and then what `init` does."""

    def __init__(self, init: Callable[[int], Any] | None) -> None:
        self.init = init
        # The kernel means the thread that started the process, and a thread may end before its
        # process does.
        self.wanted = threading.current_thread() is threading.main_thread()

    def __call__(self, worker: int) -> None:
        held = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
        if isinstance(held, Hold):  # of the parent, when it forked
            held.came = False
            held.release()
        sys.excepthook = _excepthook
        if self.wanted:
            _end_with_parent()
        if self.init is not None:
            self.init(worker)


def _excepthook(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Python's, but for the thread that hands tensors over: it says that its parent has gone in the
    middle of that.
    """
    where = trace.tb_frame.f_globals.get("__name__") if trace else None
    if where != "multiprocessing.resource_sharer" or not issubclass(
        kind, (ConnectionError, EOFError)
    ):
        sys.__excepthook__(kind, error, trace)


def _end_with_parent() -> None:
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):  # no Linux: PyTorch's look has to do
        return
    parent = multiprocessing.parent_process()
    if parent is not None and _gone(parent.pid or 0):  # before the kernel was told
        os._exit(1)


def _gone(pid: int) -> bool:
    """Whether the program that wanted this worker has ended.

    `Process.is_alive` would ask a pipe that workers forked later hold open too, and a fork server's
    children have another parent.
    """
    if os.getppid() == pid:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # proc_pid_stat(5)
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _tied(loader: Any) -> Any:
    """A copy of the loader for PyTorch's iterator to read: the same but for workers that end with
    this process.
    """
    twin = copy.copy(loader)
    twin.__dict__["worker_init_fn"] = _Tied(loader.worker_init_fn)  # past the class's __setattr__
    if "_meter" in loader.__dict__:
        twin.__dict__["_meter"] = loader._meter
    return twin
