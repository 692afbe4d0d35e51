"""Hugging Face's Trainer, with the loader that it makes put into fastload: rows are dicts, so
PyTorch's own engine runs it.
"""

import pytest
import torch

import fastload

from .helpers import CLASSES, FIXED, Mine, needs, network

needs("transformers", "accelerate")

import transformers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Rows(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.images = Mine(folder, FIXED)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.images[index]
        return {"pixel_values": image, "labels": label}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = network()

    def forward(self, pixel_values, labels):
        logits = self.inner(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Swapped(transformers.Trainer):
    def get_train_dataloader(self):
        return fastload.accelerate(super().get_train_dataloader())

    def get_eval_dataloader(self, eval_dataset=None):
        return fastload.accelerate(super().get_eval_dataloader(eval_dataset))


def trained(cls, folder, out, resume=None):
    """The log's losses of 2 epochs with a checkpoint in the first, and of evaluation."""
    transformers.set_seed(3)
    arguments = transformers.TrainingArguments(
        str(out), num_train_epochs=2, per_device_train_batch_size=8, save_steps=3, logging_steps=1,
        report_to=[], use_cpu=True,
        dataloader_num_workers=1, disable_tqdm=True, seed=3,
    )  # fmt: skip
    trainer = cls(Model(), arguments, train_dataset=Rows(folder), eval_dataset=Rows(folder))
    trainer.train(resume_from_checkpoint=resume)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return losses, trainer.evaluate()["eval_loss"]


def test_the_losses_are_those_of_pytorchs_loader(folder, tmp_path):
    got, want = (
        trained(cls, folder, tmp_path / cls.__name__) for cls in (Swapped, transformers.Trainer)
    )
    assert len(got[0]) == 10
    assert CLASSES == 3
    assert got == want
    resumed = trained(
        Swapped, folder, tmp_path / "Swapped", str(tmp_path / "Swapped" / "checkpoint-3")
    )
    assert resumed == want
