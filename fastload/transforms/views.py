"""Several pictures of one image, as self-supervised training wants them."""

import functools
from dataclasses import dataclass
from typing import Any

from fastload.errors import PipelineError

MOST = 64  # views of one image


@dataclass(frozen=True)
class Views:
    """A data set's transform that makes several views of each image.

    The image is read and decoded once. A loader's batches are [[images of view 1, images of view 2,
    …], labels]: what torch's default_collate makes of a list. Called with one image, it gives the
    list of its views. Sources: Chen et al. 2020, arXiv:2002.05709; Caron et al. 2020,
    arXiv:2006.09882, section 3.2.

    Args:
        pipelines: Of each view, what a transform may be; or (pipeline, how many views of it); kept
            as the latter. Views of one pipeline differ in their draws. Two views as in SimCLR:
            `Views([(pipeline, 2)])`; multi-crop as in DINO: `Views([(large, 2), (small, 6)])`.

    Raises:
        PipelineError: There are too few views or too many.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> large, small = T.RandomResizedCrop(64), T.RandomResizedCrop(32)
        >>> views = T.Views([(large, 2), small])
        >>> [view.size for view in views(Image.new("RGB", (120, 90)))]
        [(64, 64), (64, 64), (32, 32)]
    """

    pipelines: Any

    def __post_init__(self) -> None:
        pipelines = (
            self.pipelines if isinstance(self.pipelines, (list, tuple)) else [self.pipelines]
        )
        object.__setattr__(
            self,
            "pipelines",
            tuple(entry if _counted(entry) else (entry, 1) for entry in pipelines),
        )
        problems = [
            f"Views: pipeline {number} is wanted {count} times, want 1 or more"
            for number, (_, count) in enumerate(self.pipelines, start=1)
            if isinstance(count, bool) or count < 1
        ]
        if not problems and not 1 <= len(self) <= MOST:
            problems.append(
                f"Views: {len(self)} views, want 1 to {MOST}; give pipelines, or (pipeline, count)"
            )
        if problems:
            raise PipelineError(problems)

    @property
    def each(self) -> tuple[Any, ...]:
        """Every view's pipeline, in order."""
        return tuple(pipeline for pipeline, count in self.pipelines for _ in range(count))

    def __len__(self) -> int:
        return sum(count for _, count in self.pipelines)

    def __call__(self, image: Any) -> list[Any]:
        return [_made(pipeline, image) for pipeline in self.each]


def _counted(entry: object) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], int)


def _made(pipeline: Any, image: Any) -> Any:
    if isinstance(pipeline, (list, tuple)):
        return functools.reduce(lambda now, step: _made(step, now), pipeline, image)
    return image if pipeline is None else pipeline(image)
