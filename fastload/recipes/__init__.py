"""Recipes: complete ways to train, as data.

The data path becomes ops; `step.TrainingStep` runs the training step.
"""

import os

from fastload.errors import UsageError, mistyped
from fastload.recipes.parse import parse, read_toml
from fastload.recipes.schema import Recipe, Training

__all__ = ["Recipe", "Training", "load", "names"]

# MosaicML's in the order of their strength, then others'.
BUILT_IN = (
    "baseline", "mild", "medium", "hot", "nvidia-baseline", "timm-a1", "timm-a2", "timm-a3",
    "pytorch-blog", "ffcv-rn50",
)  # fmt: skip


def names() -> tuple[str, ...]:
    """The recipes that come with fastload.

    Example:
        >>> from fastload import recipes
        >>> recipes.names()[:4]
        ('baseline', 'mild', 'medium', 'hot')
    """
    return BUILT_IN


def load(name_or_path: str | os.PathLike[str]) -> Recipe:
    """A recipe by name, or from a TOML file of the same form.

    Args:
        name_or_path: One of `names()`, or the path of a file that ends with ".toml".

    Raises:
        UsageError: The name is unknown, or the file is not TOML.
        PipelineError: The recipe is wrong; every problem is named.

    Example:
        >>> from fastload import recipes
        >>> recipes.load("hot").training.epochs
        270
    """
    path = os.fspath(name_or_path)
    if path in BUILT_IN:
        path = os.path.join(os.path.dirname(__file__), f"{path}.toml")
    elif not path.endswith(".toml"):
        raise mistyped(
            UsageError(
                f"recipe: {path!r} is unknown (want {', '.join(BUILT_IN)} or a .toml file); see "
                "fastload recipes list"
            ),
            path,
            BUILT_IN,
        )
    return parse(read_toml(path), path)
