"""The jobs whose units a worker can make, by their names; nothing else is run for an engine."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.recipe import KIND as CONVERT
from fastload.conversion.cluster.recipe import opened, parse_recipe
from fastload.conversion.cluster.unit import unit
from fastload.conversion.cluster.work import Telling
from fastload.conversion.spread import filter, index, repair, verify
from fastload.spec import Json


class Kind(NamedTuple):
    """What a worker does for one kind of job, whose text is given each time.

    opened: whatever takes long, once; make: one unit, as JSON can hold it.
    """

    opened: Callable[[str], object]
    make: Callable[[str, Order, Telling], Json]


def _convert(text: str, order: Order, telling: Telling) -> Json:
    return unit(
        _parsed(text), order.number, write=order.write, advance=telling.advance, stop=telling.stop,
        ask=telling.ask,
    )  # fmt: skip


_parsed = lru_cache(maxsize=1)(parse_recipe)
KINDS = {
    CONVERT: Kind(lambda text: opened(_parsed(text)), _convert),
    verify.KIND: Kind(verify.opened, verify.make),
    index.KIND: Kind(index.opened, index.make),
    filter.KIND: Kind(filter.opened, filter.make),
    repair.KIND: Kind(repair.opened, repair.make),
}
