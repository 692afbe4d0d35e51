"""Whether a GPU can be used here, and what is said where it cannot: one line, before a kernel
fails.

Nothing here creates a CUDA context before `opened` is called.
"""

import re

import torch

from fastload import _native
from fastload.errors import DeviceError, DeviceMemoryError, UsageError

WANT = "None, 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …"
OUT = "or leave device out"
NO_KERNELS = "fastload was built without CUDA kernels; build it where nvcc is"


def parsed(device: object) -> str | None:
    """A user's `device` as text. Raises UsageError for what is none."""
    checked = str(device) if isinstance(device, torch.device) else device
    if checked is None or (
        isinstance(checked, str) and re.fullmatch(r"cpu|cuda(:\d{1,3})?", checked)
    ):
        return checked
    raise UsageError(f"DataLoader: device is {device!r}, want {WANT}")


def kind(device: str | None) -> str:
    """ "cpu" or "cuda", as backends know it."""
    return (device or "cpu").partition(":")[0]


def check(device: str | None, *, kernels: bool = True) -> None:
    """Raise DeviceError for a GPU that is not there. kernels: fastload's own are needed."""
    if kind(device) == "cpu":
        return
    check_process(device)
    if not torch.cuda.is_available():
        raise DeviceError(f"DataLoader: device={device!r}, but {why_none()}, {OUT}")
    count, index = torch.cuda.device_count(), (device or "").partition(":")[2]
    if index and int(index) >= count:
        last = f"'cuda:0' to 'cuda:{count - 1}'" if count > 1 else "'cuda:0'"
        raise DeviceError(
            f"DataLoader: device={device!r}, but torch sees {count} GPU{'s' * (count != 1)} (want "
            f"{last}); choose one, {OUT}"
        )
    if kernels and not _native.cuda_built:
        raise DeviceError(f"DataLoader: device={device!r}, but {NO_KERNELS}, {OUT}")


def check_process(device: str | None) -> None:
    """Raise DeviceError in a process that was forked from one that uses CUDA, which CUDA does not
    survive.
    """
    if kind(device) == "cuda" and torch.cuda._is_in_bad_fork():
        raise DeviceError(
            f"DataLoader: device={device!r}, but this process was forked after its parent had "
            "begun to use CUDA; "
            "start it with multiprocessing.get_context('spawn'), or leave device out"
        )


def why_none() -> str:
    """Why torch has no GPU, and what to do."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA; install a build with it"
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        text = str(error)
        if old := re.search(r"driver on your system is too old \(found version (\d+)\)", text):
            got = f"CUDA {int(old[1]) // 1000}.{int(old[1]) % 1000 // 10}"
            return (
                f"the NVIDIA driver is too old (got one for {got}, want {torch.version.cuda} "
                "for this torch); update the driver"
            )
        if "Found no NVIDIA driver" in text:
            return "there is no NVIDIA driver; install one"
    return "torch sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES"


def opened(device: str) -> torch.device:
    """The GPU that batches of this process go to, with its number; "cuda" is the current one.

    Raises DeviceError.
    """
    check(device)
    checked = torch.device(device)
    index = torch.cuda.current_device() if checked.index is None else checked.index
    capability = torch.cuda.get_device_capability(index)
    if not runs_on(capability, _native.cuda_architectures):
        got = ".".join(map(str, capability))
        built = ", ".join(f"{a // 10}.{a % 10}" for a in _native.cuda_architectures)
        build = f"build with -DCMAKE_CUDA_ARCHITECTURES={got.replace('.', '')}"
        raise DeviceError(
            f"DataLoader: GPU {index} ({torch.cuda.get_device_name(index)}) cannot run fastload's "
            "kernels "
            f"(got compute capability {got}, want one of {built} or newer); {build}, {OUT}"
        )
    return torch.device("cuda", index)


def runs_on(capability: tuple[int, int], architectures: tuple[int, ...]) -> bool:
    """Whether kernels built for these (80 is 8.0), and for the newest as PTX, run on a GPU of this
    compute capability.

    Machine code runs on the same major number, from its own minor number on (CUDA's guide, "Binary
    Compatibility").
    """
    own = 10 * capability[0] + capability[1]
    return (
        any(built // 10 == capability[0] and built <= own for built in architectures)
        or max(architectures, default=own + 1) <= own
    )


def same(here: torch.device, asked: str) -> None:
    """Raise DeviceError where a loader for "cuda", the current GPU, is on `here` and the caller has
    gone to another one since.
    """
    if asked == "cuda" and (now := torch.cuda.current_device()) != here.index:
        raise DeviceError(
            f"DataLoader: batches go to {here}, but the current device is cuda:{now} (want the "
            "same); "
            "call torch.cuda.set_device before the first iter(), or make the loader with "
            f"device='cuda:{now}'"
        )


def no_memory(
    device: torch.device, wanted: dict[str, int], free: int, total: int
) -> DeviceMemoryError:
    """What is raised where a batch does not fit.

    wanted: bytes, by what they are for; free, total: of the GPU, bytes.
    """
    parts = ", ".join(f"{what} {_mebibytes(count)}" for what, count in wanted.items())
    return DeviceMemoryError(
        f"DataLoader: no memory left on {device} for a batch (got {_mebibytes(free)} free of "
        f"{_mebibytes(total)}, want "
        f"{_mebibytes(sum(wanted.values()))}: {parts}); lower batch_size, keep fewer batches, or "
        "use decode='cpu' and augment='cpu'"
    )


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"
