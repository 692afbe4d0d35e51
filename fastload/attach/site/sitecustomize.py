"""Python imports this file at its start where the folder is on PYTHONPATH: below `fastload profile
-- …`, in every process.
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def _hand_on() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    this = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError:
        if this is not None:
            sys.modules["sitecustomize"] = this


def _attach() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    sys.path.insert(0, root)  # this fastload, whichever others there are, or none
    try:
        from fastload.attach import hooks

        hooks.install_from_environment()
    except Exception as error:  # noqa: BLE001  the program must run, measured or not
        print(
            f"fastload: profile: process {os.getpid()} is not measured ({error!r})", file=sys.stderr
        )
    finally:
        sys.path.remove(root)


sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
_hand_on()
_attach()
