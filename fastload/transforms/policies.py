"""AUGMENT: policies that draw a short program of uint8 ops per sample. The record, and CODES, are
explained in programs.py.

A policy's arguments are torchvision's. `RandAugment.timm` and the like give the same op with
another library's definition. Its magnitudes are its own: none is ever taken for another's.
"""

from dataclasses import dataclass
from typing import Literal

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Fill, Params, fill_problems, filter_name, filter_problems
from fastload.transforms.definitions import (
    composer,
    official,
    timm,
    timm_config,
    torchvision,
)
from fastload.transforms.definitions.torchvision import BINS
from fastload.transforms.programs import (
    CODE,
    CODES,
    ENHANCE,
    MAX_DEPTH,
    Levels,
    Program,
)

__all__ = ["CODE", "CODES", "ENHANCE", "RandAugment", "TrivialAugmentWide"]

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
    """`num_ops` ops per image, drawn uniformly with replacement.

    Source: Cubuk et al. 2019, arXiv:1909.13719.

    Args:
        num_ops: How many ops an image gets.
        magnitude: A bin of num_magnitude_bins, the same for all ops (torchvision 0.26), or what
            another definition says.
        num_magnitude_bins: How many bins there are.
        interpolation: Of warps: torchvision's or its name.
        fill: What is seen outside the image: a number, or one per channel; None: black.
        definition: None: torchvision's; `RandAugment.timm` and `.composer` set it.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandAugment(2, 9)(Image.new("RGB", (120, 90), "red")).size
        (120, 90)
    """

    num_ops: int = 2
    magnitude: float = 9
    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Fill = None
    definition: Levels | Second | None = None

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

    Args:
        num_magnitude_bins: How many bins there are.
        interpolation: Of warps: torchvision's or its name.
        fill: What is seen outside the image: a number, or one per channel; None: black.
        definition: None: torchvision's; `TrivialAugmentWide.official` sets it.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.TrivialAugmentWide()(Image.new("RGB", (120, 90), "red")).size
        (120, 90)
    """

    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Fill = None
    definition: Levels | Second | None = None

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
