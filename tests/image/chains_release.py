"""The release's check of lazy images: random chains of PIL calls give Pillow's bits.

    python -m tests.image.chains_release [CHAINS] [--from SEED]

Exits 1 where a chain differs, and prints it.
"""

import argparse
import sys
import warnings

from tests.image.chains import difference


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chains", nargs="?", type=int, default=10_000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # Pillow's own, of damaged files
    wrong = [text for seed in range(args.chains) if (text := difference(args.first + seed))]
    print("\n".join(wrong[:20]))
    print(f"{args.chains:,} chains, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
