"""AUGMENT: AugMix, a weighted mean of an image and of chains of ops on it.

Source: Hendrycks et al. 2019, arXiv:1912.02781.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fastload.spec import Floats, Ints, Singles, Spec
from fastload.transforms.base import Fill, Params, filter_name, is_number
from fastload.transforms.definitions import composer, timm, timm_config, torchvision
from fastload.transforms.definitions.torchvision import POLICY_BINS
from fastload.transforms.policies import Policy, Second
from fastload.transforms.programs import CODE, MAX_DEPTH, MAX_ROWS, Levels, pick, rows, where
from fastload.transforms.sampling import beta, dirichlet

MIXINGS = ("torchvision", "composer", "timm")
LONGEST = 3  # ops of a chain of random length, 1 to 3


@dataclass(frozen=True)
class AugMix(Policy):
    """Chains of ops, mixed with each other and then with the image.

    `mixture_width` chains are mixed with Dirichlet's weights, and the result with the image by
    Beta's. Chains run on uint8 images as PIL has them. torchvision runs them through its tensor
    kernels, which differ a little (docs/ops.md).

    Source: Hendrycks et al. 2020, arXiv:1912.02781; torchvision 0.26.

    Args:
        severity: Of each op's level.
        mixture_width: Number of chains.
        chain_depth: Ops of a chain; negative: 1 to 3, at random.
        alpha: Of the Dirichlet and Beta distributions.
        all_ops: Also brightness, contrast, color and sharpness.
        interpolation: Of the ops that move pixels.
        fill: What lies outside the image, 0..255; None: black.
        definition: Whose ops and levels; None: torchvision's.
        mixing: Whose way to add up and to cut to uint8: "torchvision", "composer" or "timm".

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.AugMix(severity=2)(Image.new("RGB", (64, 48))).size
        (64, 48)
    """

    severity: float = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: str = "bilinear"
    fill: Fill = None
    definition: Levels | Second | None = None
    mixing: Literal["torchvision", "composer", "timm"] = "torchvision"

    mixes = True
    torchvision = (
        "severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill"
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    @classmethod
    def composer(
        cls,
        severity: float = 3,
        depth: int = -1,
        width: int = 3,
        alpha: float = 1.0,
        augmentation_set: str = "all",
    ) -> "AugMix":
        """Composer 0.7.1's: levels ~ U(0.1, severity) per op, severity 0 to 10; sets all, safe,
        original.
        """
        return cls(
            severity,
            width,
            depth,
            alpha,
            definition=composer.Sampled(augmentation_set),
            mixing="composer",
        )

    @classmethod
    def timm(
        cls, config: str = "augmix-m3-w3", fill: Fill = timm.MEAN, interpolation: str = "random"
    ) -> "AugMix":
        """timm 1.0.31's, from its config string: m magnitude (severity), w width, d depth, a alpha,
        mstd noise (else U(0, m)).

        Raises PipelineError for a config that timm's grammar has no meaning for, and for b1.
        """
        options, levels = timm_config.augmix(config)
        return cls(
            **options, interpolation=interpolation, fill=fill, definition=levels, mixing="timm"
        )

    @property
    def _levels(self) -> Levels:
        if isinstance(self.definition, Levels):
            return self.definition
        space = torchvision.MIX_ALL if self.all_ops else torchvision.MIX_SAFE
        return torchvision.Bins(torchvision.of_api(space, self.definition), POLICY_BINS, drawn=True)

    def problems(self, spec: Spec) -> list[str]:
        problems = (
            []
            if self.mixing in MIXINGS
            else [f"mixing is {self.mixing!r}, want one of {', '.join(MIXINGS)}"]
        )
        if isinstance(self.definition, Levels):
            problems += self._levels.problems(self.severity, self._depth)
        elif not (isinstance(self.severity, int) and 1 <= self.severity <= POLICY_BINS):
            problems.append(
                f"severity is {self.severity}, want 1 to {POLICY_BINS} (torchvision's definition)"
            )
        if not (isinstance(self.mixture_width, int) and self.mixture_width >= 1):
            problems.append(f"mixture_width is {self.mixture_width}, want 1 or more")
        elif not (isinstance(self.chain_depth, int) and self._depth <= MAX_DEPTH):
            problems.append(
                f"chain_depth is {self.chain_depth}, want up to {MAX_DEPTH}, or a negative number "
                f"(1 to {LONGEST})"
            )
        elif self.rows() > MAX_ROWS:
            problems.append(
                f"{self.mixture_width} chains of {self._depth} ops make {self.rows()} steps, want "
                f"up to {MAX_ROWS}; take fewer"
            )
        if not (is_number(self.alpha) and self.alpha > 0):
            problems.append(f"alpha is {self.alpha}, want a number above 0")
        return problems + self._common_problems(
            spec, self.interpolation, self.fill, self.definition
        )

    @property
    def _depth(self) -> int:
        return self.chain_depth if self.chain_depth > 0 else LONGEST

    def rows(self) -> int:
        return 1 + self.mixture_width * (self._depth + 1) + 2

    def draws(self, spec: Spec) -> int:
        # two for Beta, one for each weight and each length, and the ops
        return 2 + 2 * self.mixture_width + self._levels.draws(self.mixture_width * self._depth)

    def params(self, u: Floats, sizes: Ints) -> Params:
        width, count = self.mixture_width, len(sizes)
        share = beta(u[:, :2], self.alpha).astype(np.float32)  # share of the chains
        weights = dirichlet(u[:, 2 : 2 + width], self.alpha).astype(np.float32)
        lengths = 1 + pick(u[:, 2 + width : 2 + 2 * width], LONGEST)
        ops = self._levels.program(
            u[:, 2 + 2 * width :], sizes, width * self._depth, self.severity, self.interpolation
        )
        chains = ops.reshape(count, width, self._depth, 3)
        if self.chain_depth <= 0:
            chains = where(np.arange(self._depth) < lengths[..., None], chains)
        first, scale, ending = self._mix(share)
        adds = rows(CODE["Add"], weights * scale)[:, :, None]
        middle = np.concatenate([chains, adds], axis=2).reshape(count, -1, 3)
        return Params(np.concatenate([first[:, None], middle, ending], axis=1), sizes)

    def _mix(self, share: Singles) -> tuple[Floats, Singles | np.float32, Floats]:
        """The first row [N, 3], a factor for the chains' weights, and the last two rows [N, 2, 3];
        mixed: float32 [N].
        """
        nothing, total = np.zeros((len(share), 3)), rows(CODE["Sum"], np.zeros(len(share)))
        if self.mixing == "torchvision":
            return (
                rows(CODE["Add"], np.float32(1) - share),
                share[:, None],
                np.stack([total, nothing], axis=1),
            )
        if self.mixing == "composer":
            return nothing, np.float32(1), np.stack([rows(CODE["Mix"], share), nothing], axis=1)
        return nothing, np.float32(1), np.stack([total, rows(CODE["Blend"], share)], axis=1)
