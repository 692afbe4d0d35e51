"""timm's parts as its train script puts them together, with only the loader swapped."""

import pytest
import torch
from timm.data import AugMixDataset, FastCollateMixup, Mixup, create_dataset, create_loader
from timm.loss import JsdCrossEntropy, LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.models import create_model, resume_checkpoint
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import AverageMeter, CheckpointSaver, ModelEmaV3, accuracy

import fastload

from .helpers import CLASSES

# timm leaves closing files to the garbage collector, and its optimizers and schedulers warn.
pytestmark = pytest.mark.filterwarnings("ignore")
CPU = torch.device("cpu")
MIX = {"mixup_alpha": 0.2, "cutmix_alpha": 1.0, "label_smoothing": 0.1, "num_classes": CLASSES}
# What is asked of the train script → the loaders' arguments, and who runs them.
CASES = {
    "plain": ({}, "backend native"),
    "strong": (
        {"auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.25, "interpolation": "random"},
        "backend native",
    ),
    "no prefetcher": ({"use_prefetcher": False}, "backend native"),
    "repeats": ({"worker_seeding": "all", "persistent_workers": True}, "backend native"),
    "mixup in the collate function": (
        {"collate_fn": FastCollateMixup(**MIX)},
        "PyTorch's own engine",
    ),
    "augmix splits": (
        {"num_aug_splits": 2, "auto_augment": "augmix-m3-w2"},
        "PyTorch's own engine",
    ),
}


def loaders(folder, case, swap):
    """Of training and evaluation, both passed through `swap`."""
    given = {
        "input_size": (3, 24, 24),
        "batch_size": 8,
        "num_workers": 1,
        "device": CPU,
        "persistent_workers": False,
    }
    train, evaluation = (
        create_dataset("", root=folder, is_training=training, batch_size=8)
        for training in (True, False)
    )
    if CASES[case][0].get("num_aug_splits"):
        train = AugMixDataset(train, num_splits=2)
    made = create_loader(train, is_training=True, **given | CASES[case][0])
    prefetcher = CASES[case][0].get("use_prefetcher", True)
    return swap(made), swap(create_loader(evaluation, use_prefetcher=prefetcher, **given))


def loss_of(case):
    if "mixup" in case or case == "no prefetcher":
        return SoftTargetCrossEntropy()
    return JsdCrossEntropy(num_splits=2) if "augmix" in case else LabelSmoothingCrossEntropy(0.1)


def validate(model, loader):
    model.eval()
    losses, top1 = AverageMeter(), AverageMeter()
    with torch.no_grad():
        for images, target in loader:
            output = model(images)
            losses.update(torch.nn.functional.cross_entropy(output, target).item(), images.size(0))
            top1.update(accuracy(output, target, topk=(1,))[0].item(), images.size(0))
    model.train()
    return {"loss": losses.avg, "top1": top1.avg, "count": losses.count}


def trained(folder, case, out):
    """Two epochs; the number of updates, and the metrics of an untrained and of the trained
    model.
    """
    torch.manual_seed(2)
    model = create_model("test_resnet", num_classes=CLASSES)
    train, evaluation = loaders(folder, case, fastload.accelerate)
    before = validate(model, evaluation)
    optimizer, ema = create_optimizer_v2(model, opt="sgd", lr=0.01), ModelEmaV3(model, decay=0.5)
    scheduler, epochs = create_scheduler_v2(optimizer, num_epochs=2, updates_per_epoch=len(train))
    saver = CheckpointSaver(
        model, optimizer, model_ema=ema, checkpoint_dir=str(out), recovery_dir=str(out)
    )
    mixup, loss, updates = Mixup(**MIX), loss_of(case), 0
    for epoch in range(epochs):
        if epoch and "mixup" in case:
            train.mixup_enabled = False  # --mixup-off-epoch
        for number, (images, target) in enumerate(train):
            if case == "no prefetcher":
                images, target = mixup(images, target)
            value = loss(model(images), target)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            ema.update(model)
            updates += 1
            if number == 1:
                saver.save_recovery(epoch, batch_idx=number)
            scheduler.step_update(num_updates=updates, metric=value.item())
        scheduler.step(epoch + 1)
    after = validate(model, evaluation)
    saver.save_checkpoint(epoch, metric=after["top1"])
    assert resume_checkpoint(model, str(out / "last.pth.tar"), optimizer, log_info=False) == 2
    return updates, before, after, train


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_the_train_scripts_epochs(folder, case, tmp_path):
    updates, before, after, train = trained(folder, case, tmp_path)
    inner = getattr(train, "loader", train)
    assert inner.explain().startswith(CASES[case][1]), inner.explain()
    assert updates == 10
    assert after["count"] == before["count"] == 40
    assert torch.isfinite(torch.tensor(after["loss"]))
    assert train.sampler is inner.sampler  # what the script reads of the loader
    assert train.dataset is inner.dataset
    torch.manual_seed(2)
    model, theirs = (
        create_model("test_resnet", num_classes=CLASSES),
        loaders(folder, case, lambda loader: loader),
    )
    assert len(train) == len(theirs[0])
    assert validate(model, theirs[1]) == before
