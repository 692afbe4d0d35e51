"""The parameter of the suite."""

import pytest

from .kinds import CLASSES, KINDS, LOWERED


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request):
    if request.param.name == "native" and not LOWERED:
        pytest.skip("needs torchvision's ImageFolder")
    return request.param


@pytest.fixture(params=KINDS[1:], ids=lambda kind: kind.name)
def ours(request):
    """What is compared with PyTorch's own loader, and so not that one itself."""
    if request.param.name == "native" and not LOWERED:
        pytest.skip("needs torchvision's ImageFolder")
    return request.param


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__module__.split(".")[0])
def cls(request):
    """For what does not depend on the data set."""
    return request.param
