"""Every error that fastload raises on purpose. Texts read `where: what (got, want); what to do`, on one line per problem."""

from collections.abc import Iterable


def readable(text: str) -> str:
    """The text, with bytes of file names that are not UTF-8 as \\xNN: every terminal and file can show it."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a surrogate pair of another origin
        return text.encode("utf-8", "backslashreplace").decode()


class FastloadError(Exception):
    """Base of all errors below; the command line prints it without a traceback."""

    def __str__(self) -> str:
        return readable(super().__str__())


class PipelineError(FastloadError, ValueError):
    """The pipeline cannot work. Raised by `plan()` with all problems at once, before any data is read."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type["PipelineError"], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class SourceError(FastloadError, ValueError):
    """A data set cannot be opened: no such path, no images, an index that is damaged or of another version."""


class SampleError(FastloadError, RuntimeError):
    """One sample cannot be read or decoded."""

    def __init__(self, where: str, index: int, reason: str) -> None:
        self.where, self.index, self.reason = where, index, reason
        super().__init__(f"{where}, sample {index}: {reason}")

    def __reduce__(self) -> tuple[type["SampleError"], tuple[str, int, str]]:
        return type(self), (self.where, self.index, self.reason)


class BadSamplesError(FastloadError, RuntimeError):
    """More samples are bad than `max_bad` allows."""


class OpError(FastloadError, RuntimeError):
    """A user's function in a pipeline failed on an image; loaders make a SampleError of it."""


class BackendError(FastloadError, RuntimeError):
    """A backend cannot run this plan, or what it needs is not installed."""


class DeviceError(FastloadError, RuntimeError):
    """The GPU cannot be used: no driver or an old one, a GPU too old for the kernels, a forked process, another device."""


class DeviceMemoryError(DeviceError):
    """The GPU has no memory left for a batch."""


class ConversionError(FastloadError, RuntimeError):
    """A conversion cannot start or go on; nothing stands under the final name."""


class UsageError(FastloadError, ValueError):
    """An argument of a fastload function or command makes no sense."""
