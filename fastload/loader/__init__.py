"""The drop-in: `DataLoader`, what it is told, orders, gives and says."""

from fastload.loader.loader import DataLoader, accelerate

__all__ = ["DataLoader", "accelerate"]
