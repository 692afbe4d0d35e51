"""Do the wheels of one machine have the same kernels? Compares the object code of what knows no
Python, and exits with what differs.

python .ci/check_objects.py BUILD BUILD ...     CMake's folders, as .ci/wheels leaves them

Compared are all bytes that a process gets, and where which names are put into them. Names of source
files, which assemblers note, are left out. Needs pyelftools.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

OWN = ("_native", "nanobind")  # what these targets compile has Python's headers
LEAST = 100  # objects; fewer are not all of them


def objects(build: Path) -> dict[str, Path]:
    """Object files by their place below the folder."""
    return {
        str(path.relative_to(build)): path
        for path in sorted(build.rglob("*.o"))
        if not any(part.startswith(OWN) and part.endswith(".dir") for part in path.parts)
    }


def same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes() or digest(one) == digest(other)


def digest(path: Path) -> str:
    from elftools.elf.constants import SH_FLAGS
    from elftools.elf.elffile import ELFFile
    from elftools.elf.relocation import RelocationSection

    hashed = hashlib.sha256()
    with path.open("rb") as file:
        elf = ELFFile(file)
        for section in elf.iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                hashed.update(f"{section.name} {section['sh_size']}\n".encode() + section.data())
            elif isinstance(section, RelocationSection):
                hashed.update(f"{section.name} {relocations(elf, section)}\n".encode())
    return hashed.hexdigest()


def relocations(elf: Any, section: Any) -> list[tuple[int, int, int, str]]:
    """Place, type, addend and name of each; the name of a section is its symbol's."""
    symbols = elf.get_section(section["sh_link"])
    out = []
    for one in section.iter_relocations():
        symbol = symbols.get_symbol(one["r_info_sym"])
        name = symbol.name or str(symbol["st_shndx"])
        out.append((one["r_offset"], one["r_info_type"], one["r_addend"], name))
    return out


def problems(builds: dict[str, dict[str, Path]]) -> list[str]:
    """What the first build has and another has not, or has otherwise, and the other way round."""
    first, *others = builds
    own, out = builds[first], []
    if len(own) < LEAST:
        out.append(f"{first}: objects (got {len(own)}, want at least {LEAST})")
    for other in others:
        found = builds[other]
        differ = sorted(own.keys() ^ found.keys())
        differ += [name for name in own.keys() & found.keys() if not same(own[name], found[name])]
        if differ:
            out.append(f"{other}: {len(differ)} objects are not {first}'s, such as {differ[0]}")
    return out


def main(folders: list[str]) -> None:
    builds = {folder: objects(Path(folder)) for folder in folders}
    if wrong := problems(builds):
        raise SystemExit("\n".join(wrong))
    names = ", ".join(Path(folder).name for folder in folders)
    print(f"{names}: the same {len(builds[folders[0]])} objects of kernels, engine and libraries")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
