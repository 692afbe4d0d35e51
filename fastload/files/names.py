"""Names that come from outside: of files in archives, columns, indexes, journals. None leads out of
its folder.

The types are texts that were checked when they were made, so a function that takes one need not
check again, and mypy refuses others.
Bytes that are no UTF-8 are surrogates, as everywhere in Python: a byte above 127 is never a
separator. Names of Windows' devices, other cases of the same letters and characters that look like
`/` are ordinary: where two names are one file, making the second one fails.
"""

import os
import re
from collections.abc import Sequence

from fastload.errors import SourceError

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# How Python shows bytes of a file name that are not UTF-8
SURROGATE = re.compile(r"[\ud800-\udfff]")
# WebDataset's names for what would have to be run
PICKLED = (".pkl", ".pickle", ".pyd", ".pth", ".pt", ".npy_pickle")
LONGEST_PART = 255  # bytes of a file's name, as Linux allows
LONGEST = 4000  # bytes of a path; Linux takes 4,095 in one call
LONGEST_SUFFIX = 128  # bytes; a name of a sample, cut to 255 bytes, has room for it
SHOWN = 60  # characters of a name in a message
# One search over many keys: a part that is empty, `.` or `..`, or a control character other than
# the line end between two keys.
UNSAFE_LINES = re.compile(r"(?m)(?:^|/)\.{0,2}(?:/|$)|[\x00-\x09\x0b-\x1f\x7f]")


class NameRefusedError(SourceError):
    """A name from outside that may not become a file's."""


class Inner(str):
    """A path below a folder: parts that are no `.`, `..` or empty, without control characters.

    Raises NameRefusedError.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> "Inner":  # noqa: PYI034 - Self needs Python 3.11
        return super().__new__(cls, _checked(text, problem(text)))


class Suffix(str):
    """What follows a sample's key and a dot: `mask.png`, `json`. Raises NameRefusedError."""

    __slots__ = ()

    def __new__(cls, text: str) -> "Suffix":  # noqa: PYI034 - Self needs Python 3.11
        return super().__new__(cls, _checked(text, suffix_problem(text)))


def problem(text: str) -> str:
    """Why this is no path below a folder, or nothing."""
    if wrong := whole_problem(text) or outside(text):
        return wrong
    parts = text.split("/")
    if "." in parts or "" in parts:
        return "has an empty part or '.'"
    longest = max(len(os.fsencode(part)) for part in parts)
    return (
        f"is too long (a part has {longest} bytes, want at most {LONGEST_PART})"
        if longest > LONGEST_PART
        else ""
    )


def suffix_problem(text: str) -> str:
    """Why this cannot follow a key, or nothing."""
    if wrong := whole_problem(text):
        return wrong
    size = len(os.fsencode(text))
    if size > LONGEST_SUFFIX:
        return f"is too long (got {size} bytes, want at most {LONGEST_SUFFIX})"
    return "has a slash" if "/" in text else ""


def outside(text: str) -> str:
    """Why this path leads out of its folder, or nothing."""
    if text.startswith("/"):
        return "has an absolute path"
    return "has a path with '..'" if ".." in text.split("/") else ""


def whole_problem(text: str) -> str:
    """What is wrong with a name whatever its parts, or nothing."""
    if not isinstance(text, str) or not text:
        return "is empty"
    try:
        size = len(os.fsencode(text))
    except UnicodeEncodeError:
        return "is no text (half a surrogate pair)"
    if size > LONGEST:
        return f"is too long (got {size} bytes, want at most {LONGEST})"
    return "has a control character" if CONTROL.search(text) else ""


def key_problem(text: str) -> str:
    """Why this is no key of a sample, or nothing: a path whose parts may be longer than a file's
    name, since writers shorten them.
    """
    wrong = whole_problem(text) or outside(text)
    return wrong or ("has an empty part or '.'" if UNSAFE_LINES.search(text) else "")


def check_keys(where: str, keys: Sequence[str], first: int = 0) -> None:
    """Raise SourceError for keys that may not become names of files.

    first: the number of the first one's sample. One search over all of them: under 1 s for a
    million.
    """
    whole = "\n".join(keys)
    if (
        whole.count("\n") == len(keys) - 1
        and not UNSAFE_LINES.search(whole)
        and max(map(len, keys), default=0) <= LONGEST // 4
    ):
        return
    for number, key in enumerate(keys, first):
        if wrong := key_problem(key):
            raise SourceError(f"{where}, sample {number}: key {shown(key)} {wrong}; rename it")


def tidy_suffix(text: str) -> Suffix:
    """A suffix of any text, such as a column's name; the same text where that is one."""
    plain = CONTROL.sub("_", text).replace("/", "_")
    # Room for a number and an extension
    data = plain.encode("utf-8", "replace")[: LONGEST_SUFFIX - 16]
    return Suffix(data.decode("utf-8", "ignore") or "_")


def unique_suffixes(texts: Sequence[str]) -> dict[str, str]:
    """Each text, such as a column's name, by the suffix that it becomes; two that would be the same
    get _2, _3, …
    """
    by_suffix = dict[str, str]()
    for text in dict.fromkeys(texts):
        name = wanted = tidy_suffix(text)
        number = 1
        while name in by_suffix:
            number += 1
            name = Suffix(f"{wanted}_{number}")
        by_suffix[name] = text
    return by_suffix


def readable(name: str) -> str:
    """A file name as UTF-8 can hold it: bytes that are not UTF-8 become U+FFFD."""
    return SURROGATE.sub("\ufffd", name)


def is_apple_double(name: str) -> bool:
    """Whether it is what macOS puts into archives beside a file: its attributes, no data."""
    return name.removeprefix("./").startswith("__MACOSX/") or os.path.basename(name).startswith(
        "._"
    )


def is_pickled(name: str) -> bool:
    return name.lower().endswith(PICKLED)


def shown(text: str) -> str:
    """A name as a message shows it, on one line."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _checked(text: str, wrong: str) -> str:
    if wrong:
        raise NameRefusedError(f"name {shown(text)} {wrong}; rename it")
    return text
