"""What of a release a machine can check: one line each, "ok" or "NO" and why. Exits with 1 if one
is missing. docs/releasing.md has the rest.

python .ci/check_release.py OUT [--quick]     from the checkout's root; .ci/release calls it

OUT: the folder that .ci/wheels has filled. --quick: the source distribution is not built.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

TAGS = ("cp310-cp310", "cp311-cp311", "cp312-abi3", "cp313-cp313t")
MACHINES = ("x86_64", "aarch64")
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def said(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    return (done.stdout + done.stderr).strip() if done.returncode else done.stdout.rstrip()


def version(tree: Path) -> str:
    found = VERSION.findall((tree / "fastload" / "__init__.py").read_text())
    return found[0] if len(found) == 1 else ""


def version_stands_once(tree: Path) -> str:
    """Why not; empty if it does."""
    if not version(tree):
        return "fastload/__init__.py: no version (want one line __version__ = …)"
    if re.search(r"^version *=", (tree / "pyproject.toml").read_text(), re.MULTILINE):
        return "pyproject.toml has a version of its own"
    if re.search(r"^version *:", (tree / "CITATION.cff").read_text(), re.MULTILINE):
        return "CITATION.cff has a version of its own"
    return ""


def changelog_has_it(tree: Path) -> str:
    """Its first section is this version's, has a date, and says something."""
    sections = re.split(r"^## ", (tree / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    title, _, text = (sections or [""])[0].partition("\n")
    want = f"{version(tree)} (YEAR-MONTH-DAY)"
    if not re.fullmatch(re.escape(version(tree)) + r" \(\d{4}-\d\d-\d\d\)", title.strip()):
        return f"CHANGELOG.md: first section (got {title.strip()!r}, want {want!r})"
    return "" if text.strip() else f"CHANGELOG.md: nothing under {title.strip()!r}"


def tree_is_clean(tree: Path) -> str:
    changed = said("git", "status", "--porcelain", cwd=tree).splitlines()
    return f"git: {len(changed)} files, such as {changed[0][3:]}" if changed else ""


def tag_is_free(tree: Path) -> str:
    tag = f"v{version(tree)}"
    there = said("git", "tag", "--list", tag, cwd=tree)
    head, of = (
        said("git", "rev-parse", "HEAD", cwd=tree),
        said("git", "rev-list", "-n1", tag, cwd=tree),
    )
    return f"git: {tag} is another commit" if there and head != of else ""


def wheels_are_there(out: Path, number: str) -> str:
    missing = [
        f"{tag}-{machine}"
        for tag in TAGS
        for machine in MACHINES
        if len(list(out.glob(f"fastload_torch-{number}-{tag}-manylinux_*_{machine}.whl"))) != 1
    ]
    return f"{out}: no wheel (or several) of {number} for {', '.join(missing)}" if missing else ""


def wheels_are_fit(out: Path, number: str) -> str:
    check = Path(__file__).with_name("check_wheel.py")
    for wheel in sorted(out.glob(f"fastload_torch-{number}-*.whl")):
        done = subprocess.run(
            [sys.executable, str(check), str(wheel)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return done.stderr.strip().partition("\n")[0]
    return ""


def source_is_the_trees(tree: Path, out: Path, number: str) -> str:
    """Each file of the source distribution is the checkout's; the module's sources are all in."""
    path = out / f"fastload_torch-{number}.tar.gz"
    if not path.is_file():
        return f"{path}: not there"
    with tarfile.open(path) as packed:
        for member in packed.getmembers():
            name = member.name.partition("/")[2]
            if not member.isfile() or name == "PKG-INFO":
                continue
            file = packed.extractfile(member)
            if file is None or not (tree / name).is_file():
                return f"{path.name}: {name} is not in the checkout"
            if (tree / name).read_bytes() != file.read():
                return f"{path.name}: {name} is not the checkout's"
    return ""


def source_builds_alone(out: Path, number: str) -> str:
    """With a compiler, and libraries of its own only."""
    path = out / f"fastload_torch-{number}.tar.gz"
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        command = [
            str(venv / "bin" / "pip"), "install", "-q", "--no-deps", str(path),
            "-C", "cmake.define.FASTLOAD_BUNDLED=ON", "-C", "cmake.define.FASTLOAD_CUDA=OFF",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{path.name}: does not build: {done.stderr.strip()[-300:]}"
        module = next(venv.glob("lib/python*/site-packages/fastload/_native*.so"), None)
        needed = said("ldd", str(module)) if module else ""
        return "" if module and "libjpeg" not in needed else f"{path.name}: no module of its own"


def checks(tree: Path, out: Path, *, quick: bool) -> Iterator[tuple[str, Callable[[], str]]]:
    number = version(tree)
    yield "the version stands in one place", lambda: version_stands_once(tree)
    yield "the changelog has it, with its date", lambda: changelog_has_it(tree)
    yield "the checkout is clean", lambda: tree_is_clean(tree)
    yield "its tag is free, or is this commit", lambda: tag_is_free(tree)
    yield "every wheel is there", lambda: wheels_are_there(out, number)
    yield "every wheel is fit to be given away", lambda: wheels_are_fit(out, number)
    yield (
        "the source distribution is the checkout's",
        lambda: source_is_the_trees(tree, out, number),
    )
    if not quick:
        yield "it builds with a compiler alone", lambda: source_builds_alone(out, number)


def main(arguments: list[str]) -> None:
    tree, out = Path.cwd(), Path(arguments[0])
    missing = 0
    for what, check in checks(tree, out, quick="--quick" in arguments):
        why = check()
        print(f"NO  {what}: {why}" if why else f"ok  {what}", flush=True)
        missing += bool(why)
    if missing:
        raise SystemExit(f"{missing} missing; docs/releasing.md says what to do")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    os.environ["LC_ALL"] = "C"
    main(sys.argv[1:])
