"""Each bomb is refused with its text, or left aside, before it takes memory: measured in a child
with a limit, so that it kills no test.
"""

from pathlib import Path

import pytest

from tests.hostile import bombs
from tests.hostile.bomb_table import BOMBS


@pytest.mark.parametrize("name", BOMBS)
def test_bomb(tmp_path: Path, name: str) -> None:
    said, peak = bombs.outcome(BOMBS[name], tmp_path)
    assert said.replace(str(tmp_path), "{folder}") == BOMBS[name].said
    assert peak <= BOMBS[name].most, f"took {peak} MiB, want at most {BOMBS[name].most}"
