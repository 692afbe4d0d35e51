"""The types of names from outside: whatever they take stays below a folder, and whatever stays
there in a plain way they take.
"""

import os
import random
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastload.conversion.keys import tidy_key, unique_keys
from fastload.conversion.readers import Extra
from fastload.errors import SourceError
from fastload.files import names
from fastload.files.names import Inner, NameRefusedError, Suffix
from fastload.sources.extras import Placed

PIECES = (
    "..",
    ".",
    "/",
    "a",
    "\n",
    "\0",
    "\u2215",
    "_",
    "\udcff",
    "\x7f",
    "é",
    "CON",
    " ",
    "y" * 200,
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=9).map("".join)


@given(TEXTS)
def test_what_is_taken_stays_below_its_folder(text: str) -> None:
    try:
        taken = Inner(text)
    except NameRefusedError:
        return
    assert taken == text
    assert os.path.normpath(os.path.join("/top/folder", taken)) == f"/top/folder/{taken}"
    assert os.fsencode(taken).split(b"/") == [os.fsencode(part) for part in taken.split("/")]
    assert not any(byte < 32 for byte in os.fsencode(taken))


@given(TEXTS)
def test_a_suffix_is_one_part(text: str) -> None:
    try:
        taken = Suffix(text)
    except NameRefusedError:
        return
    assert Inner(f"a/k.{taken}").rpartition("/")[0] == "a"


@given(TEXTS)
def test_any_name_of_a_file_becomes_a_good_key(text: str) -> None:
    key = tidy_key(text)
    assert names.key_problem(key) in ("", names.whole_problem(key))
    names.check_keys("here", [key, "a"])
    assert unique_keys([text, text])[0] != unique_keys([text, text])[1]


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_any_columns_become_different_suffixes(texts: list[str]) -> None:
    found = names.unique_suffixes(texts)
    assert sorted(found.values()) == sorted(set(texts))
    for name in found:
        Extra(f"{name}.webp", b"")


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_one_search_over_all_keys_finds_what_each_alone_shows(keys: list[str]) -> None:
    wrong = [key for key in keys if names.key_problem(key)]
    if not any(names.key_problem(key) != "is no text (half a surrogate pair)" for key in wrong):
        wrong = []  # no reader gives such keys
    text = refusal(keys)
    assert bool(text) == bool(wrong) or not wrong
    if wrong:
        assert text.startswith(
            f"here, sample {next(n for n, key in enumerate(keys) if names.key_problem(key))}: key "
        )
        assert len(text.splitlines()) == 1


def refusal(keys: list[str]) -> str:
    try:
        names.check_keys("here", keys)
    except SourceError as error:
        return str(error)
    return ""


def test_ordinary_names_go_on_working() -> None:
    """What people's files are called; a system makes each of them."""
    odd = [
        "...",
        "..a",
        "a..b",
        ".hidden",
        "a b",
        "é",
        "日本",
        "CON",
        "x:y",
        "a\\b",
        "\u2215",
        os.fsdecode(b"\xff\xfe"),
        "y" * 255,
    ]
    with tempfile.TemporaryDirectory() as folder:
        for text in odd:
            os.makedirs(os.path.join(folder, Inner(f"{text}/{text}")))
        assert sorted(os.listdir(folder)) == sorted(odd)
    assert Suffix("mask.png") == "mask.png"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "name '' is empty; rename it"),
        ("/etc/passwd", "name '/etc/passwd' has an absolute path; rename it"),
        ("a/../b", "name 'a/../b' has a path with '..'; rename it"),
        ("a//b", "name 'a//b' has an empty part or '.'; rename it"),
        ("a/./b", "name 'a/./b' has an empty part or '.'; rename it"),
        ("a/", "name 'a/' has an empty part or '.'; rename it"),
        ("a\0b", "name 'a\\x00b' has a control character; rename it"),
        ("a\nb", "name 'a\\nb' has a control character; rename it"),
        (
            "é" * 128,
            (
                f"name {'é' * 60 + '…'!r} is too long (a part has 256 bytes, want at most 255); "
                "rename it"
            ),
        ),
        (
            "a/" * 2000 + "b",
            (
                f"name {'a/' * 30 + '…'!r} is too long (got 4001 bytes, want at most 4000); "
                "rename it"
            ),
        ),
        ("\ud800", "name '\\ud800' is no text (half a surrogate pair); rename it"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(NameRefusedError) as refused:
        Inner(text)
    assert str(refused.value) == why


@pytest.mark.parametrize("text", ["m./../../x", "/x", "a/b", "", "a\nb", "y" * 129])
def test_a_file_beside_an_image_has_no_such_name_wherever_it_comes_from(text: str) -> None:
    for made in (lambda: Extra(text, b""), lambda: Placed(text, 0, 0, 0)):
        with pytest.raises(NameRefusedError):
            made()


def test_many_random_names_against_the_systems_own_resolution() -> None:
    """A path that is taken is made below a real folder: the system agrees where it lies."""
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        top = os.path.realpath(folder)
        for _ in range(3000):
            text = "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 6)))
            if not names.problem(text):
                assert os.path.realpath(os.path.join(top, text)).startswith(f"{top}/")
