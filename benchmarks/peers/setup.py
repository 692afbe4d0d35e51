"""A virtual environment for each peer that needs packages of its own.

Each sees the main environment's packages after its own, by a .pth file, so that PyTorch is there
once; pip takes what is there as installed. uv looks only into the environment itself and would
install PyTorch again, so it is not used.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.peers.catalogue import Peer

LIMIT = 900  # s for one command: pip downloads and compiles
Say = Callable[[str], None]


def python_of(peer: Peer, folder: Path) -> str:
    """The interpreter that runs a peer: its environment's where there is one, or else this one."""
    own = folder / peer.name / "bin" / "python"
    return str(own) if peer.packages and own.exists() else sys.executable


def set_up(peers: Sequence[Peer], folder: Path, say: Say) -> dict[str, str]:
    """Make what is missing under `folder`; why it failed, by peer.

    An environment has its name only when it is whole.
    """
    failed = {}
    for peer in peers:
        target = folder / peer.name
        if not peer.packages or target.exists():
            continue
        say(f"{peer.title}: {' '.join(peer.packages)}")
        if why := _make(peer, target):
            shutil.rmtree(target, ignore_errors=True)
            failed[peer.name] = why + _missing(peer)
            say(f"{peer.title}: {failed[peer.name]}")
    return failed


def _make(peer: Peer, target: Path) -> str:
    """Why it failed; empty if it did not.

    Programs of an environment hold its path, so it is made in place.
    """
    linked = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    if why := _run([sys.executable, "-m", "venv", "--without-pip", str(target)]):
        return why
    python = str(target / "bin" / "python")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (target / "lib" / version / "site-packages" / "main.pth").write_text(linked)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if (why := _run([python, "-m", "pip", "--version"])) and (
        why := _run([python, "-m", "ensurepip"])
    ):
        return why
    if peer.first and (why := _run([*pip, *peer.first])):
        return why
    isolated = ["--no-build-isolation"] if peer.first else []
    return _run([*pip, *isolated, *peer.packages], {**os.environ, **peer.variables})


def _run(command: Sequence[str], variables: dict[str, str] | None = None) -> str:
    """The last line that a command which failed has said; empty if it did not fail."""
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    errors = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line] or [
        f"{command[0]} ended with {done.returncode}"
    ]
    return errors[0].strip() if done.returncode else ""


def _missing(peer: Peer) -> str:
    """The Debian packages that may be missing, as the end of a message."""
    return f"; Debian: apt-get install {' '.join(peer.debian)}" if peer.debian else ""
