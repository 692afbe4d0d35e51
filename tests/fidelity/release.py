"""The release's search for a pixel that differs from torchvision's. Takes minutes.

    python -m tests.fidelity.release [CASES [SEED]]

CASES of each certain transform of both APIs, of each drawn one, and of pipelines of up to four
certain ones, on images that are not square. Exit status 1 if a value differs, or a blur's by more
than 1.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

from tests.fidelity import certain, drawn
from tests.fidelity.compare import SIZES, Outcome, compared, seeded
from tests.fidelity.test_drawn import check

APIS = {"v1": v1, "v2": v2}
STEADY = [name for name in certain.MAKERS if "Resize" not in name]  # a plan holds one
WIDTHS = (5, 6, 6, 8, 6, 4)  # of the columns
SHOWN = 3  # cases that differ, of each kind


def pipeline(rng: np.random.Generator, api: Any) -> Any:
    """One resize, and up to four other transforms."""
    names = [STEADY[n] for n in rng.integers(0, len(STEADY), rng.integers(1, 5))]
    return api.Compose(
        [
            api.Resize([int(v) for v in rng.integers(20, 70, 2)]),
            *(certain.MAKERS[name](rng, api) for name in names),
        ]
    )


def kinds() -> Iterator[tuple[str, Callable[[np.random.Generator], Any]]]:
    for api_name, api in APIS.items():
        for name, make in certain.MAKERS.items():
            yield f"{name}, {api_name}", lambda rng, make=make, api=api: make(rng, api)
        yield f"pipelines, {api_name}", lambda rng, api=api: pipeline(rng, api)


def certain_ones(cases: int, seed: int) -> int:
    """How many kinds differ."""
    bad = 0
    print(f"{'through the loader':32} cases native differ   values differ most", flush=True)
    for name, make in kinds():
        found = list[tuple[Any, Outcome]]()
        for number in range(cases):
            transform = make(seeded(seed + number))
            with suppress(torch.linalg.LinAlgError):  # torchvision's, for images one pixel wide
                found.append((transform, compared(transform, SIZES[number % 2])))
        bad += tell(name, found)
    return bad


def tell(name: str, found: list[tuple[Any, Outcome]]) -> bool:
    outcomes = [outcome for _, outcome in found]
    differing = [(transform, outcome) for transform, outcome in found if outcome.differing]
    numbers = [
        len(found), sum(o.native for o in outcomes), len(differing),
        sum(o.values for o in outcomes), sum(o.differing for o in outcomes),
        max(o.most for o in outcomes),
    ]  # fmt: skip
    columns = (f"{number:{width}}" for number, width in zip(numbers, WIDTHS, strict=True))
    print(f"{name:32}", *columns, flush=True)
    for transform, outcome in differing[:SHOWN]:
        print(f"    {outcome} {transform}")
    return bool(differing)


def drawn_ones(cases: int, seed: int) -> int:
    bad = 0
    print(f"{'with the same draws':32} cases        differ   values", flush=True)
    for name, make in drawn.MAKERS.items():
        for api_name, api in APIS.items():
            failed, values = [], 0
            for number in range(cases):
                rng = seeded(seed + number)
                transform = make(rng, api)
                with pytest.MonkeyPatch.context() as patch:
                    try:
                        values += check(transform, rng, SIZES[number % 2], patch)
                    except AssertionError as error:
                        failed.append(str(error).strip().splitlines()[-1])
            print(
                f"{name + ', ' + api_name:32} {cases:5}        {len(failed):6} {values:8}",
                flush=True,
            )
            bad += bool(failed)
    return bad


def blurs(cases: int, seed: int) -> int:
    blurs = [certain.blur(seeded(seed + number), v2) for number in range(cases)]
    found = [(blur, compared(blur, SIZES[number % 2])) for number, blur in enumerate(blurs)]
    tell("GaussianBlur", found)
    return int(max(outcome.most for _, outcome in found) > 1)


def main() -> int:
    cases, seed = map(int, [*sys.argv[1:], *("300", "1000")[len(sys.argv) - 1 :]])
    warnings.simplefilter("ignore")
    bad = certain_ones(cases, seed) + drawn_ones(cases, seed) + blurs(cases, seed)
    print(f"{bad} kinds differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
