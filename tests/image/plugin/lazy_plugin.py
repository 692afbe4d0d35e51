"""A plugin of pytest for suites of other projects: images are lazy in the whole process, as
fastload's workers have them, and what became of each test is written down.

    python -m pytest -p lazy_plugin --lazy-images=on --lazy-report=FILE …

It is imported by this name, from this folder: a suite may have a package `tests` of its own.
"""

import collections
import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastload.image import stand_ins
from fastload.image.encoded import Encoded
from fastload.image.lazy import OpenedJpeg
from fastload.loader import lazy_images

# Worker processes have them when images become lazy: the data set's module has imported them.
LIBRARIES = ("torchvision.io", "torchvision.transforms.v2", "cv2")
OPENED, DECODED, ARRAYS = "opened", "decoded", "arrays"


class Counts(collections.Counter[str]):
    """How many images were opened lazily, how many cuts of them decoded natively, and how many
    whole arrays for torchvision.io and OpenCV.
    """

    def of(self, name: str, owner: Any, function: str, counts: Callable[[Any], bool]) -> None:
        """Count the results of a function of fastload's."""
        original = getattr(owner, function)

        @functools.wraps(original)
        def counted(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            self[name] += counts(made)
            return made

        setattr(owner, function, counted)


class Outcomes:
    """A test's outcome is that of its worst phase, and what it said where it did not pass."""

    def __init__(self, counts: Counts, path: str) -> None:
        self.counts, self.path = counts, path
        self.tests: dict[str, tuple[str, str]] = {}
        self.lazy: dict[str, int] = {}  # images of tests that had some
        self._before = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome = ("x" if hasattr(report, "wasxfail") else "") + report.outcome
        if report.outcome != "passed" or report.nodeid not in self.tests:
            self.tests[report.nodeid] = outcome, _last_line(report)
        if report.when == "teardown":
            now = self.counts.total()
            if now > self._before:
                self.lazy[report.nodeid] = now - self._before
            self._before = now

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self.tests[report.nodeid] = report.outcome, _last_line(report)

    def pytest_sessionfinish(self) -> None:
        found = {"tests": self.tests, "lazy": self.lazy, "counts": self.counts}
        Path(self.path).write_text(json.dumps(found))


def _last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    said = report.longreprtext.strip().splitlines() if report.longrepr else []
    return said[-1][:200] if said else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fastload")
    group.addoption("--lazy-images", choices=("on", "off"), default="on")
    group.addoption("--lazy-report", required=True)


def pytest_configure(config: pytest.Config) -> None:
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    counts = Counts()
    if config.getoption("lazy_images") == "on":
        # With indexes that are collected, too: whoever starts this gives it a cache of its own
        lazy_images.LazyWorker(None, lazy_images.contents("auto"))(0)
        counts.of(OPENED, lazy_images, "lazy", lambda image: isinstance(image, OpenedJpeg))
        counts.of(DECODED, Encoded, "_pixels", lambda pixels: pixels is not None)
        counts.of(ARRAYS, stand_ins, "decoded", bool)
    config.pluginmanager.register(Outcomes(counts, config.getoption("lazy_report")))
