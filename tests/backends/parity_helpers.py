"""Pipelines that the tests of parity share."""

from fastload.backends.table import BACKENDS
from fastload.parity.run import Setting

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SHORT = Setting(images=10, batch_size=4, seed=3)
OTHERS = [name for name in BACKENDS if name != "torch"]
