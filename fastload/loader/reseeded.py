"""The seed of an epoch, which a resumed one may have from before."""

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload.loader.base import BaseLoader


class Reseeded(_BaseDataLoaderIter):
    """Stands before PyTorch's base class, which draws a seed, in the order of classes: a resumed
    epoch's may be known.
    """

    def __init__(self, loader: BaseLoader[object]) -> None:
        known = loader._progress.base_seed
        source = torch.default_generator if loader.generator is None else loader.generator
        before = None if known is None else source.get_state()
        super().__init__(loader)
        if before is not None:  # workers had it from an earlier epoch: this one draws after it
            source.set_state(before)
        if known is None:
            known = getattr(loader._progress.keeper, "base_seed", None)
        if known is not None:
            self._base_seed = known
