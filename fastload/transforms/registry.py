"""Ops by name, as recipes and lowering find them: fastload's own, and those of other distributions.

Another distribution adds an op by an entry point of the group "fastload.ops", whose object is a
Record. docs/extending-ops.md is the guide.
"""

from fastload import transforms
from fastload.errors import UsageError
from fastload.system.extensions import Record, Table
from fastload.transforms.base import Op


def _is_op(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Op) and value is not Op


OWN = tuple(
    Record(name, "fastload.transforms")
    for name in transforms.__all__
    if _is_op(getattr(transforms, name))
)
OPS = Table("fastload.ops", Record, OWN, UsageError)


def named(name: str) -> type[Op]:
    """The class of that name in its record's module. Raises KeyError for a name that nobody has,
    and UsageError for a broken entry point.
    """
    op: type[Op] | None = getattr(OPS.import_module(name), name, None)
    if op is None or not _is_op(op):
        who = OPS.distribution(name)
        raise UsageError(
            f"entry point {name!r} of fastload.ops in {who}: {OPS[name].module} has no op of that "
            f"name; update or uninstall {who}"
        )
    return op
