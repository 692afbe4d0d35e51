"""One build of fastload at one work, in a process of its own: `python -m benchmarks.builds.child
SPEC`.

For every line on stdin it works once and answers with its rate.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.loaders.child import answer


def prepared(spec: dict[str, Any]) -> Callable[[], float]:
    """The work; where this is not the build that was asked for, the process ends."""
    from benchmarks.builds import works
    from fastload import _native

    module = os.path.realpath(_native.__file__)
    if spec.get("module") not in (None, module):
        raise SystemExit(
            f"{sys.executable}: another fastload (got {module}, want {spec['module']}); take a "
            "Python into which fastload is not installed, editable or not"
        )
    if "gil" in spec and sys._is_gil_enabled() is not spec["gil"]:  # type: ignore[attr-defined]
        raise SystemExit(
            f"{sys.executable}: the GIL (got {not spec['gil']}, want {spec['gil']}); an import has "
            "turned it on"
        )
    return works.WORKS[spec["work"]](spec)


if __name__ == "__main__":
    answer(prepared, lambda run: run())
