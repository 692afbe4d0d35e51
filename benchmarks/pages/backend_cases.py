"""Every op with the options that matter to a backend, as small pipelines; and the other things that
a plan may ask for.
"""

from typing import NamedTuple

from fastload import recipes
from fastload import transforms as T
from fastload.progressive import ProgressiveResize
from fastload.transforms import Mix, Op

SIZE = (40, 48)  # height, width; px: never square, so that a swap of x and y shows
CUT, STILL = T.RandomResizedCrop(SIZE), T.Resize(SIZE)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Case(NamedTuple):
    op: str
    option: str
    ops: tuple[Op, ...]
    mix: Mix | None = None


def crop() -> list[Case]:
    """CROP: the op stands where its option is about."""
    warps = (
        ("RandomAffine", T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 9)),
        ("RandomPerspective", T.RandomPerspective(p=1)),
    )
    turn = T.RandomRotation(20, "bilinear")
    return [
        *(Case("RandomResizedCrop", f"interpolation {name}", (T.RandomResizedCrop(SIZE,
        interpolation=name),))
          for name in ("bilinear", "nearest", "box", "bicubic", "hamming", "lanczos", "random")),
        Case("Resize", "first", (T.Resize(SIZE),)),
        Case("Resize", "shorter edge, then CenterCrop", (T.Resize(50), T.CenterCrop(SIZE))),
        Case("Resize", "bicubic", (T.Resize(50, "bicubic"), T.CenterCrop(SIZE))),
        Case("Resize", "after another resize", (T.RandomResizedCrop(60), T.Resize(SIZE))),
        Case("CenterCrop", "alone", (T.CenterCrop(SIZE),)),
        Case("CenterCrop", "beyond the image", (T.Resize((30, 36)), T.CenterCrop(SIZE))),
        Case("RandomCrop", "alone", (T.RandomCrop((30, 36), pad_if_needed=True),)),
        Case("RandomCrop", "padding, black", (STILL, T.RandomCrop(SIZE, 4))),
        Case("RandomCrop", "padding, a colour", (STILL, T.RandomCrop(SIZE, 4, fill=(120, 110,
        100)))),
        Case("RandomCrop", "padding, reflect", (STILL, T.RandomCrop(SIZE, 4,
        padding_mode="reflect"))),
        Case("Pad", "black", (STILL, T.Pad(3))),
        Case("Pad", "a colour", (STILL, T.Pad(3, (120, 110, 100)))),
        Case("Pad", "edge", (STILL, T.Pad(3, padding_mode="edge"))),
        Case("RandomHorizontalFlip", "after the crop", (CUT, T.RandomHorizontalFlip())),
        Case("RandomHorizontalFlip", "before the crop", (T.RandomHorizontalFlip(), CUT)),
        Case("RandomHorizontalFlip", "after ops of AUGMENT", (CUT, T.RandomInvert(),
        T.RandomHorizontalFlip())),
        Case("RandomVerticalFlip", "after the crop", (CUT, T.RandomVerticalFlip())),
        Case("RandomVerticalFlip", "before the crop", (T.RandomVerticalFlip(), CUT)),
        *(Case(name, "after the crop", (CUT, op)) for name, op in warps),
        *(Case(name, "before the crop", (op, CUT)) for name, op in warps),
        Case("RandomRotation", "after the crop", (CUT, turn)),
        Case("RandomRotation", "before the crop", (turn, CUT)),
        Case("RandomRotation", "expand", (CUT, T.RandomRotation(20, expand=True),
        T.CenterCrop(SIZE))),
    ]  # fmt: skip


AUGMENT = (
    ("AugMix", "", T.AugMix()), ("AugMix.timm", "", T.AugMix.timm()), ("AugMix.composer", "",
    T.AugMix.composer()),
    ("AutoAugment", "imagenet", T.AutoAugment()), ("AutoAugment", "cifar10",
    T.AutoAugment("cifar10")),
    ("AutoAugment", "svhn", T.AutoAugment("svhn")), ("AutoAugment.timm", "v0",
    T.AutoAugment.timm("v0")),
    ("ColorJitter", "", T.ColorJitter(0.4, 0.4, 0.4, 0.1)), ("GaussianBlur", "", T.GaussianBlur(9)),
    ("Grayscale", "3 channels", T.Grayscale(3)), ("Grayscale", "1 channel", T.Grayscale()),
    ("RandAugment", "", T.RandAugment()), ("RandAugment", "bilinear",
    T.RandAugment(interpolation="bilinear")),
    ("RandAugment.timm", "rand-m7-mstd0.5-inc1", T.RandAugment.timm("rand-m7-mstd0.5-inc1")),
    ("RandAugment.composer", "", T.RandAugment.composer()),
    ("RandomAdjustSharpness", "", T.RandomAdjustSharpness(2)), ("RandomAutocontrast", "",
    T.RandomAutocontrast()),
    ("RandomEqualize", "", T.RandomEqualize()), ("RandomGrayscale", "", T.RandomGrayscale(0.5)),
    ("RandomInvert", "", T.RandomInvert()),
    ("RandomPosterize", "", T.RandomPosterize(3)), ("RandomSolarize", "", T.RandomSolarize(128)),
    ("TrivialAugmentWide", "", T.TrivialAugmentWide()), ("TrivialAugmentWide.official", "",
    T.TrivialAugmentWide.official()),
    ("RandomApply", "", T.RandomApply([T.ColorJitter(0.4)], 0.8)),
    ("RandomChoice", "", T.RandomChoice([T.RandomInvert(), T.RandomPosterize(3)])),
    ("RandomOrder", "", T.RandomOrder([T.RandomInvert(), T.RandomPosterize(3)])),
)  # fmt: skip
STORE = (
    ("ToImage", "", (T.ToImage(),)), ("ToImage", "channels last", (T.ToImage(channels_last=True),)),
    ("PILToTensor", "", (T.PILToTensor(),)), ("ToTensor", "", (T.ToTensor(),)),
    ("ConvertImageDtype", "", (T.PILToTensor(), T.ConvertImageDtype())),
    *(("ToDtype", name, (T.ToImage(), T.ToDtype(name, scale=True))) for name in ("float32",
    "float16", "bfloat16")),
    ("ToDtype", "without scale", (T.ToImage(), T.ToDtype("float32"))), ("Normalize", "",
    (T.ToTensor(), T.Normalize(MEAN, STD))),
    ("ColOut", "a batch", (T.ToImage(), T.ColOut())), ("ColOut", "each sample", (T.ToImage(),
    T.ColOut(batch=False))),
    ("RandomErasing", "a value", (T.ToTensor(), T.RandomErasing())),
    ("RandomErasing", "noise", (T.ToTensor(), T.RandomErasing(value="random"))),
    ("RandomErasing", "before ColOut", (T.ToTensor(), T.RandomErasing(), T.ColOut())),
    ("RandomErasing.timm", "pixel, up to 3", (T.ToTensor(), T.RandomErasing.timm(mode="pixel",
    max_count=3))),
)  # fmt: skip
RSB = (  # wightman et al. 2021, arXiv:2110.00476, A1 and A2, at 224 px
    T.RandomResizedCrop(224, interpolation="random"), T.RandomHorizontalFlip(),
    T.RandAugment.timm("rand-m7-mstd0.5-inc1"), T.ToTensor(),
    T.Normalize(MEAN, STD),
)  # fmt: skip


def ops() -> list[Case]:
    """One case for each op and option; ops of AUGMENT and STORE come after a crop."""
    found = crop() + [Case(name, option, (CUT, op)) for name, option, op in AUGMENT]
    return found + [Case(name, option, (CUT, *steps)) for name, option, steps in STORE]


def whole() -> list[Case]:
    """Whole recipes, as they are trained, MixUp and smoothed labels too."""
    loaded = {
        name: recipes.load(name) for name in recipes.names()[:4]
    }  # others' recipes have the same ops
    found = [
        Case(f"recipe {name}", "", recipe.ops(), recipe.mix()) for name, recipe in loaded.items()
    ]
    return [*found, Case("recipe RSB A1, A2 (timm)", "", RSB)]


BASIC = (CUT, T.RandomHorizontalFlip(), T.ToImage())
SQUARE = (T.RandomResizedCrop(48), *BASIC[1:])  # as size schedules want it
PLANS = (  # option of the loader, and its words for fastload.plan.plan.plan
    ("decode_scale 'fast'", {"decode_scale": "fast"}),
    ("on_error 'substitute'", {"on_error": "substitute"}),
    ("on_error 'skip'", {"on_error": "skip"}),
    ("mix MixUp", {"mix": T.MixUp()}),
    *(
        (f"size_schedule, mode {mode!r}", {"schedule": ProgressiveResize(10, mode=mode)})
        for mode in ("decode", "resize", "crop")
    ),
)
