"""Every error that fastload raises on purpose.

Texts read `where: what (got, want); what to do`, on one line per problem.
"""

import pkgutil
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

# What else a SampleError is, by what was raised: that class → the name of ours. They are made
# when they are first asked for, by name too, so that they can be pickled. IndexError is left out:
# out of a data set's __getitem__ it would end a `for` loop in silence.
ALSO = {
    f"builtins.{name}": f"{name.removesuffix('Error')}SampleError"
    for name in (
        "OSError", "BlockingIOError", "ChildProcessError", "ConnectionError", "BrokenPipeError",
        "ConnectionAbortedError",
        "ConnectionRefusedError", "ConnectionResetError", "FileExistsError", "FileNotFoundError",
        "InterruptedError", "IsADirectoryError",
        "NotADirectoryError", "PermissionError", "ProcessLookupError", "TimeoutError",
        "SyntaxError", "ValueError", "TypeError", "LookupError", "KeyError", "EOFError",
        "ArithmeticError", "OverflowError",
        "ZeroDivisionError", "MemoryError", "NotImplementedError", "RecursionError",
    )
} | {
    "PIL.UnidentifiedImageError": "UnidentifiedImageSampleError",
    "PIL.Image.DecompressionBombError": "DecompressionBombSampleError",
    "PIL.Image.DecompressionBombWarning": "DecompressionBombWarningSampleError",
    "struct.error": "StructSampleError",
    "zlib.error": "ZlibSampleError",
}  # fmt: skip
OS_FIELDS = ("errno", "strerror", "filename")
# Equal reasons from which they are one line, and the names that it then has
EQUAL, NAMED = 4, 3
SHOWN = 20  # problems in one message


def readable(text: str) -> str:
    """The text, with bytes of file names that are not UTF-8 as \\xNN: every terminal and file can
    show it.
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a surrogate pair of another origin
        return text.encode("utf-8", "backslashreplace").decode()


def grouped(problems: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of names and what is wrong with each; what is wrong with many is said once."""
    names: dict[str, list[str]] = {}
    for name, reason in problems:
        names.setdefault(reason, []).append(name)
    lines = []
    for reason, given in names.items():
        if len(given) < EQUAL:
            lines += [f"{name}: {reason}" for name in given]
        else:
            shown = ", ".join(given[:NAMED])
            lines.append(f"{len(given):,} times: {reason}: {shown} and {len(given) - NAMED:,} more")
    return lines


def listed(problems: Sequence[str]) -> str:
    """Problems as lines of one message."""
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return "\n".join([*problems[:SHOWN], *more])


class FastloadError(Exception):
    """Base of all errors below; the command line prints it without a traceback."""

    exit_status = 1  # of the command line; 2: that itself is wrong

    def __str__(self) -> str:
        return readable(super().__str__())


Error = TypeVar("Error", bound=FastloadError)


def meant(name: str, names: Iterable[str]) -> str:
    """ "did you mean NAME?" with the nearest of the names; "" where none is near."""
    import difflib  # a first import of fastload does not need it

    by_lower = {one.lower(): one for one in names}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[near[0]]}?" if near else ""


def mistyped(error: Error, name: str, names: Iterable[str]) -> Error:
    """The same error for a name that nobody knows. Where one of the names is near, it asks for that
    after the semicolon. The command line ends with status 2, as for any wrong word.
    """
    error.exit_status = 2
    if near := meant(name, names):
        text = str(error)
        error.args = (f"{text.rpartition('; ')[0] or text}; {near}",)
    return error


def misused(text: str) -> "UsageError":
    """The error for options that make no sense on any data. The command line ends with status 2."""
    error = UsageError(text)
    error.exit_status = 2
    return error


def unknown_name(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error for an attribute that a module does not have, with the nearest of its names."""
    near = "" if name.startswith("_") else meant(name, names)
    hint = f"; {near}" if near else ""
    text = f"module {module!r} has no attribute {name!r}{hint}"
    # obj=None: Python's own suggestion would repeat it.
    return AttributeError(text, name=name, obj=None)


class PipelineError(FastloadError, ValueError):
    """The pipeline cannot work.

    Raised by `plan()` with all problems at once, before any data is read.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type["PipelineError"], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class SourceError(FastloadError, ValueError):
    """A data set cannot be opened.

    There is no such path, or there are no images, or an index is damaged or of another version.
    """


class StoreError(SourceError):
    """An object store or a web server does not give what a data set needs.

    The text names the object. No user name, password or query of a URL is ever in it.
    """

    missing = False  # whether there is no such object


class StoreAccessError(StoreError):
    """The store refuses: no rights, no credentials, expired ones, or another region."""


class StoreTimeoutError(StoreError):
    """Nothing whole came from the store within the deadline."""


class ObjectChangedError(StoreError):
    """An object is not the one that the data set was opened with."""


class CacheError(SourceError):
    """The cache on the local disk cannot be used, or has no room for what a batch needs."""


class SampleError(FastloadError, RuntimeError):
    """One sample cannot be read or decoded.

    Those that `sample_error` makes are also what Python or Pillow raised.
    """

    tried: Any = None  # where no other sample could stand in for it: `bad_samples.Tried`

    def __init__(self, where: str, index: int = -1, reason: str = "") -> None:
        """where: its path; or, alone, the whole text, as PyTorch raises again what a worker process
        has raised.
        """
        self.where, self.index, self.reason = where, index, reason
        super().__init__(f"{where}, sample {index}: {reason}" if reason else where)

    def __str__(self) -> str:
        return readable(str(self.args[0]))  # OSError's and KeyError's would be other texts

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {name: getattr(self, name) for name in (*OS_FIELDS, "msg") if hasattr(self, name)}
        return type(self), (self.where, self.index, self.reason), {**vars(self), **kept}


def sample_error(where: str, index: int, reason: str, cause: BaseException | None) -> SampleError:
    """A SampleError that is also of the class of `cause`, or of the nearest class above it in ALSO,
    so that programs written for Pillow's errors catch it; with the errno of an OSError. `cause` is
    its __cause__.
    """
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(cause).__mro__)
    name_of_kind = next((ALSO[name] for name in names if name in ALSO), "SampleError")
    kind: type[SampleError] = globals().get(name_of_kind) or __getattr__(name_of_kind)
    error = kind(where, index, reason)
    for name in OS_FIELDS if isinstance(cause, OSError) else ():
        setattr(error, name, getattr(cause, name))
    if isinstance(error, SyntaxError):
        error.msg = str(error)  # what tracebacks show of one
    error.__cause__ = cause
    return error


class BadSamplesError(FastloadError, RuntimeError):
    """More samples are bad than `max_bad` allows."""


class OpError(FastloadError, RuntimeError):
    """A user's function in a pipeline failed on an image; loaders make a SampleError of it."""


class BackendError(FastloadError, RuntimeError):
    """A backend cannot run this plan, or what it needs is not installed."""


class DeviceError(FastloadError, RuntimeError):
    """The GPU cannot be used.

    There is no driver or an old one, the GPU is too old for the kernels, the process was forked, or
    another device is current.
    """


class HostMemoryError(FastloadError, MemoryError):
    """There is no memory for what a loader needs.

    Where one image alone needs too much, the error is a SampleError.
    """


class DeviceMemoryError(DeviceError):
    """The GPU has no memory left for a batch."""


class ConversionError(FastloadError, RuntimeError):
    """A conversion cannot start or go on; nothing stands under the final name."""


class MetricsError(FastloadError, RuntimeError):
    """Metrics cannot be exported: what that needs is not installed, or its port is taken."""


class UsageError(FastloadError, ValueError):
    """An argument of a fastload function or command makes no sense."""


def __getattr__(name: str) -> type[SampleError]:
    """The classes of ALSO."""
    known = next((known for known, ours in ALSO.items() if ours == name), None)
    if known is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    also: type[BaseException] = pkgutil.resolve_name(known)
    text = f"A sample that cannot be read or decoded, where {also.__qualname__} was raised."
    kind = type(name, (SampleError, also), {"__module__": __name__, "__doc__": text})
    # Threads may come here at once: the first one's class stays.
    return globals().setdefault(name, kind)  # type: ignore[no-any-return]


class BadSamplesWarning(UserWarning):
    """Samples of an epoch were substituted or skipped, since they could not be read.

    Given once, at the epoch's end, with on_error="substitute" or "skip"; the text says how many and
    which file lists them.
    """


class FallbackWarning(UserWarning):
    """A loader does not run natively: it is no faster than PyTorch's.

    Said at `iter(loader)`, once for each line of a program; the text gives the first reason.
    `warnings.simplefilter("ignore", fastload.FallbackWarning)` silences it, and FASTLOAD_STRICT=1
    makes it an error when the loader is made.
    """
