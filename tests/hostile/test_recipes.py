"""Recipe files made to hurt: one typed line, in no time."""

from pathlib import Path

import pytest

from fastload import recipes
from fastload.errors import PipelineError, UsageError

LISTS = "is not TOML (maximum recursion depth exceeded"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a = " + b"[\n" * 20_000, LISTS),
        (
            b"a" + b".a" * 3000 + b" = 1",
            "is too long for a recipe (a line has 6005 bytes, want up to 4096); shorten it",
        ),
        (b"# a line\n" * 8000, "is too long for a recipe (want up to 65536 bytes); shorten it"),
        (
            b"\xff\xfe = 1",
            (
                "is not TOML ('utf-8' codec can't decode byte 0xff in position 0: invalid start "
                "byte); correct it"
            ),
        ),
        (
            b"a = 2021-02-30",
            "is not TOML (Invalid date or datetime (at line 1, column 5)); correct it",
        ),
    ],
    ids=[
        "lists in lists",
        "a key of thousands of parts",
        "a long file",
        "not UTF-8",
        "a day that is none",
    ],
)
def test_a_file_that_is_no_recipe(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(text)
    with pytest.raises(UsageError) as refused:
        recipes.load(path)
    assert str(refused.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(refused.value)


def test_names_with_line_ends_do_not_break_the_list_of_problems(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('"a\\nb" = 1\n')
    with pytest.raises(PipelineError) as refused:
        recipes.load(path)
    assert all(
        line.startswith((f"{path}: ", f"{path}, ")) for line in str(refused.value).splitlines()
    )
