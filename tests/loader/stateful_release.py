"""The release's check of states of one's own: every kind, every combination of workers, persistence
and n, every step. Takes an hour.

    python -m tests.loader.stateful_release [KIND …]

Each state of two epochs goes into a new loader; what is left of its epoch and the whole next one
are compared with the run that was not stopped.
"""

import sys
import time
import warnings

from tests.loader.stateful_kinds import KINDS
from tests.loader.test_stateful import COMBINATIONS, check


def main(kinds: list[str]) -> None:
    warnings.filterwarnings("ignore", "This DataLoader will create")
    for kind in kinds:
        began, count = time.monotonic(), 0
        for options in COMBINATIONS:
            count += check(kind, list, **options)
        print(
            f"{kind:20} {count} states: what is left, and the next epoch "
            f"({time.monotonic() - began:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or list(KINDS))
