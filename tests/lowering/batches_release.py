"""The release's check that lazy images change no batch: public pipelines on PyTorch's engine, with
lazy images, give the stock loader's batches under the same seeds.

    python -m tests.lowering.batches_release [METHOD …]

In the process, and with 4 workers by each start method. Where the stock loader cannot send a
pipeline to its workers, fastload's has to fail alike. Names what differs, and exits 1 if anything
does.
"""

import argparse
import itertools
import tempfile
import warnings
from pathlib import Path

import torch

import fastload
from tests.conftest import SIZES, encoded, textured
from tests.lowering.test_pipelines import ALL, Unknown, seeded_batches, small

METHODS = ("fork", "forkserver", "spawn")
WORKERS = 4


def outcome(loader_class, data, method):
    """Tensors of all batches, or the error's type."""
    options = {"num_workers": WORKERS, "multiprocessing_context": method} if method else {}
    try:
        return seeded_batches(
            loader_class(data, batch_size=8, shuffle=True, collate_fn=list, **options)
        )
    except Exception as error:  # whatever the libraries raise is compared
        return type(error)


def alike(want, got):
    if isinstance(want, type) or isinstance(got, type):
        return want is got
    return len(want) == len(got) > 0 and all(
        itertools.starmap(torch.equal, zip(want, got, strict=True))
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="*", choices=METHODS, default=METHODS, metavar="METHOD")
    methods = parser.parse_args().methods
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.multiprocessing.set_forkserver_preload(["torch", "torchvision"])
    wrong = 0
    with tempfile.TemporaryDirectory() as root:
        for number in range(24):
            path = Path(root) / f"class{number % 3}" / f"{number:03d}.jpg"
            path.parent.mkdir(exist_ok=True)
            pixels = textured(*SIZES[number % len(SIZES)], number)
            path.write_bytes(encoded(pixels, quality=90, subsampling=number % 3))
        for method in ("", *methods):
            failed = list[str]()
            for name in ALL:
                data = Unknown(small(name, root))
                want = outcome(torch.utils.data.DataLoader, data, method)
                got = outcome(fastload.DataLoader, data, method)
                if isinstance(want, type):
                    failed.append(f"{name} ({want.__name__})")
                if not alike(want, got):
                    wrong += 1
                    print(f"{method or 'no workers'}: {name} differs")
            also = f"; both loaders fail at {', '.join(failed)}" if failed else ""
            print(f"{method or 'no workers'}: {len(ALL)} pipelines{also}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
