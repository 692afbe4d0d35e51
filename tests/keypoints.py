"""Whether torchvision knows keypoints."""

import pytest
from torchvision import tv_tensors

KNOWN = hasattr(tv_tensors, "KeyPoints")
needed = pytest.mark.skipif(
    not KNOWN, reason="torchvision is older than 0.23, which has no keypoints"
)
