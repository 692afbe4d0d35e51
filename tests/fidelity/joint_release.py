"""The release's search for a box, mask, keypoint or pixel that differs from torchvision's. Minutes.

    python -m tests.fidelity.joint_release [CASES [SEED]]

CASES (10000) of each joint transform, of chains of up to four, and of each mix of several samples,
on images that are not square.
Exit status 1 if anything differs.
"""

import sys

import numpy as np

from tests.fidelity import mix_cases
from tests.fidelity.joint_cases import MAKERS, differences

CHAINED = [name for name in MAKERS if name != "SanitizeBoundingBoxes"]  # it may leave no box


def transforms(name: str, seed: int) -> list[object]:
    rng = np.random.default_rng([seed, 1])
    if name != "chains":
        return [MAKERS[name](rng)]
    names = [CHAINED[number] for number in rng.integers(0, len(CHAINED), rng.integers(2, 5))]
    while names.count("RandomIoUCrop") > 1:  # a second one may find no box
        names.remove("RandomIoUCrop")
    return [MAKERS[each](rng) for each in names]


def main(cases: int, first: int) -> int:
    bad = 0
    each = [(name, transforms, differences) for name in (*MAKERS, "chains")]
    each += [(name, mix_cases.transforms, mix_cases.differences) for name in mix_cases.MIXES]
    for name, make, compare in each:
        found = {}
        for seed in range(first, first + cases):
            if wrong := compare(make(name, seed), seed):
                found[seed] = wrong
        bad += bool(found)
        print(f"{name:28} {cases} cases, {len(found)} differ", *list(found.items())[:3], flush=True)
    return bad


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(bool(main(*given, *(10000, 0)[len(given) :])))
