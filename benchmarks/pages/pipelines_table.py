"""Training and evaluation pipelines of public recipes: which operations with which numbers, of
torchvision's and timm's classes.

Each is made for a size, px, so that tests can run it on small images; what a script resizes to
before it crops grows with it.
"""

from torchvision import transforms as T

from benchmarks.pages import pipelines_user as user
from benchmarks.pages.pipelines_newer import NEWER
from benchmarks.pages.pipelines_parts import (
    BICUBIC,
    BILINEAR,
    TIMM,
    Pipeline,
    byol,
    cifar,
    deit3,
    dino,
    evaluation,
    fixmatch,
    floats,
    moco,
    reference,
    second_api,
    simclr,
    timm,
)

USER = "benchmarks.pages.pipelines_user"
NATIVE = "backend native cannot run this plan:"
PRESETS = "pytorch/vision references/classification/presets.py"
PIPELINES = (
    Pipeline("torchvision reference, train", PRESETS, 224, reference),
    Pipeline("torchvision reference, RandAugment", PRESETS, 224,
             lambda s: reference(s, T.RandAugment(interpolation=BILINEAR, magnitude=9))),
    Pipeline("torchvision reference, TrivialAugment and erasing (ResNet-50 V2)", PRESETS, 176,
             lambda s: reference(s, T.TrivialAugmentWide(interpolation=BILINEAR), erase=0.1)),
    Pipeline("torchvision reference, AugMix", PRESETS, 224, lambda s: reference(s,
    T.AugMix(interpolation=BILINEAR, severity=3))),
    Pipeline("torchvision reference, AutoAugment", PRESETS, 224,
             lambda s: reference(s, T.AutoAugment(T.AutoAugmentPolicy.IMAGENET,
             interpolation=BILINEAR))),
    Pipeline("torchvision reference, second API", PRESETS, 176, second_api),
    Pipeline("torchvision reference, evaluation", PRESETS, 224, lambda s: evaluation(s, 232)),
    Pipeline("torchvision segmentation, train", "pytorch/vision references/segmentation/presets.py",
    480, user.OfPairs, "VOCSegmentation",
             "data set torchvision.datasets.voc.VOCSegmentation is not one that fastload reads "
             "(want torchvision's ImageFolder or another "
             "of docs/pipelines.md, or fastload.open)"),
    Pipeline("PyTorch ImageNet example, train", "pytorch/examples imagenet/main.py", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip())),
    Pipeline("PyTorch ImageNet example, evaluation", "pytorch/examples imagenet/main.py", 224,
    lambda s: evaluation(s, 256)),
    Pipeline("PyTorch transfer learning tutorial, train",
    "pytorch/tutorials beginner_source/transfer_learning_tutorial.py", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip()), "Subset"),
    Pipeline("ten crops, evaluation", "torchvision's documentation of TenCrop", 224,
             lambda s: T.Compose([T.Resize(s * 8 // 7), T.TenCrop(s), T.Lambda(user.stacked)]),
             reason="transform torchvision.transforms.transforms.TenCrop is not one that fastload "
                    "knows\n"
             f"transform torchvision.transforms.transforms.Lambda calls {USER}.stacked, which "
             "fastload cannot see into: it goes through an image"),
    Pipeline("timm, defaults (prefetcher)", f"{TIMM} train.py", 224,
             lambda s: timm(s, interpolation="random", use_prefetcher=True), "ImageDataset"),
    Pipeline("timm, RandAugment rand-m9-mstd0.5-inc1 (prefetcher)",
    f"{TIMM} train.py; Swin, ConvNeXt", 224,
             lambda s: timm(s, auto_augment="rand-m9-mstd0.5-inc1", interpolation="bicubic",
             use_prefetcher=True), "ImageDataset"),
    Pipeline("timm, RSB A2 (rand-m7-mstd0.5-inc1)", "arXiv:2110.00476", 224,
             lambda s: timm(s, auto_augment="rand-m7-mstd0.5-inc1", interpolation="bicubic"),
             "ImageDataset"),
    Pipeline("timm, AugMix augmix-m5-w4-d2", f"{TIMM} train.py", 224, lambda s: timm(s,
    auto_augment="augmix-m5-w4-d2"), "ImageDataset"),
    Pipeline("timm, AutoAugment original-mstd0.5 and erasing", f"{TIMM} train.py; EfficientNet",
    224,
             lambda s: timm(s, auto_augment="original-mstd0.5", re_prob=0.2,
             interpolation="bicubic"), "ImageDataset"),
    Pipeline("timm, 3-Augment (DeiT III)", f"{TIMM} auto_augment.py", 224,
             lambda s: timm(s, auto_augment="3a", color_jitter=0.3, interpolation="bicubic"),
             "ImageDataset"),
    Pipeline("timm, SimCLR-like", f"{TIMM} train.py", 224,
             lambda s: timm(s, color_jitter_prob=0.8, grayscale_prob=0.2, interpolation="random"),
             "ImageDataset"),
    Pipeline("timm, noise erasing without prefetcher (DeiT, MAE fine-tuning)",
    "facebookresearch/deit datasets.py", 224,
             lambda s: timm(s, auto_augment="rand-m9-mstd0.5-inc1", interpolation="bicubic",
             re_prob=0.25, re_mode="pixel"), "ImageFolder"),
    Pipeline("timm, evaluation, crop_pct 0.95", f"{TIMM} validate.py", 224,
             lambda s: timm(s, is_training=False, crop_pct=0.95, interpolation="bicubic"),
             "ImageDataset"),
    Pipeline("timm, evaluation, squash", f"{TIMM} validate.py", 224,
             lambda s: timm(s, is_training=False, crop_pct=1.0, crop_mode="squash",
             interpolation="bicubic"), "ImageDataset"),
    Pipeline("timm, evaluation, border", f"{TIMM} validate.py", 224,
             lambda s: timm(s, is_training=False, crop_mode="border"), "ImageDataset",
             "transform timm.data.transforms.ResizeKeepRatio is not one that fastload knows\n"
             "transform timm.data.transforms.CenterCropOrPad has an argument that fastload does "
             "not take (padding_mode 'constant', "
             "fill [124, 116, 104])"),
    Pipeline("DeiT III's own 3-Augment", "facebookresearch/deit augment.py", 224, deit3),
    Pipeline("MAE, pre-training", "facebookresearch/mae main_pretrain.py", 224,
             lambda s: floats(T.RandomResizedCrop(s, scale=(0.2, 1.0), interpolation=3),
             T.RandomHorizontalFlip())),
    Pipeline("SimCLR, one view", "arXiv:2002.05709, appendix A", 224, simclr),
    Pipeline("SimCLR, two views", "arXiv:2002.05709, appendix A", 224,
    lambda s: user.TwoViews(simclr(s))),
    Pipeline("MoCo v2", "facebookresearch/moco main_moco.py", 224, moco),
    Pipeline("BYOL, first view", "arXiv:2006.07733, appendix B", 224, lambda s: byol(s, 1.0, 0.0)),
    Pipeline("BYOL, second view", "arXiv:2006.07733, appendix B", 224, lambda s: byol(s, 0.1, 0.2)),
    Pipeline("DINO, 2 large and 8 small crops", "facebookresearch/dino main_dino.py", 224, dino),
    Pipeline("SwAV", "facebookresearch/swav src/multicropdataset.py", 224, dino, "MultiCropFolder",
             f"data set {USER}.MultiCropFolder is not one that fastload reads (want torchvision's "
             "ImageFolder or another "
             "of docs/pipelines.md, or fastload.open)"),
    Pipeline("CIFAR, crop and flip", "kuangliu/pytorch-cifar main.py", 32, cifar, "CIFAR10"),
    Pipeline("CIFAR, AutoAugment", "arXiv:1805.09501", 32, lambda s: cifar(s,
    T.AutoAugment(T.AutoAugmentPolicy.CIFAR10)), "CIFAR10"),
    Pipeline("CIFAR, cutout", "arXiv:1708.04552", 32, lambda s: cifar(s, last=(user.Cutout(s // 2),
    )), "CIFAR10",
             f"transform {USER}.Cutout is not one that fastload knows: it has "
             "`(random.randrange(length) - self.side // 2 for length in ima`"),
    Pipeline("CIFAR, mirrored padding (WideResNet)", "arXiv:1605.07146", 32, lambda s: cifar(s,
    padding_mode="reflect"), "CIFAR10",
             f"{NATIVE} op 1 (RandomCrop) has padding_mode 'reflect'; the native engine pads with "
             "black"),
    Pipeline("FixMatch, weak and strong", "arXiv:2001.07685", 32, fixmatch, "CIFAR10",
             "\n".join(
                 f"{NATIVE} view {view}: op 2 (RandomCrop) has padding_mode 'reflect'; the native "
                 "engine pads with black"
                 for view in (1, 2)
             )),
    Pipeline("MNIST example", "pytorch/examples mnist/main.py", 28, lambda _: floats(mean=(0.1307,),
    std=(0.3081,)), "MNIST",
             "MNIST has images of one channel, and the native engine stores three (add "
             "Grayscale(3) before other colour ops)"),
    Pipeline("Hugging Face image-classification example (data by from_huggingface)",
             "huggingface/transformers run_image_classification.py", 224,
             lambda s: floats(T.RandomResizedCrop(s), T.RandomHorizontalFlip())),
    Pipeline("ffcv-imagenet, train (its equivalent)", "libffcv/ffcv-imagenet train_imagenet.py",
    192,
             lambda s: T.Compose([T.RandomResizedCrop(s), T.RandomHorizontalFlip(),
             T.PILToTensor()])),
    Pipeline("Composer ResNet-50, train", "mosaicml/composer composer/datasets/imagenet.py", 176,
             lambda s: T.Compose([T.RandomResizedCrop(s, scale=(0.08, 1.0), ratio=(0.75, 4 / 3)),
             T.RandomHorizontalFlip()]),
             reason="its transform makes no tensor (no ToImage, PILToTensor or ToTensor)"),
    Pipeline("CLIP, preprocessing", "openai/CLIP clip/clip.py", 224,
             lambda s: T.Compose([T.Resize(s, interpolation=BICUBIC), T.CenterCrop(s), user.to_rgb,
             T.ToTensor()])),
    *NEWER,
)  # fmt: skip
