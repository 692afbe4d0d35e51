"""Joint transforms that change colours, and leave boxes, masks and keypoints alone."""

from dataclasses import dataclass, field

from fastload.joint.picture import Picture
from fastload.joint.programs import instructions, program
from fastload.joint.steps import Draw, JointStep, Params, Target, uniform
from fastload.transforms import ColorJitter
from fastload.transforms.programs import Program
from fastload.transforms.sampling import order

FACTORS = ("brightness", "contrast", "saturation", "hue")


@dataclass(frozen=True)
class PhotometricDistort(JointStep):
    """Brightness, contrast, saturation and hue, each by chance; contrast comes before or after the
    colours. Then the order of the channels.
    """

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        import torch

        u = draw(2 * len(FACTORS) + 5)
        params: Params = {}
        for name, applied, value in zip(FACTORS, u[:4], u[4:8], strict=True):
            ends = getattr(self.of, name)
            params[f"{name}_factor"] = uniform(value, ends) if applied < self.of.p else None
        params["contrast_before"] = bool(u[8] < 0.5)
        channels = order(u[None, 10:13])[0] if u[9] < self.of.p else None
        params["channel_permutation"] = None if channels is None else torch.from_numpy(channels)
        return params

    def move(self, picture: Picture, params: Params) -> None:
        contrast = [("Contrast", params["contrast_factor"])]
        first, last = (contrast, []) if params["contrast_before"] else ([], contrast)
        steps = [
            ("Brightness", params["brightness_factor"]), *first,
            ("Color", params["saturation_factor"]), ("Hue", params["hue_factor"]), *last,
        ]  # fmt: skip
        wanted = [(name, value) for name, value in steps if value is not None]
        if wanted:
            picture.augment(instructions(wanted, picture.size))
        if params["channel_permutation"] is not None:
            picture.permute(tuple(params["channel_permutation"].tolist()))

    def targets(self, target: Target, params: Params) -> Target:
        return target


@dataclass(frozen=True)
class Augment(JointStep):
    """An op of AUGMENT, which draws and makes its pixels as for images alone."""

    op: Program = field(default_factory=ColorJitter)

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return {"program": program(self.op, draw, picture.size)}

    def move(self, picture: Picture, params: Params) -> None:
        if len(params["program"]):
            picture.augment(params["program"])

    def targets(self, target: Target, params: Params) -> Target:
        return target
