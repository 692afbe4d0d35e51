"""What this process may use of the machine: cores and memory, as affinity and control groups
(containers) allow.
"""

import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CGROUPS, MEMBERSHIP = "/sys/fs/cgroup", "/proc/self/cgroup"
CPUS = "/sys/devices/system/cpu"

FFCV = "1.0.2"  # the version that the backend knows
# FFCV is built where it is installed, with what Debian has of its libraries.
INSTALL_FFCV = (
    "apt-get install pkg-config libopencv-dev libturbojpeg0-dev && pip install wheel numba && "
    f"pip install --no-build-isolation ffcv=={FFCV}"
)
# DALI decodes by nvImageCodec. In 0.9 a part of a JPEG, on the GPU, is reported to be an error or a
# crash (its issue 55); 0.8 is fine.
CODECS, BROKEN_CODEC = ("nvidia-nvimgcodec-cu13", "nvidia-nvimgcodec-cu12"), "0.9."
WHOLE_CODEC = "pip install 'nvidia-dali-cuda130==2.2.*'"  # the last DALI with 0.8


def cpu_model(path: str = "/proc/cpuinfo") -> str:
    """x86 names its model; Arm gives numbers only, so there the architecture stands in."""
    match = re.search(r"^model name\s*:\s*(.+)$", _read(path) or "", re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def usable_cores() -> int:
    """Cores that this process may really use: affinity, and the container's quota rounded up."""
    allowed, quota = len(affinity()), cpu_quota()
    return allowed if quota is None else max(1, min(allowed, -int(-quota // 1)))


def physical_cores(threads: set[int] | None = None, root: str = CPUS) -> int:
    """Cores whose hardware threads those are: this process's, where None is given. As many as
    there are threads where the kernel does not tell, as in many virtual machines.
    """
    mine = affinity() if threads is None else threads
    cores = {
        _read(f"{root}/cpu{thread}/topology/thread_siblings_list") or str(thread) for thread in mine
    }
    return max(1, len(cores))


def open_files() -> int:
    """How many files this process may have open; as many as Windows allows where nobody says."""
    try:
        import resource
    except ImportError:
        return 512
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if most == resource.RLIM_INFINITY else most


def affinity() -> set[int]:
    """Cores that this process may run on; all of them where nobody can say."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def cpu_quota(root: str = CGROUPS, membership: str = MEMBERSHIP) -> float | None:
    """Cores per second that the control groups allow (v2 and v1), the least on the way up; None
    where nothing limits.
    """
    quotas = []
    for group in _groups(root, membership, "cpu"):
        quota, _, period = (_read(group / "cpu.max") or "").partition(" ")
        if not period:
            quota = _read(group / "cpu.cfs_quota_us") or ""
            period = _read(group / "cpu.cfs_period_us") or ""
        if quota.strip().isdigit() and period.strip().isdigit():  # "max" and -1 mean no limit
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def memory_limit(root: str = CGROUPS, membership: str = MEMBERSHIP) -> int | None:
    """Bytes that the control groups allow, the least on the way up; None where nothing limits."""
    names = ("memory.max", "memory.limit_in_bytes")
    texts = [
        _read(group / name) or "" for group in _groups(root, membership, "memory") for name in names
    ]
    limits = [int(text) for text in texts if text.strip().isdigit()]
    # Version 1 of cgroups writes 2^63 for "no limit".
    return min((limit for limit in limits if limit < 1 << 60), default=None)


def memory_groups(root: str = CGROUPS, membership: str = MEMBERSHIP) -> list[str]:
    """Folders of the control groups that may limit this process's memory."""
    return [str(group) for group in _groups(root, membership, "memory")]


def memory_total() -> int:
    """Bytes; what a small machine has where nobody can say."""
    if not hasattr(os, "sysconf"):
        return 4 << 30
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _groups(root: str, membership: str, controller: str) -> Iterator[Path]:
    """Folders of this process's groups that may limit `controller`, upwards to the root; inside a
    container the path may not exist.
    """
    for line in (_read(membership) or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base = Path(root)
        elif controller in controllers.split(","):
            base = Path(root, controllers if Path(root, controllers).is_dir() else controller)
        else:
            continue
        group = base / path.lstrip("/")
        yield from (
            folder
            for folder in (group, *group.parents)
            if folder.is_relative_to(base) and folder.is_dir()
        )


def _read(path: str | Path) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
