"""Tests marked `cuda` need a GPU and our kernels.

FASTLOAD_REQUIRE=cuda turns their skip into a failure: a GPU job cannot pass empty.
"""

import os

import pytest
import torch

from fastload import _native


def missing() -> str | None:
    if not torch.cuda.is_available():
        return "needs a CUDA GPU"
    return None if _native.cuda_built else "needs a build with CUDA kernels"


def pytest_runtest_setup(item: pytest.Item) -> None:
    reason = missing() if item.get_closest_marker("cuda") else None
    if reason is None:
        return
    if "cuda" in os.environ.get("FASTLOAD_REQUIRE", "").split(","):
        pytest.fail(f"FASTLOAD_REQUIRE=cuda, but this test {reason}", pytrace=False)
    pytest.skip(reason)
