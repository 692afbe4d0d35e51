"""What a recipe holds: its data path, and the training step with its settings."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastload import transforms
from fastload.plan.steps import infer_specs
from fastload.progressive import SizeSchedule
from fastload.recipes.settings import (
    Between,
    BlurPool,
    Ema,
    Init,
    Loss,
    MixUp,
    OneOf,
    Optimizer,
    ProgressiveResizing,
    ResolutionRamp,
    Sam,
    Schedule,
    StochasticDepth,
)
from fastload.spec import Spec
from fastload.transforms import Mix, Op, Views


@dataclass(frozen=True)
class Training:
    """The training step that the data path is made for, as data.

    `fastload.recipes.step.TrainingStep` runs it.

    Args:
        model: Name of the network.
        epochs: Length of the training.
        global_batch_size: Images of a step over all GPUs.
        precision: "float32", "amp_fp16" or "amp_bf16".
        channels_last: Memory order of images and weights.
        optimizer: Its name and settings.
        schedule: Of the learning rate.
        loss: Its name and label smoothing.
        init: How weights begin; None: as the model's code has them.
        mixup: MixUp and CutMix; None: none. So are the following.
        sam: Sharpness-aware minimisation.
        ema: Moving average of the weights.
        blurpool: Blurred pooling.
        stochastic_depth: Blocks left out at random.
        progressive_resizing: Composer's sizes by epoch.
        resolution_ramp: FFCV's sizes by epoch.
        repeated_augmentation: How often each image comes in one epoch's order, each time augmented
            anew.

    Example:
        >>> from fastload import recipes
        >>> training = recipes.load("mild").training
        >>> training.model, training.epochs, training.global_batch_size
        ('resnet50', 36, 2048)
    """

    model: str
    epochs: Annotated[int, Between(1, 100_000)]
    global_batch_size: Annotated[int, Between(1, 10_000_000)]
    precision: Annotated[str, OneOf(("float32", "amp_fp16", "amp_bf16"))]
    channels_last: bool
    optimizer: Optimizer
    schedule: Schedule
    loss: Loss
    init: Init | None = None
    mixup: MixUp | None = None
    sam: Sam | None = None
    ema: Ema | None = None
    blurpool: BlurPool | None = None
    stochastic_depth: StochasticDepth | None = None
    progressive_resizing: ProgressiveResizing | None = None
    resolution_ramp: ResolutionRamp | None = None
    repeated_augmentation: Annotated[int, Between(1, 1000)] = 1


@dataclass(frozen=True)
class Recipe:
    """One way to train, whole: data path and training step.

    `fastload.recipes.load` makes it, and has checked it.

    Args:
        name: What users write, as in `--recipe hot`.
        title: What it is, in a few words.
        source: Where its numbers come from.
        where: The file that it was read from.
        train: Ops to train; where there are several views, of the first one.
        eval: Ops to evaluate.
        training: The training step.
        views: Ops, and how many views they make; empty: one image, by `train`.
        hash: 16 hexadecimal digits of SHA-256, of what the file says, not of its comments.

    Example:
        >>> import fastload
        >>> from fastload import recipes
        >>> hot = recipes.load("hot")
        >>> data = fastload.open("train", hot.transform())
        >>> [op.name for op in hot.ops()][:2], hot.spec().height
        (['RandomResizedCrop', 'RandomHorizontalFlip'], 167)
    """

    name: str
    title: str
    source: str
    where: str
    train: tuple[Op, ...]
    eval: tuple[Op, ...]
    training: Training
    views: tuple[tuple[tuple[Op, ...], int], ...] = ()
    hash: str = ""

    def ops(self, train: bool = True) -> tuple[Op, ...]:
        """The ops from a decoded image to the model's input, for training or for evaluation."""
        return self.train if train else self.eval

    def transform(self) -> Any:
        """For `fastload.open`, to train: Views where there are several, else the ops."""
        return Views(self.views) if self.views else list(self.train)

    def spec(self, train: bool = True) -> Spec:
        """One image of a batch."""
        return infer_specs(self.ops(train))[1]

    def mix(self, num_classes: int | None = None) -> Mix | None:
        """For `DataLoader(mix=...)`:

        MixUp and label smoothing; None where the recipe has neither. num_classes None: the data
        set's.
        """
        if self.views:  # nobody has labels for them
            return None
        smoothing, mixup = self.training.loss.label_smoothing, self.training.mixup
        mix = mixup.mix(smoothing, num_classes) if mixup else None
        return mix or (transforms.LabelSmoothing(smoothing, num_classes) if smoothing else None)

    def size_schedule(self) -> SizeSchedule | None:
        """For `DataLoader(size_schedule=...)`; None where the size is fixed."""
        training = self.training
        if training.progressive_resizing:
            return training.progressive_resizing.schedule(training.epochs)
        return training.resolution_ramp.schedule() if training.resolution_ramp else None

    def sizes(self) -> tuple[int, ...]:
        """Sides in px that training goes through, ascending; one where the size is fixed."""
        return tuple(sorted(set(self.size_per_epoch())))

    def size_per_epoch(self) -> tuple[int, ...]:
        """Side of the images in px, for each epoch."""
        side = self.spec().width or 0
        epochs = self.training.epochs
        resizing = self.training.progressive_resizing
        if resizing:
            return tuple(resizing.size(side, epoch / epochs) for epoch in range(epochs))
        ramp = self.training.resolution_ramp
        return tuple(ramp.schedule().size(side, epoch) if ramp else side for epoch in range(epochs))
