"""Lightning's Trainer: fit, predict, checkpoints in the middle of an epoch, and the sampler that it
puts in for several devices.
"""

import pytest
import torch

from .helpers import CLASSES, FIXED, KINDS, made, needs, network

needs("lightning")

import lightning  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from lightning.pytorch.utilities.data import _update_dataloader  # noqa: E402
from torch.utils.data.distributed import DistributedSampler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # trainers on a CPU have many
STEPS, EPOCHS = 5, 3  # batches of 8


class Recorder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.seen = network(), []

    def training_step(self, batch, number):
        images, labels = batch
        self.seen.append(
            (self.current_epoch, number, images.double().sum().item(), labels.tolist())
        )
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def validation_step(self, batch, number):
        self.log("loss", torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1]))

    def predict_step(self, batch, number):
        return batch[1]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Images(lightning.LightningDataModule):
    """As the guide says: a loader with a seed is told the epoch where it is made, which after a
    resume is not 0.
    """

    def __init__(self, kind, folder, **arguments):
        super().__init__()
        self.make = lambda: made(kind, folder, shuffle=True, num_workers=1, **arguments)
        self.validation = lambda: made(kind, folder, FIXED)

    def train_dataloader(self):
        loader = self.make()
        if getattr(loader, "seed", None) is not None:
            loader.set_epoch(self.trainer.fit_loop.epoch_progress.current.processed)
        return loader

    def val_dataloader(self):
        return self.validation()


def trainer(out=None, every=None, epochs=EPOCHS, **options):
    saving = (
        []
        if out is None
        else [ModelCheckpoint(out, every_n_train_steps=every, save_top_k=-1, filename="{step}")]
    )
    return lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, callbacks=saving,
        enable_checkpointing=bool(saving),
        enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip


def fitted(data, path=None, **options):
    """What the model saw."""
    model = Recorder()
    trainer(**options).fit(model, datamodule=data, ckpt_path=path)
    return model.seen


@pytest.mark.parametrize("kind", KINDS)
def test_fit_runs_whole_epochs(kind, folder):
    torch.manual_seed(1)
    seen = fitted(Images(kind, folder), epochs=2)
    assert [(epoch, number) for epoch, number, *_ in seen] == [
        (epoch, number) for epoch in range(2) for number in range(STEPS)
    ]
    for epoch in range(2):
        labels = [label for at, _, _, some in seen if at == epoch for label in some]
        assert [labels.count(label) for label in range(CLASSES)] == [14, 13, 13]
    if kind != "torch":
        torch.manual_seed(1)
        assert [step[3] for step in seen] == [
            step[3] for step in fitted(Images("torch", folder), epochs=2)
        ]


@pytest.fixture(scope="module")
def saved(folder, tmp_path_factory):
    """A run's batches, and its checkpoints after each step."""
    out = str(tmp_path_factory.mktemp("lightning"))
    return fitted(Images("native", folder, seed=7), out=out, every=1), out


@pytest.mark.parametrize("step", [1, 4, 5, 6, 10, 14])  # 5 and 10 are an epoch's last batch
def test_a_checkpoint_resumes_to_the_same_batches(folder, saved, step):
    whole, out = saved
    assert fitted(Images("native", folder, seed=7), f"{out}/step={step}.ckpt") == whole[step:]


def test_a_checkpoint_at_the_end_of_an_epoch_resumes_to_the_next_one(folder, tmp_path):
    whole = fitted(Images("native", folder, seed=7), out=str(tmp_path))
    assert fitted(Images("native", folder, seed=7), f"{tmp_path}/step=5.ckpt") == whole[5:]


@pytest.mark.parametrize("kind", KINDS)
def test_predict_keeps_every_sample_in_order(kind, folder):
    loader = made(kind, folder, FIXED, drop_last=True, batch_size=16)
    found = trainer().predict(Recorder(), loader)
    assert torch.cat(found).tolist() == loader.dataset.targets


@pytest.mark.parametrize("kind", ["own", "native"])
def test_the_loader_that_lightning_makes_for_several_devices(kind, folder):
    loader = made(
        kind,
        folder,
        shuffle=True,
        num_workers=1,
        seed=4,
        on_error="substitute" if kind == "native" else "raise",
    )
    twin = _update_dataloader(loader, DistributedSampler(loader.dataset, num_replicas=2, rank=1))
    assert type(twin) is type(loader)
    assert type(twin.sampler) is DistributedSampler
    assert (twin.seed, twin.on_error, twin.num_workers, twin.batch_size) == (
        4,
        loader.on_error,
        1,
        8,
    )
    assert twin.explain() == loader.explain()
    assert sum(len(labels) for _, labels in twin) == 20
