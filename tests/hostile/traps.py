"""Batches that are traps: whoever does more than look at them is noted, or never returns."""

from typing import Any

from torch.utils.data import Dataset

ASKED: list[str] = []  # what of a trap has run


class Gives(Dataset):
    """Its collate function gives these batches, one each."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> int:
        return index

    def collate(self, indices: list[int]) -> Any:
        return self.batches[indices[0]]
