"""What an op does to one image: the function that the reference's files register for its class."""

from functools import singledispatch

from fastload.errors import PipelineError
from fastload.spec import Records
from fastload.transforms.base import ImageLike, Op


@singledispatch
def pixels(op: Op, image: ImageLike, record: Records) -> ImageLike:
    """The image after the op, by one sample's record; a function for a class is registered with
    `@pixels.register` and serves its subclasses.

    PIL images up to the first op that makes a tensor, then tensors [C, H, W].
    """
    raise PipelineError([f"{op.name} has no reference; register one (reference.pixels)"])


def known(op: Op) -> bool:
    """Whether there is a function for its class."""
    return pixels.dispatch(type(op)) is not pixels.dispatch(object)
