"""A package that adds three ops to fastload. Only their records are here."""

from fastload.system.extensions import Record

POSTER = Record("RandomPoster", "toy_ops.ops", summary="few values, inverted")
SQUARE = Record("Square", "toy_ops.ops", summary="values times themselves")
VIGNETTE = Record("Vignette", "toy_ops.ops", summary="black corners")
