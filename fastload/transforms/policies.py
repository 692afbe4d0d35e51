"""AUGMENT: policies that draw a short program of uint8 ops per sample. The record, and CODES, are
explained in programs.py.

A policy's arguments are torchvision's. `RandAugment.timm` and the like give the same op with
another library's definition. Its magnitudes are its own: none is ever taken for another's.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fastload.spec import Floats, Ints, Json, Spec
from fastload.transforms.base import Fill, Params, fill_problems, filter_name, filter_problems
from fastload.transforms.definitions import (
    composer,
    official,
    subpolicies,
    timm,
    timm_config,
    torchvision,
)
from fastload.transforms.definitions.torchvision import BINS, POLICY_BINS
from fastload.transforms.programs import (
    CODE,
    CODES,
    ENHANCE,
    MAX_DEPTH,
    Levels,
    Program,
    filter_number,
    pick,
    rows,
    sides,
    where,
)

__all__ = ["CODE", "CODES", "ENHANCE", "AutoAugment", "RandAugment", "TrivialAugmentWide"]

# A definition: torchvision's, with the thresholds of Solarize of its second API
Second = Literal["v2"]


@dataclass(frozen=True)
class Policy(Program):
    """What policies share: a fill, and a filter that timm's definition also draws ("random")."""

    def _common_problems(
        self, spec: Spec, interpolation: str, fill: object, definition: object = None
    ) -> list[str]:
        drawn = isinstance(definition, timm.Levels)
        problems = (
            timm.interpolation_problems(interpolation) if drawn else filter_problems(interpolation)
        )
        if not (definition in (None, "v2") or isinstance(definition, Levels)):
            problems.append(
                f"definition is {definition!r}, want None; {self.name}.timm and the like set it"
            )
        return problems + fill_problems(fill, spec.channels)


def _number_problems(name: str, value: object, low: int, high: int) -> list[str]:
    fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    return [] if fits else [f"{name} is {value}, want {low} to {high}"]


def _bins_problems(count: object) -> list[str]:
    return (
        []
        if isinstance(count, int) and count >= 2
        else [f"num_magnitude_bins is {count}, want at least 2"]
    )


@dataclass(frozen=True)
class RandAugment(Policy):
    """`num_ops` ops per image, drawn uniformly with replacement. Source: Cubuk et al. 2019,
    arXiv:1909.13719.

    magnitude: a bin of num_magnitude_bins, the same for all ops (torchvision 0.26), or what another
        definition says.
    """

    num_ops: int = 2
    magnitude: float = 9
    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Fill = None  # None: black
    definition: Levels | Second | None = None  # None: torchvision's

    torchvision = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    @classmethod
    def composer(
        cls, severity: float = 9, depth: int = 2, augmentation_set: str = "all"
    ) -> "RandAugment":
        """Composer 0.7.1's: level ~ U(0.1, severity) per op and image, severity 0 to 10; sets all,
        safe, original.
        """
        return cls(
            depth, severity, interpolation="bilinear", definition=composer.Sampled(augmentation_set)
        )

    @classmethod
    def timm(
        cls, config: str, fill: Fill = timm.MEAN, interpolation: str = "random"
    ) -> "RandAugment":
        """timm 1.0.31's, from its config string: "rand-m7-mstd0.5-inc1" is RSB's A1 and A2.

        Keys: m magnitude, n ops, p probability of each, mstd noise, mmax bound, inc (1: stronger as
        m grows), t set of ops, w0 older weights. Raises PipelineError for a config that timm's
        grammar has no meaning for.
        """
        options, levels = timm_config.rand(config)
        return cls(**options, interpolation=interpolation, fill=fill, definition=levels)

    @property
    def _levels(self) -> Levels:
        if isinstance(self.definition, Levels):
            return self.definition
        return torchvision.Bins(
            torchvision.of_api(torchvision.RAND, self.definition), self.num_magnitude_bins
        )

    def problems(self, spec: Spec) -> list[str]:
        problems = _number_problems("num_ops", self.num_ops, 0, MAX_DEPTH)
        problems += self._common_problems(spec, self.interpolation, self.fill, self.definition)
        return (
            problems
            + _bins_problems(self.num_magnitude_bins)
            + self._levels.problems(self.magnitude, self.num_ops)
        )

    def rows(self) -> int:
        return self.num_ops

    def draws(self, spec: Spec) -> int:
        return self._levels.draws(self.num_ops)

    def params(self, u: Floats, sizes: Ints) -> Params:
        return Params(
            self._levels.program(u, sizes, self.num_ops, self.magnitude, self.interpolation), sizes
        )


@dataclass(frozen=True)
class TrivialAugmentWide(Policy):
    """One op and one magnitude bin per image, both uniform.

    Source: Müller and Hutter 2021, arXiv:2103.10158; torchvision 0.26.
    """

    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Fill = None  # None: black
    definition: Levels | Second | None = None  # None: torchvision's

    torchvision = ("num_magnitude_bins", "interpolation", "fill")

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    @classmethod
    def official(cls) -> "TrivialAugmentWide":
        """The authors' own "wide_standard": enhancements from 0.01 to 2 without a sign, whole
        degrees, other posterize bins.
        """
        return cls(official.LEVELS, definition=official.Wide())

    @property
    def _levels(self) -> Levels:
        if isinstance(self.definition, Levels):
            return self.definition
        return torchvision.Bins(
            torchvision.of_api(torchvision.TRIVIAL, self.definition),
            self.num_magnitude_bins,
            drawn=True,
        )

    def problems(self, spec: Spec) -> list[str]:
        problems = self._common_problems(spec, self.interpolation, self.fill, self.definition)
        return problems + (
            _bins_problems(self.num_magnitude_bins)
            or self._levels.problems(self.num_magnitude_bins, 1)
        )

    def draws(self, spec: Spec) -> int:
        return self._levels.draws(1)

    def params(self, u: Floats, sizes: Ints) -> Params:
        return Params(
            self._levels.program(u, sizes, 1, self.num_magnitude_bins, self.interpolation), sizes
        )


@dataclass(frozen=True)
class AutoAugment(Policy):
    """One of 25 learned sub-policies per image: two ops, each with its probability. Source: Cubuk
    et al. 2018, arXiv:1805.09501.

    policy: imagenet, cifar10 or svhn with torchvision's magnitudes; see `AutoAugment.timm` for
        timm's.
    """

    policy: str = "imagenet"
    interpolation: str = "nearest"
    fill: Fill = None  # None: black
    # None: torchvision's. timm's: Levels, the noise of the magnitudes.
    definition: timm.Levels | Second | None = None

    torchvision = ("policy", "interpolation", "fill")

    def __post_init__(self) -> None:
        object.__setattr__(self, "policy", str(getattr(self.policy, "value", self.policy)))
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    @classmethod
    def timm(
        cls, config: str = "v0", fill: Fill = timm.MEAN, interpolation: str = "random"
    ) -> "AutoAugment":
        """timm 1.0.31's policies v0, v0r, original, originalr and 3a, from its config string:

        "original-mstd0.5".
        """
        policy, std = timm_config.auto(config)
        return cls(policy, interpolation, fill, timm.Levels(std=std))

    @property
    def _known(self) -> Json:
        return (
            subpolicies.TIMM
            if isinstance(self.definition, timm.Levels)
            else subpolicies.TORCHVISION
        )

    def problems(self, spec: Spec) -> list[str]:
        problems = (
            []
            if self.policy in self._known
            else [f"policy is {self.policy!r}, want one of {', '.join(self._known)}"]
        )
        return problems + self._common_problems(
            spec, self.interpolation, self.fill, self.definition
        )

    def rows(self) -> int:
        return 2

    def draws(self, spec: Spec) -> int:
        return 1 + 2 * timm.DRAWS  # sub-policy; apply, magnitude, sign, filter, free of each op

    def params(self, u: Floats, sizes: Ints) -> Params:
        levels = self.definition if isinstance(self.definition, timm.Levels) else None
        table = subpolicies.timm(self.policy) if levels else subpolicies.TORCHVISION[self.policy]
        chosen, calls = pick(u[:, 0], len(table)), u[:, 1:].reshape(-1, 2, timm.DRAWS)
        p, magnitude = (_column(table, field)[chosen] for field in ("p", "magnitude"))
        names = tuple(sorted({call.op for pair in table for call in pair}))
        ops = np.array([[names.index(call.op) for call in (*pair, pair[0])[:2]] for pair in table])[
            chosen
        ]
        if levels:
            level = timm.noisy(calls[..., 1], magnitude, levels.std, levels.most)
            program = timm.resolve(
                names, ops, level, calls, sizes, timm.TRANSLATE, self.interpolation
            )
        else:
            bins = magnitude.astype(np.int64)
            space = torchvision.of_api(torchvision.AUTO, self.definition)
            values = torchvision.arguments(space, POLICY_BINS, bins, sides(calls[..., 2]), sizes)
            codes = np.array([CODE[name] for name in names])[ops]
            arguments = np.take_along_axis(values, codes[None], axis=0)[0]
            program = rows(codes, arguments, filter_number(self.interpolation))
        return Params(where(calls[..., 0] < p, program), sizes)


def _column(table: subpolicies.SubPolicies, field: str) -> Floats:
    """One field of every call: float64 [policies, 2]; 0 where a policy has one op only."""
    return np.array(
        [[getattr(call, field) for call in pair] + [0.0] * (2 - len(pair)) for pair in table],
        np.float64,
    )
