"""Pipelines of public code of 2022 to 2026, and data set classes as people write them; see
pipelines_table.py.
"""

from typing import Any

import torch
from torchvision import transforms as T
from torchvision.transforms import v2

from benchmarks.pages import pipelines_newer_user as user
from benchmarks.pages import pipelines_user
from benchmarks.pages.pipelines_parts import (
    BICUBIC,
    BILINEAR,
    TIMM,
    Pipeline,
    evaluation,
    floats,
    jitter,
    timm,
)

HALF = (0.5, 0.5, 0.5)
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
USER = "benchmarks.pages.pipelines_newer_user"


def own_data(kind: str, why: str) -> str:
    return f"data set {USER}.{kind} is not one that fastload can follow: it {why}"


def own_step(kind: str, why: str) -> str:
    return f"transform {USER}.{kind} is not one that fastload knows: it {why}"


VIEWS = "; fastload.transforms.Views makes several views natively"


def dinov2(size: int) -> Any:
    def chain(pixels: int, low: float, high: float, *last: Any) -> T.Compose:
        crop = T.RandomResizedCrop(pixels, scale=(low, high), interpolation=BICUBIC)
        colour = [jitter(0.4, 0.4, 0.2, 0.1), T.RandomGrayscale(p=0.2)]
        return floats(crop, T.RandomHorizontalFlip(), *colour, *last)

    def blur(p: float) -> T.RandomApply:
        return T.RandomApply([T.GaussianBlur(9, sigma=(0.1, 2.0))], p=p)

    second = (blur(0.1), T.RandomSolarize(128, p=0.2))
    return user.Crops(
        chain(size, 0.32, 1.0, blur(1.0)),
        chain(size, 0.32, 1.0, *second),
        chain(size * 98 // 224, 0.05, 0.32, blur(0.5)),
        8,
    )


def two_chains(size: int, *, before: bool) -> Any:
    """before: whether the flip comes before the colours."""

    def chain(blur: float, solarized: float) -> T.Compose:
        flip = T.RandomHorizontalFlip()
        colour = [
            jitter(0.4, 0.4, 0.2, 0.1),
            T.RandomGrayscale(p=0.2),
            user.SometimesBlurred(blur),
            user.SometimesSolarized(solarized),
        ]
        ops = [flip, *colour] if before else [*colour, flip]
        how = BICUBIC if before else BILINEAR
        return floats(T.RandomResizedCrop(size, scale=(0.08, 1.0), interpolation=how), *ops)

    return user.TwoChains(chain(1.0, 0.0), chain(0.1, 0.2))


def simmim(size: int) -> Any:
    crop = T.RandomResizedCrop(size, scale=(0.67, 1.0), ratio=(3 / 4, 4 / 3))
    return user.WithMask(floats(pipelines_user.to_rgb, crop, T.RandomHorizontalFlip()), 12)


def clip(size: int) -> T.Compose:
    crop = T.RandomResizedCrop(size, scale=(0.9, 1.0), interpolation=BICUBIC)
    return floats(crop, pipelines_user.to_rgb, mean=CLIP_MEAN, std=CLIP_STD)


def ultralytics(size: int) -> T.Compose:
    policy = T.RandAugment(interpolation=BILINEAR)
    return T.Compose(
        [
            T.RandomResizedCrop(size, scale=(0.5, 1.0), interpolation=BILINEAR),
            T.RandomHorizontalFlip(0.5),
            policy,
            T.ToTensor(),
            T.Normalize((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
            T.RandomErasing(p=0.4, inplace=True),
        ]
    )


def dit(size: int) -> T.Compose:
    return diffusion(T.Lambda(lambda image: user.centre_square(image, size)))


def diffusion(*before: Any) -> T.Compose:
    return floats(*before, T.RandomHorizontalFlip(), mean=HALF, std=HALF)


def var(size: int) -> T.Compose:
    lanczos = T.InterpolationMode.LANCZOS
    crop = [T.Resize(round(1.125 * size), interpolation=lanczos), T.RandomCrop(size)]
    return T.Compose([T.RandomHorizontalFlip(), *crop, T.ToTensor(), user.to_both_signs])


def tensors(size: int) -> v2.Compose:
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


NEWER = (
    Pipeline("DINOv2", "facebookresearch/dinov2 data/augmentations.py", 224, dinov2),
    Pipeline("DINOv2, linear evaluation", "facebookresearch/dinov2 data/transforms.py", 224,
             lambda s: T.Compose([T.Resize(s * 8 // 7, interpolation=BICUBIC), T.CenterCrop(s),
             user.MaybeToTensor(), T.Normalize(HALF, HALF)])),
    Pipeline("MoCo v3", "facebookresearch/moco-v3 main_moco.py", 224,
             lambda s: two_chains(s, before=False)),
    Pipeline("VICReg", "facebookresearch/vicreg augmentations.py", 224,
             lambda s: two_chains(s, before=True)),
    Pipeline("I-JEPA", "facebookresearch/ijepa src/transforms.py", 224,
             lambda s: floats(T.RandomResizedCrop(s, scale=(0.3, 1.0)))),
    Pipeline("SimMIM", "microsoft/SimMIM data/data_simmim.py", 192, simmim,
             reason=own_step("WithMask", "calculates by Pow") + VIEWS),
    Pipeline("OpenCLIP, train", "mlfoundations/open_clip transform.py", 224, clip),
    Pipeline("SigLIP by OpenCLIP, evaluation", "mlfoundations/open_clip transform.py", 224,
             lambda s: floats(T.Resize((s, s), interpolation=BICUBIC), pipelines_user.to_rgb,
             mean=HALF, std=HALF)),
    Pipeline("timm, aspect ratio kept (rkrc)", f"{TIMM} train.py", 224,
             lambda s: timm(s, train_crop_mode="rkrc"), "ImageDataset"),
    Pipeline("Swin V2, evaluation", "microsoft/Swin-Transformer data/build.py", 256,
             lambda s: evaluation(s, 256, 224, interpolation=BICUBIC)),
    Pipeline("DiT, SiT", "facebookresearch/DiT train.py", 256,
             dit, reason="transform torchvision.transforms.transforms.Lambda calls "
             "benchmarks.pages.pipelines_newer.dit.<locals>.<lambda>, which fastload cannot see "
             f"into: it uses {USER}.centre_square"),
    Pipeline("Diffusers, unconditional", "huggingface/diffusers train_unconditional.py", 64,
             lambda s: diffusion(T.Resize(s, interpolation=BILINEAR), T.RandomCrop(s))),
    Pipeline("VAR", "FoundationVision/VAR utils/data.py", 256, var),
    Pipeline("Segment Anything, images only", "facebookresearch/segment-anything transforms.py",
             1024, user.LongestSide, reason=own_step("LongestSide", "calls max")),
    Pipeline("Ultralytics, classification", "ultralytics/ultralytics data/augment.py", 224,
             ultralytics, "ThroughOpenCV", own_data("ThroughOpenCV",
             "uses cv2.imread")),
    Pipeline("MMPretrain-like: OpenCV, from bytes", "open-mmlab/mmpretrain", 224,
             lambda s: user.OfArrays(user.crop_resized(s), user.flipped), "FromBytes",
             own_data("FromBytes",
             "uses `self.paths[index].read_bytes`")),
    Pipeline("Albumentations-like data set with OpenCV", "Albumentations' and Kaggle's examples",
             224, lambda s: user.OfArrays(user.crop_resized(s), user.flipped, user.brightened),
             "ByOpenCV", own_data("ByOpenCV",
             "uses cv2.cvtColor")),
    Pipeline("Trainer's data set of dictionaries", "huggingface/transformers, examples", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip()), "ForTrainer"),
    Pipeline("RF-DETR-like: squares and boxes", "roboflow/rf-detr", 560,
             lambda s: floats(T.Resize((s, s))), "WithBoxes", own_data("WithBoxes",
             "uses `image.size`")),
    Pipeline("a data set of one's own, with targets", "as such data sets are often written", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip()), "WithBoxes",
             own_data("WithBoxes", "uses `image.size`")),
    Pipeline("a step of one's own, by OpenCV", "as such transforms are often written", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip(),
             user.Brightened()), reason=f"transform {USER}.Brightened: numpy.asarray is not one "
             "that fastload knows"),
    Pipeline("PyTorch's tutorial on own data sets", "pytorch/tutorials data_tutorial.py", 224,
             tensors, "ByTorchvision", own_data("ByTorchvision",
             "uses torchvision.io.decode_image")),
    Pipeline("the same tutorial, with Pillow and pandas", "pytorch/tutorials data_tutorial.py",
             224, lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip()), "FromTable"),
    Pipeline("medical: 16-bit PNGs in a window", "as such data sets are often written", 224,
             lambda s: v2.Resize((s, s), antialias=True), "SixteenBits", own_data("SixteenBits",
             "calls convert of a file")),
)  # fmt: skip
