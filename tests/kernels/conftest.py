"""The batch that many tests run."""

import pytest

from .helpers import encoded, files, jpeg, scene


@pytest.fixture
def batch(tmp_path):
    """Twelve samples; number 3 is a BMP, number 7 has a broken stream."""
    payloads = [jpeg(scene(40 + 7 * n, 90 - 5 * n, n)) for n in range(12)]
    payloads[3] = encoded(scene(50, 60), "BMP")
    payloads[7] = payloads[7][: len(payloads[7]) // 2] + b"\xff\xd9"  # ends too early, and says so
    return files(tmp_path, payloads)
