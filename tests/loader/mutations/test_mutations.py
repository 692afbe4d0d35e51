"""After any change batches are PyTorch's: equal natively, or made by PyTorch's engine, which
explain() says.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.data

import fastload
from tests.loader.mutations.cases import DATA, SETTINGS, Mutation
from tests.loader.mutations.worlds import WORLDS

pytestmark = pytest.mark.filterwarnings(
    # Timm leaves files to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:Anti-alias option",  # given once per image by PyTorch's engine
)  # fmt: skip
BATCH = 4
WHEN = ("before the first epoch", "between")


class Both:
    """A loader of fastload's and one of PyTorch's, over data sets of their own that are changed
    alike.
    """

    def __init__(self, mutation: Mutation, images: str, **options: Any) -> None:
        self.sets = [WORLDS[mutation.world](images) for _ in range(2)]
        self.mutation, self.options, self.done = mutation, options, 0

    def change(self) -> None:
        self.done += 1
        for data in self.sets:
            self.mutation.change(data, self.done)

    def build(self) -> None:
        self.ours = outcome(lambda: fastload.DataLoader(self.sets[0], BATCH, **self.options))

    def same(self) -> None:
        """One epoch."""
        want = outcome(lambda: list(torch.utils.data.DataLoader(self.sets[1], BATCH)))
        got = self.ours if isinstance(self.ours, Exception) else outcome(lambda: list(self.ours))
        if isinstance(want, Exception):
            assert isinstance(got, type(want)), (got, want)
        else:
            assert not isinstance(got, Exception), got
            assert_same(got, want)

    def native(self) -> None:
        """What follows would prove nothing otherwise."""
        assert self.ours.explain().startswith("backend native"), self.ours.explain()


def outcome(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:
        return error


def assert_same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if isinstance(want, torch.Tensor):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert torch.equal(got, want)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            assert_same(mine, theirs)
    else:
        assert got == want


def lives(both: Both, when: str, changes: int = 1) -> None:
    """Build, run and change in the order that `when` says; in the end a loader that is made after
    the change.
    """
    both.build()
    both.native()
    if when == "between":
        both.same()
        both.native()
    for _ in range(changes):
        both.change()
        both.same()
    both.build()
    both.same()


# That a second change is seen, says a third of them; that one before the first epoch is, a sixth,
# and another sixth in the long set.
CASES = [(WHEN[1], it, 2 if number % 3 == 1 else 1) for number, it in enumerate(DATA)]
CASES += [(WHEN[0], it, 1) for it in DATA[::6]]
CASES += [pytest.param(WHEN[0], it, 1, marks=pytest.mark.long) for it in DATA[3::6]]


@pytest.mark.parametrize(
    ("when", "mutation", "changes"),
    CASES,
    ids=lambda it: f"{it.world}, {it.name}" if isinstance(it, Mutation) else str(it),
)
def test_a_changed_data_set_gives_torchs_batches(
    when: str, mutation: Mutation, changes: int, images: str
) -> None:
    lives(Both(mutation, images), when, changes)


PERSISTENT = {"num_workers": 1, "persistent_workers": True}
SEEN = [it for it in DATA if it.world in ("folder", "CIFAR", "nested")][::6]


@pytest.mark.parametrize("mutation", SEEN, ids=lambda it: f"{it.world}, {it.name}")
def test_persistent_threads_see_it_too(mutation: Mutation, images: str) -> None:
    """PyTorch's persistent workers would not: compared is with new ones."""
    both = Both(mutation, images, **PERSISTENT)
    both.build()
    both.same()
    both.native()
    both.change()
    both.same()


def test_persistent_workers_of_torchs_engine_stay(images: str) -> None:
    """A data set that falls back, and then changes: its workers keep what they have, as in
    PyTorch.
    """
    ours, theirs = (WORLDS["folder"](images) for _ in range(2))
    for data in (ours, theirs):
        data.target_transform = int
    loaders = (
        fastload.DataLoader(ours, BATCH, **PERSISTENT),
        torch.utils.data.DataLoader(theirs, BATCH, **PERSISTENT),
    )
    for change in range(2):
        assert_same(list(loaders[0]), list(loaders[1]))
        workers = [worker.pid for worker in loaders[0]._iterator._workers]
        for data in (ours, theirs):
            data.samples.reverse()
            data.transform.transforms[0].size = (9, 9)
        assert_same(list(loaders[0]), list(loaders[1]))
        assert [worker.pid for worker in loaders[0]._iterator._workers] == workers, change


class Patch:
    """A monkeypatch, with functions to be called at its end; changes what the process has, once for
    both.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch, self.ends = patch, list[tuple[Callable[..., object], tuple[Any, ...]]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.patch, name)

    def callback(self, function: Callable[..., object], *arguments: Any) -> None:
        self.ends.append((function, arguments))

    def undo(self) -> None:
        self.patch.undo()
        for function, arguments in reversed(self.ends):
            function(*arguments)


class OfTheProcess(Both):
    def __init__(self, mutation: Mutation, images: str, patch: Patch) -> None:
        super().__init__(mutation, images)
        self.patch = patch

    def change(self) -> None:
        self.mutation.change(self.patch, 1)


@pytest.mark.parametrize("mutation", SETTINGS, ids=lambda it: f"{it.world}, {it.name}")
@pytest.mark.parametrize("when", WHEN)
def test_what_the_process_sets_is_followed(
    mutation: Mutation, when: str, images: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = Patch(monkeypatch)
    try:
        both = OfTheProcess(mutation, images, patch)
        lives(both, when)
    finally:
        patch.undo()
    both.same()  # and what is set back
    both.native()
