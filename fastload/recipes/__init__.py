"""Recipes: complete ways to train, as data.

The data path becomes ops; `step.TrainingStep` runs the training step.
"""

import os

from fastload.errors import UsageError
from fastload.recipes.parse import parse, read_toml
from fastload.recipes.schema import Recipe, Training

__all__ = ["Recipe", "Training", "load", "names"]

# MosaicML's in the order of their strength, then others'.
BUILT_IN = (
    "baseline", "mild", "medium", "hot", "nvidia-baseline", "timm-a1", "timm-a2", "timm-a3",
    "pytorch-blog", "ffcv-rn50",
)  # fmt: skip


def names() -> tuple[str, ...]:
    """The recipes that come with fastload."""
    return BUILT_IN


def load(name_or_path: str | os.PathLike[str]) -> Recipe:
    """A recipe by name, or from a TOML file of the same form.

    Raises UsageError for a name that is unknown and a file that is not TOML, PipelineError with
    every problem of a recipe.
    """
    path = os.fspath(name_or_path)
    if path in BUILT_IN:
        path = os.path.join(os.path.dirname(__file__), f"{path}.toml")
    elif not path.endswith(".toml"):
        raise UsageError(
            f"recipe: {path!r} is unknown (want {', '.join(BUILT_IN)} or a .toml file); see "
            "fastload recipes list"
        )
    return parse(read_toml(path), path)
