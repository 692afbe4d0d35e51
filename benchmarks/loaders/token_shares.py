"""How much batches of tokens pad, and what drop_last leaves out, for the sizes of a data set.

    python -m benchmarks.loaders.token_shares DIR

Nothing is timed or decoded: 200,000 sizes are drawn from those of the images below DIR.
"""

import sys

import numpy as np

import fastload
from fastload.order import bucket_data
from fastload.spec import Ints

COUNT, TOKENS = 200_000, 16384
LENGTHS = ((256,), (128, 256, 576, 784, 1024))  # the latter are timm's
RANKS = (1, 2, 4, 7, 8)


def drawn(sizes: Ints, count: int = COUNT) -> Ints:
    """So many of these, the same ones each time."""
    out: Ints = sizes[np.random.default_rng(0).integers(0, len(sizes), count)]
    return out


def rows(sizes: Ints) -> list[str]:
    """A table of Markdown: for each lengths and ranks the padding without drop_last and with it,
    and the most images that an epoch leaves out, of as many epochs as there are lengths; also if
    none were moved to longer rows.
    """
    out = [
        "| lengths | ranks | row lengths | padding | with drop_last | left out | without moves |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for lengths in LENGTHS:
        for world in RANKS:
            whole, full = (
                fastload.TokenSampler(
                    sizes, TOKENS, lengths=lengths, drop_last=drop, num_replicas=world, rank=0
                )
                for drop in (False, True)
            )
            out.append(
                f"| {', '.join(map(str, lengths))} | {world} | {len(full.rows)} | "
                f"{whole.padded:.2%} | {full.padded:.2%} | {most(full) / len(sizes):.3%} | "
                f"{most(whole) / len(sizes):.3%} |"
            )
    return out


def most(batches: fastload.TokenSampler) -> int:
    """Images that fill no step, in any epoch; with drop_last those that are left out."""
    found = []
    for epoch in range(len(batches.lengths)):
        groups = batches._groups(epoch)
        partial = int((groups.count % groups.together).sum())
        found.append(groups.left_out if batches.drop_last else partial)
    return max(found)


def main() -> None:
    sizes = bucket_data.sizes(fastload.open(sys.argv[1], []), "token_shares")
    print("\n".join(rows(drawn(sizes))))


if __name__ == "__main__":
    main()
