"""The drop-in: `DataLoader`, what it is told, orders, gives and says."""

from fastload.loader.accelerating import accelerate
from fastload.loader.loader import DataLoader

__all__ = ["DataLoader", "accelerate"]
