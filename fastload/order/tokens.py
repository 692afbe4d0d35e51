"""Batches of a budget of tokens: images of their own sizes, as patches, over all ranks."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fastload import _native, rng
from fastload.errors import UsageError
from fastload.order import bucket_data, grids, groups, leftovers, mixture
from fastload.order.blocks import STEP
from fastload.order.groups import Groups, GroupSampler, How, Sized, whole
from fastload.order.leftovers import Moves
from fastload.order.ranks import place, place_problems, plain
from fastload.order.samplers import next_epoch
from fastload.spec import Array, Ints, Longs, Tokens
from fastload.transforms.base import MAX_SIDE

MOST = 1 << 20  # tokens of an image
MOST_LENGTHS = 64
MOST_ROWS = (1 << 15) - 1  # lengths of rows, whose numbers are int16
SHOWN = 4  # row lengths in a line


class TokenSampler(GroupSampler):
    """Batches of a budget of tokens, for models that take patches of images of any size.

    Such models are NaFlex and NaViT. With `DataLoader(data, batch_sampler=TokenSampler(data,
    16384))` batches are dictionaries as timm's NaFlexVit takes them, and labels. Each image keeps
    its aspect and becomes as large as its patches fit into a length. Images of about as many
    patches share a batch, so that hardly a row is padded. docs/token-batches.md. The order is a
    pure function of (seed, epoch). In each step all ranks have rows of one length, and as many.

    Args:
        data: What `fastload.open` gives, or torchvision's ImageFolder and its like; or the heights
            and widths of all images, int [N, 2], px.
        tokens: Of a rank in a step, with padding, at most.
        lengths: The most tokens that an image becomes; or several numbers. Then each image has
            another of these in each epoch, and each of them once in as many epochs.
        patch: Side of a patch, px.
        padding: The share of a row that may be padding, below 1.
        enlarge: How many times as large an image may become, at most; None: as large as fits.
        shuffle: Whether each epoch has an order of its own.
        seed: 0 to 2**64 - 1; the same on all ranks.
        num_replicas: Ranks; None asks torch.distributed, 1 without a process group.
        rank: This one's number; None asks torch.distributed, 0 without a process group.
        drop_last: False: the last step of each row length has fewer images, and repeats some where
            ranks would have unequal numbers (up to num_replicas - 1). True: its images move to
            longer rows, as far as `padding` of all tokens allows that, or are left out.

    Raises:
        UsageError: An argument is out of its range; every such argument is named. Or rows would
            have too many lengths.
        SourceError: The sizes of the data set's images cannot be found out.

    Example:
        >>> from fastload import TokenSampler
        >>> sizes = [(375, 500)] * 5 + [(500, 375)] * 3 + [(400, 400)] * 2
        >>> batches = TokenSampler(sizes, 1024, lengths=256, seed=3)
        >>> len(batches), batches.rows
        (3, (256,))
        >>> batches.grid_of(0), batches.grid_of(9)
        ((14, 18), (16, 16))
    """

    def __init__(
        self,
        data: Any,
        tokens: int,
        *,
        lengths: int | Sequence[int] = 256,
        patch: int = 16,
        padding: float = 0.03,
        enlarge: float | None = None,
        shuffle: bool = True,
        seed: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        how = How(shuffle, plain(seed), drop_last, *place("TokenSampler", num_replicas, rank))
        super().__init__(how)
        given = [lengths] if isinstance(lengths, int) else list(lengths)
        problems = [
            *_problems(tokens, given, patch, padding, enlarge),
            *place_problems(how.seed, how.num_replicas, how.rank),
        ]
        if mixture.of_data(data):
            problems.append("data is a mix, whose weights it does not know; sample its parts")
        if problems:
            raise UsageError("\n".join(f"TokenSampler: {problem}" for problem in problems))
        self.tokens, self.patch, self.padding, self.enlarge = tokens, patch, padding, enlarge
        self.lengths: tuple[int, ...] = tuple(given)
        self._sort(bucket_data.sizes(data, "TokenSampler"))

    def _sort(self, sizes: Ints) -> None:
        """Find the images' grids and rows, at each length."""
        self.length = len(sizes)
        # uint16 [K, N, 2]: of each image at each length.
        self._grids: Array = np.zeros((len(self.lengths), self.length, 2), np.uint16)
        self._rows: Array = np.zeros((len(self.lengths), self.length), np.int16)  # of `rows`
        found: list[int] = []
        for at, length in enumerate(self.lengths):
            grid = grids.grids(sizes, self.patch, length, self.enlarge)
            tokens = grid.prod(axis=1, dtype=np.int64)
            rows = grids.rows(tokens, self.padding)
            if len(found) + len(rows) > MOST_ROWS:
                raise UsageError(
                    f"TokenSampler: lengths and padding make {len(found) + len(rows):,} lengths of "
                    f"rows or more, want up to {MOST_ROWS:,}; allow more padding"
                )
            row = grids.row_of(tokens, rows)
            self._grids[at] = grid
            self._rows[at] = row + len(found)
            found += rows.tolist()
        self.rows: tuple[int, ...] = tuple(found)
        moving = [self.padding] if self.drop_last else []  # it decides over moves to longer rows
        said = repr((self.rows, self._together.tolist(), self.patch, *moving)).encode()
        self.fingerprint = _native.xxh3(said + self._rows.tobytes()) >> 1
        self._made: tuple[int, Groups] | None = None

    @cached_property
    def _together(self) -> Longs:
        """int64 [K]: images of all ranks in one step of each row length."""
        return np.maximum(self.tokens // np.array(self.rows, np.int64), 1) * self.num_replicas

    @cached_property
    def _turns(self) -> Array:
        """int8 [N]: which of `lengths` each image has in epoch 0."""
        order = np.arange(self.length)
        if self.shuffle and self.length:
            key = (self.seed - STEP) % (1 << 64)
            order = rng.permute(order, self.length, key, 0)
        return (order % len(self.lengths)).astype(np.int8)

    def _lengths_of(self, epoch: int) -> Array:
        """[N]: which of `lengths` each image has in this epoch."""
        return (self._turns.astype(np.int16) + epoch % len(self.lengths)) % len(self.lengths)

    def _row_numbers(self, turn: int) -> Array:
        """int16 [N]: of `rows`, where each image is in epochs of this turn."""
        return self._rows[self._lengths_of(turn), np.arange(self.length)]

    def _moves(self, turn: int, row: Array) -> Moves | None:
        """Where images go that fill no step; None where all come."""
        if not (self.drop_last and self.length):
            return None
        rows = np.array(self.rows, np.int64)
        count = np.bincount(row, minlength=len(rows)).astype(np.int64)
        grid = self._grids[self._lengths_of(turn), np.arange(self.length)]
        real = int(grid.prod(axis=1, dtype=np.int64).sum())
        free = real - (1 - self.padding) * float((count * rows).sum())
        return leftovers.planned(count, self._together, rows, free, self.padding)

    def _groups(self, epoch: int) -> Groups:
        """Of this epoch, by the length of rows."""
        turn = epoch % len(self.lengths)
        made = self._made
        if made is None or made[0] != turn:
            row = self._row_numbers(turn)
            moves = self._moves(turn, row)
            made = self._made = (turn, groups.grouped(row, self._together, self.how, moves))
        return made[1]

    @cached_property
    def padded(self) -> float:
        """The share of all tokens that is padding, over as many epochs as there are lengths; with
        drop_last at most that.
        """
        turns = [self._row_numbers(turn) for turn in range(len(self.lengths))]
        moves = [self._moves(turn, row) for turn, row in enumerate(turns)]
        whole = sum(int(np.array(self.rows, np.int64)[row].sum()) for row in turns)
        whole += sum(one.cost for one in moves if one is not None)
        real = sum(int(one.prod(axis=1, dtype=np.int64).sum()) for one in self._grids)
        return 1 - real / whole if whole else 0.0

    @property
    def global_batch(self) -> int:
        """Images of all ranks in one full step, of the shortest rows."""
        return int(self._together.max(initial=1))

    @property
    def settings(self) -> dict[str, int]:
        """What its order depends on besides the seed: another one's state does not fit."""
        return {
            "global_batch": self.global_batch,
            "drop_last": int(self.drop_last),
            "rows": self.fingerprint,
        }

    @property
    def left_out(self) -> int:
        """Images that the next epoch leaves out: none without drop_last."""
        return self._groups(self.epoch + 1).left_out

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Heights and widths, px, of which some image is."""
        high, wide = self._grids.reshape(-1, 2).T
        every = np.unique(high.astype(np.uint32) << 16 | wide)  # by rows it would take much longer
        pairs = np.stack([every >> 16, every & 0xFFFF], axis=1).astype(np.int64) * self.patch
        return [(height, width) for height, width in pairs.tolist()]

    def said(self) -> str:
        """Its batches in one line, as `DataLoader.explain` says them."""
        rows = sorted({*self.rows}, reverse=True)
        first = ", ".join(map(str, rows[:SHOWN]))
        more = f" and {len(rows) - SHOWN} more lengths" if len(rows) > SHOWN else ""
        rest = f"{self.left_out:,} images left out, " if self.drop_last else ""
        return (
            f"patches of {self.patch} px, rows of {first}{more}; {self.tokens:,} per batch at "
            f"most, {len(self):,} steps of {self.num_replicas} ranks; {rest}{self.padded:.1%} "
            "padding"
        )

    def grid_of(self, index: int, length: int | None = None) -> tuple[int, int]:
        """Patches high and wide of one image, at this one of `lengths` (None: at the first).

        Raises IndexError and ValueError.
        """
        at = 0 if length is None else self.lengths.index(length)
        height, width = self._grids[at, index].tolist()
        return height, width

    def __len__(self) -> int:
        """Steps of the next epoch, on every rank."""
        return len(self._groups(self.epoch + 1))

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches():
            yield batch.samples.tolist()

    def batches(self, first: int = 0) -> Iterator[Sized]:
        """This rank's share of the next epoch's steps, from number `first` on. The epoch begins at
        once, not when the first step is asked for.
        """
        return self._batches(next_epoch(self), first)

    def _batches(self, epoch: int, first: int) -> Iterator[Sized]:
        turns = self._lengths_of(epoch)
        for share in self._groups(epoch).shares(epoch, first):
            grid = self._grids[turns[share.samples], share.samples].astype(np.int32)
            order = np.lexsort((grid[:, 1], grid[:, 0]))  # what has one grid is made at once
            tokens = Tokens(self.patch, self.rows[share.group], grid[order])
            yield Sized(share.samples[order], share.occurrences[order], None, tokens)


def _problems(
    tokens: Any, lengths: list[Any], patch: Any, padding: float, enlarge: float | None
) -> list[str]:
    problems = []
    if not 1 <= len(lengths) <= MOST_LENGTHS or len({*map(repr, lengths)}) < len(lengths):
        problems.append(f"lengths are {lengths!r}, want 1 to {MOST_LENGTHS} different ones")
    wrong = [one for one in lengths if not (whole(one) and one <= MOST)]
    if wrong:
        problems.append(f"length is {wrong[0]!r}, want 1 to {MOST}")
    elif not (whole(tokens) and tokens >= max(lengths, default=1)):
        problems.append(f"tokens is {tokens!r}, want {max(lengths, default=1)} or more, one image")
    checks = (
        (whole(patch) and patch <= MAX_SIDE, f"patch is {patch!r}, want 1 to {MAX_SIDE}"),
        (0 <= padding < 1, f"padding is {padding!r}, want 0 or more, below 1"),
        (enlarge is None or enlarge > 0, f"enlarge is {enlarge!r}, want more than 0, or None"),
    )
    return problems + [text for good, text in checks if not good]
