"""A few hundred damaged JPEGs: the same good and bad ones, and the same pixels, from every source;
verdict_release has all of it.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.hostile.damage import KINDS
from tests.hostile.verdict import BAD, differences
from tests.hostile.verdict_release import drawn, images

FILES = 4 * len(KINDS)


@pytest.fixture(scope="module")
def files() -> tuple[list[str], list[bytes]]:
    return drawn(images(None), range(FILES), seed=1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # of EXIF, by every backend
def test_every_source_gives_pillows_verdict_and_pixels(
    files: tuple[list[str], list[bytes]], tmp_path: Path
) -> None:
    cells, found = differences(files[1], tmp_path, ["native", "torch"])
    assert [(one, files[0][one.number]) for one in found] == []
    assert len(cells) == 1 + 4 * (6 + 3)
    assert FILES / 5 < cells[BAD] < FILES / 2


def test_every_kind_of_damage_is_drawn(files: tuple[list[str], list[bytes]]) -> None:
    assert Counter(kind.partition(",")[0] for kind in files[0]) == {
        kind.__name__: 4 for kind in KINDS
    }
    assert len(set(files[1])) > 0.95 * FILES
