"""What a training step is set to, part by part, and the bounds that `parse` checks against."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastload import transforms
from fastload.progressive import ProgressiveResize, Ramp
from fastload.transforms import Mix
from fastload.transforms.mix_choice import MixChoice


class Between(NamedTuple):
    """A number from `low` to `high`, both included."""

    low: float
    high: float


class OneOf(NamedTuple):
    """One of `words`."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Optimizer:
    name: Annotated[str, OneOf(("DecoupledSGDW", "SGD", "LAMB", "LARS", "AdamW"))]
    learning_rate: Annotated[float, Between(0, 1e3)]  # the peak
    momentum: Annotated[float, Between(0, 1)]
    dampening: Annotated[float, Between(0, 1)]
    nesterov: bool
    weight_decay: Annotated[float, Between(0, 1)]  # DecoupledSGDW: scaled by rate / peak rate
    # Parameters that do not decay
    no_decay: Annotated[str, OneOf(("nothing", "norm", "norm_and_bias"))] = "nothing"


@dataclass(frozen=True)
class Schedule:
    # After the warm-up, down to `final_rate`
    name: Annotated[str, OneOf(("cosine", "linear", "constant"))]
    warmup_epochs: Annotated[float, Between(0, 1e4)]  # linear
    per_step: bool  # the rate changes with every step, not every epoch
    # Share of the peak. 0 and not per_step: (epoch + 1) / warmup_epochs, as NVIDIA does
    warmup_start: Annotated[float, Between(0, 1)] = 0.0
    final_rate: Annotated[float, Between(0, 1e3)] = 0.0


@dataclass(frozen=True)
class Loss:
    """Divided by the samples."""

    name: Annotated[str, OneOf(("cross_entropy", "binary_cross_entropy"))]
    label_smoothing: Annotated[float, Between(0, 1)]
    # binary_cross_entropy: the classes' sum; false: their mean, as timm has it
    sum_classes: bool = True


@dataclass(frozen=True)
class Init:
    convolution: Annotated[str, OneOf(("kaiming_normal",))]  # also of the classifier
    batch_norm_weight: Annotated[str, OneOf(("uniform(0, 1)",))]  # the bias is 0
    classifier_bias: Annotated[float, Between(-1e3, 1e3)] = 0.0  # 0: as torch makes it


@dataclass(frozen=True)
class MixUp:
    """By itself, or with CutMix: one of the two for each batch, both alike."""

    alpha: Annotated[float, Between(0, 100)]  # of Beta(alpha, alpha); 0: none
    # Mix the two losses instead of the labels. It is the same number: losses are linear in labels.
    interpolate_loss: bool
    cutmix_alpha: Annotated[float, Between(0, 100)] = 0.0  # 0: no CutMix
    # Composer has no CutMix beside MixUp.
    definition: Annotated[str, OneOf(("composer", "timm", "torchvision"))] = "composer"

    def mix(self, smoothing: float, classes: int | None) -> Mix | None:
        """For `DataLoader(mix=...)`, labels smoothed; None if both alphas are 0."""
        if not self.alpha and not self.cutmix_alpha:
            return None
        if self.definition == "timm":
            return transforms.MixUp.timm(
                self.alpha, self.cutmix_alpha, label_smoothing=smoothing, num_classes=classes
            )
        if self.definition == "composer":
            return transforms.MixUp.composer(self.alpha, classes, smoothing) if self.alpha else None
        pair = (transforms.MixUp, self.alpha), (transforms.CutMix, self.cutmix_alpha)
        choices = tuple(
            cls(alpha, classes, label_smoothing=smoothing) for cls, alpha in pair if alpha
        )
        return choices[0] if len(choices) == 1 else MixChoice(choices)


@dataclass(frozen=True)
class Sam:
    """Sharpness-aware minimisation. Source: Foret et al. 2020, arXiv:2010.01412."""

    rho: Annotated[float, Between(0, 100)]
    interval: Annotated[int, Between(1, 1_000_000)]  # steps from one double pass to the next
    epsilon: Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class Ema:
    """Moving average of the weights, used for evaluation."""

    half_life_batches: Annotated[int, Between(1, 10**9)]
    update_interval_batches: Annotated[int, Between(1, 10**9)]
    train_with_ema: bool


@dataclass(frozen=True)
class BlurPool:
    """Source: Zhang 2019, arXiv:1904.11486."""

    blur_first: bool
    replace_convs: bool
    replace_maxpools: bool
    min_channels: Annotated[int, Between(1, 1_000_000)]


@dataclass(frozen=True)
class StochasticDepth:
    """Source: Huang et al. 2016, arXiv:1603.09382.

    sample: Composer's; drop_path: timm's, which scales what is kept.
    """

    method: Annotated[str, OneOf(("sample", "drop_path"))]
    drop_distribution: Annotated[str, OneOf(("linear", "uniform"))]
    drop_rate: Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class ProgressiveResizing:
    """Image size by share of the run. Source: Composer 0.7.1, algorithms/progressive_resizing."""

    mode: Annotated[str, OneOf(("resize", "crop"))]
    initial_scale: Annotated[float, Between(0.01, 1)]
    delay_fraction: Annotated[float, Between(0, 1)]  # of the run, at the initial size
    finetune_fraction: Annotated[float, Between(0, 1)]  # of the run, at full size, at its end
    size_increment: Annotated[int, Between(1, 1024)]  # px

    def size(self, side: int, elapsed: float) -> int:
        """Side in px at `elapsed` (0..1) of the run, for images of `side` px: what Composer's floor
        of side * factor gives.
        """
        pinned = self.schedule(1).at(side, elapsed)
        # As Composer does it: 100 / 167 * 167 falls to 99.
        return side if pinned >= side else int(side * (pinned / side))

    def schedule(self, total_epochs: int) -> ProgressiveResize:
        """For `DataLoader(size_schedule=...)`."""
        shares = (self.initial_scale, self.delay_fraction, self.finetune_fraction)
        return ProgressiveResize(total_epochs, None, *shares, self.size_increment, self.mode)


@dataclass(frozen=True)
class ResolutionRamp:
    """Sides in px by epoch, as `fastload.Ramp` has them: FFCV's."""

    min_res: Annotated[int, Between(1, 16384)]
    max_res: Annotated[int, Between(1, 16384)]
    start: Annotated[int, Between(0, 100_000)]
    end: Annotated[int, Between(0, 100_000)]

    def schedule(self) -> Ramp:
        return Ramp(self.min_res, self.max_res, self.start, self.end)
