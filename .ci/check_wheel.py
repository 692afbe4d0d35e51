"""Is a wheel fit to be given away? Exits with what is wrong, one line each.

python .ci/check_wheel.py WHEEL     needs auditwheel and pyelftools
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

MOST_BYTES = 12_000_000
# Every Linux has these: they are glibc's own.
LIBRARIES = re.compile(r"(libc|libm|libpthread|libdl|librt)\.so\.\d+|ld-linux.*")
NOTICES = ("LICENSE", "highway", "libdeflate", "libjpeg-turbo", "libwebp", "xxhash", "nanobind")


def undefined(elf: ELFFile) -> list[str]:
    """Symbols that neither Python nor a library of LIBRARIES has: those of glibc have versions."""
    versions = elf.get_section_by_name(".gnu.version")
    return [
        symbol.name
        for number, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols())
        if symbol["st_shndx"] == "SHN_UNDEF"
        and symbol["st_info"]["bind"] == "STB_GLOBAL"
        and not symbol.name.startswith(("Py", "_Py"))
        and versions.get_symbol(number)["ndx"] in {"VER_NDX_LOCAL", "VER_NDX_GLOBAL"}
    ]


def module_problems(name: str, data: bytes) -> list[str]:
    """Libraries, symbols and paths of the extension module."""
    elf = ELFFile(io.BytesIO(data))
    entries = list(elf.get_section_by_name(".dynamic").iter_tags())
    needed = [tag.needed for tag in entries if tag.entry.d_tag == "DT_NEEDED"]
    problems = [f"{name}: needs {it}" for it in needed if not LIBRARIES.fullmatch(it)]
    problems += [
        f"{name}: has {tag.entry.d_tag}"
        for tag in entries
        if tag.entry.d_tag in {"DT_RPATH", "DT_RUNPATH", "DT_TEXTREL"}
    ]
    exported = {
        symbol.name
        for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"
    }
    problems += [f"{name}: nobody defines {it}" for it in undefined(elf)]
    extra = sorted(exported - {"PyInit__native"})
    if extra or not exported:
        problems.append(
            f"{name}: exports {len(exported)} symbols (got {extra[:3]}, want PyInit__native)"
        )
    if elf.get_section_by_name(".debug_info"):
        problems.append(f"{name}: has debug information")
    return problems


def content_problems(wheel: zipfile.ZipFile) -> list[str]:
    names = wheel.namelist()
    modules = [name for name in names if name.endswith(".so")]
    problems = [] if len(modules) == 1 else [f"modules (got {modules}, want fastload/_native)"]
    for name in modules:
        problems += module_problems(name, wheel.read(name))
    notices = [name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name]
    problems += [
        f"no notice of {it}" for it in NOTICES if not any(n.startswith(it) for n in notices)
    ]
    boms = [name for name in names if name.endswith(".cdx.json") and "/sboms/" in name]
    if len(boms) != 1:
        return [*problems, f"software bills of materials (got {boms}, want one)"]
    parts = {part["name"] for part in json.loads(wheel.read(boms[0]))["components"]}
    missing = {"libjpeg-turbo", "libdeflate", "libwebp", "highway", "xxhash", "nanobind"} - parts
    if "cuda-runtime" in parts and not any(n.startswith("cuda-runtime") for n in notices):
        problems.append("no notice of cuda-runtime")
    return problems + [f"{boms[0]}: no component {name}" for name in sorted(missing)]


def platform_problems(path: Path) -> list[str]:
    """Does auditwheel find the platform of the file's name, or an older one?"""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    text = " ".join(shown.stdout.split())
    found = re.search(r'following platform tag: "manylinux_2_(\d+)_(\w+)"', text)
    named = re.search(r"manylinux_2_(\d+)_(\w+)$", path.stem)
    if found is None or named is None:
        return [f"auditwheel: {text or shown.stderr.strip()}"]
    print(f"{path.name}: auditwheel: {found[0]}")
    if found[2] != named[2] or int(found[1]) > int(named[1]):
        return [f"auditwheel: platform (got {found[0]}, want {named[0]} or older)"]
    return []


def main(name: str) -> None:
    path = Path(name)
    size = path.stat().st_size
    problems = platform_problems(path)
    if size > MOST_BYTES:
        problems.append(f"size (got {size} bytes, want at most {MOST_BYTES})")
    with zipfile.ZipFile(path) as wheel:
        problems += content_problems(wheel)
    print(f"{path.name}: {size / 1e6:.1f} MB, {len(problems)} problems")
    if problems:
        raise SystemExit("\n".join(f"{path.name}: {it}" for it in problems))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
