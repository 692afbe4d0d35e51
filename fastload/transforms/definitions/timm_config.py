"""timm's config strings, such as "rand-m9-n3-mstd0.5-inc1". Source: timm 1.0.31,
data/auto_augment.py.

Unlike timm, which passes over what it cannot read, every unknown section is an error. inc0 is off;
older timm took it for on.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastload.errors import PipelineError
from fastload.spec import Json
from fastload.transforms.definitions import timm

NEARLY_INFINITE = 100  # RandAugment's mstd above this means U(0, m)
SETS = {None, "3a", *timm.WEIGHTS}


class Config(NamedTuple):
    """The first word of a config, and its numbers by key."""

    policy: str
    values: Json

    def std(self, missing: float = 0.0) -> float:
        return float(self.values.get("mstd", missing))


def parse(where: str, config: str, policies: tuple[str, ...], keys: Mapping[str, type]) -> Config:
    """`keys`: what a section may be called, and whether its number is an int or a float (str: a
    word).

    Raises PipelineError with every problem.
    """
    policy, *sections = str(config).split("-")
    problems, values = [], dict[str, Any]()
    if policy not in policies:
        problems.append(f"begins with {policy!r}, want {' or '.join(policies)}")
    for section in sections:
        key, value = _split(section, keys)
        if value is None:
            problems.append(
                f"section {section!r} is unknown (want one of {', '.join(keys)}, each with its "
                "value)"
            )
        elif key in values:
            problems.append(f"section {section!r} gives {key} again; give it once")
        else:
            try:
                values[key] = keys[key](value)
            except ValueError:
                problems.append(
                    f"section {section!r} has no {'whole number' if keys[key] is int else 'number'}"
                )
    if problems:
        raise PipelineError(f"{where}({config!r}): {problem}" for problem in problems)
    return Config(policy, values)


def _split(section: str, keys: Mapping[str, type]) -> tuple[str, str | None]:
    """Key and value of a section; no value if it has none that could be meant."""
    for key, kind in keys.items():
        if kind is str and section.startswith(key) and section != key:
            return key, section[len(key) :]
    match = re.fullmatch(r"([a-z]+)(\d.*)", section)
    return (match[1], match[2]) if match and match[1] in keys else (section, None)


def rand(config: str) -> tuple[Json, timm.Levels]:
    """num_ops and magnitude, and the rest, of a RandAugment string."""
    where = "RandAugment.timm"
    keys = {
        "t": str,
        "m": int,
        "n": int,
        "p": float,
        "mstd": float,
        "mmax": int,
        "inc": int,
        "w": int,
    }
    values = parse(where, config, ("rand",), keys).values
    wanted, increasing = values.get("t"), bool(values.get("inc", 0))
    problems = []
    if wanted not in SETS:
        problems.append(
            f"{where}({config!r}): set {wanted!r} is unknown (want 3a, {', '.join(timm.WEIGHTS)})"
        )
    if values.get("w", 0) != 0:
        problems.append(f"{where}({config!r}): weights {values['w']} are unknown (want w0)")
    if problems:
        raise PipelineError(problems)
    names = timm.INCREASING if increasing else timm.PLAIN
    weights: tuple[float, ...] | None = timm.W0 if "w" in values else None
    if wanted == "3a":
        names, weights = timm.THREE, None
    elif wanted is not None:
        names, weights = tuple(timm.WEIGHTS[wanted]), tuple(timm.WEIGHTS[wanted].values())
    std = values.get("mstd", 0.0)
    std = math.inf if std > NEARLY_INFINITE else std
    levels = timm.Levels(names, weights, values.get("p", 0.5), std, values.get("mmax") or timm.FULL)
    return {"num_ops": values.get("n", 2), "magnitude": values.get("m", 10)}, levels


def augmix(config: str) -> tuple[Json, timm.Levels]:
    """AugMix's arguments, and the rest, of an AugMix string."""
    keys = {"m": int, "w": int, "d": int, "a": float, "b": int, "mstd": float}
    parsed = parse("AugMix.timm", config, ("augmix",), keys)
    if parsed.values.get("b"):
        raise PipelineError(
            [
                (
                    f"AugMix.timm({config!r}): section 'b{parsed.values['b']}' (blending chain by "
                    "chain) is not written; drop it"
                )
            ]
        )
    names = {"m": "severity", "w": "mixture_width", "d": "chain_depth", "a": "alpha"}
    options = {names[key]: value for key, value in parsed.values.items() if key in names}
    return options, timm.Levels(timm.AUGMIX, p=1.0, std=parsed.std(math.inf), translate=0.3)


def auto(config: str) -> tuple[str, float]:
    """The policy, and the standard deviation of its noise, of an AutoAugment string."""
    from fastload.transforms.definitions.subpolicies import TIMM

    parsed = parse("AutoAugment.timm", config, tuple(TIMM), {"mstd": float})
    return parsed.policy, parsed.std()
