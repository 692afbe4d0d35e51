"""AUGMENT: AutoAugment, whose policies were learned; policies.py has those that are drawn."""

from dataclasses import dataclass

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints, Json, Spec
from fastload.transforms.base import Fill, Params, filter_name
from fastload.transforms.definitions import subpolicies, timm, timm_config, torchvision
from fastload.transforms.definitions.torchvision import POLICY_BINS
from fastload.transforms.policies import Policy, Second
from fastload.transforms.programs import CODE, filter_number, pick, rows, sides, where


@dataclass(frozen=True)
class AutoAugment(Policy):
    """One of 25 learned sub-policies per image: two ops, each with its probability.

    Source: Cubuk et al. 2018, arXiv:1805.09501.

    Args:
        policy: imagenet, cifar10 or svhn with torchvision's magnitudes; see `AutoAugment.timm` for
            timm's.
        interpolation: Of warps: torchvision's or its name.
        fill: What is seen outside the image: a number, or one per channel; None: black.
        definition: None: torchvision's; `AutoAugment.timm` sets timm's, with their noise.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.AutoAugment("cifar10")(Image.new("RGB", (120, 90), "red")).size
        (120, 90)
    """

    policy: str = "imagenet"
    interpolation: str = "nearest"
    fill: Fill = None
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
        p, magnitude = (look_up(_column(table, field), chosen) for field in ("p", "magnitude"))
        names = tuple(sorted({call.op for pair in table for call in pair}))
        every = [[names.index(call.op) for call in (*pair, pair[0])[:2]] for pair in table]
        ops = look_up(every, chosen)
        if levels:
            level = timm.noisy(calls[..., 1], magnitude, levels.std, levels.most)
            program = timm.resolve(
                names, ops, level, calls, sizes, timm.TRANSLATE, self.interpolation
            )
        else:
            bins = magnitude.astype(np.int64)
            space = torchvision.of_api(torchvision.AUTO, self.definition)
            values = torchvision.arguments(space, POLICY_BINS, bins, sides(calls[..., 2]), sizes)
            codes = look_up([CODE[name] for name in names], ops)
            arguments = np.take_along_axis(values, codes[None], axis=0)[0]
            program = rows(codes, arguments, filter_number(self.interpolation))
        return Params(where(calls[..., 0] < p, program), sizes)


def _column(table: subpolicies.SubPolicies, field: str) -> Floats:
    """One field of every call: float64 [policies, 2]; 0 where a policy has one op only."""
    return np.array(
        [[getattr(call, field) for call in pair] + [0.0] * (2 - len(pair)) for pair in table],
        np.float64,
    )
