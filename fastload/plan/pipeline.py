"""What to do, frozen and unchecked: a source and ops. `plan()` checks it and says how."""

from dataclasses import dataclass, replace

from fastload.plan.forms import Form
from fastload.plan.joint import Joint
from fastload.sources import Source
from fastload.sources.fields import Target
from fastload.sources.masks import Masks
from fastload.transforms import Op


@dataclass(frozen=True)
class Pipeline:
    source: Source
    ops: tuple[Op, ...] = ()
    # In place of ops: those of each of a sample's several pictures
    views: tuple[tuple[Op, ...], ...] = ()
    masks: Masks | None = None  # in place of labels
    target: Target | None = None  # in place of labels
    form: Form | None = None  # of a sample in a batch; None: [images, labels]
    # Of a mix whose parts have ops of their own: each part's name and ops; `ops` are the first's
    by_part: tuple[tuple[str, tuple[Op, ...]], ...] = ()
    joint: Joint | None = None  # in place of ops and labels

    @property
    def pictures(self) -> tuple[tuple[Op, ...], ...]:
        """The ops of each picture that a sample becomes."""
        return self.views or (self.ops,)

    def with_ops(self, ops: tuple[Op, ...]) -> "Pipeline":
        """The same with these ops, for all samples alike."""
        return replace(self, ops=ops, by_part=())
