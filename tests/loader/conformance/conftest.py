"""The parameter of the suite."""

import pytest

from .kinds import CLASSES, KINDS


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__module__.split(".")[0])
def cls(request):
    """For what does not depend on the data set."""
    return request.param
