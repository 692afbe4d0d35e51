"""Names of many files as one text: `train-{000000..000146}.tar`, `{train,val}-{0..9}.tar`,
`train-*.parquet`.
"""

import fnmatch
import glob
import itertools
import re
from collections.abc import Collection

from fastload.errors import SourceError
from fastload.system import limits

BRACES = re.compile(r"\{([^{}]*)\}")
RANGE = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})")


def is_pattern(text: str) -> bool:
    """Whether a text names files by braces, a range of numbers or words between commas, or by stars
    for any characters.
    """
    return "*" in text or any(
        RANGE.fullmatch(inside) or "," in inside for inside in BRACES.findall(text)
    )


def expanded(pattern: str, known: Collection[str] | None = None) -> list[str]:
    """The names, in the order in which a shell has them. With stars, those of files that are there.

    known: names that stars choose from, of one folder; None: paths of the local disk. Raises
    SourceError.
    """
    parts, total = BRACES.split(pattern), 1
    choices = list[list[str]]()
    for number, part in enumerate(parts):
        words = _words(part, limits.FILES // total + 1) if number % 2 else [part]
        choices.append(words)
        total *= len(words)
        if total > limits.FILES:
            raise SourceError(
                f"{pattern}: names more than {limits.FILES} files; give fewer, or their folder"
            )
    names = ["".join(chosen) for chosen in itertools.product(*choices)]
    return _there(pattern, names, known) if "*" in pattern else names


def _there(pattern: str, names: list[str], known: Collection[str] | None) -> list[str]:
    """Raises SourceError where there are none."""
    found = list[str]()
    for name in names:
        # A star only stands for something else than itself
        plain = re.sub(r"[\[?]", r"[\g<0>]", name)
        found += sorted(glob.iglob(plain) if known is None else fnmatch.filter(known, plain))
        if len(found) > limits.FILES:
            raise SourceError(
                f"{pattern}: names more than {limits.FILES} files; give fewer, or their folder"
            )
    if not found:
        raise SourceError(f"{pattern}: names no file that is there; check the path")
    return found


def _words(inside: str, most: int) -> list[str]:
    """What a pair of braces stands for, up to `most`."""
    if match := RANGE.fullmatch(inside):
        first, last = int(match[1]), int(match[2])
        padded = any(len(each) > 1 and each.startswith("0") for each in match.groups())
        width = max(map(len, match.groups())) if padded else 0
        step = 1 if first <= last else -1
        numbers = itertools.islice(range(first, last + step, step), most)
        return [f"{number:0{width}}" if width else str(number) for number in numbers]
    return inside.split(",") if "," in inside else [f"{{{inside}}}"]
