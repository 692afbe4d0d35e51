"""The release's check that nothing changed for users: digests of batches and public signatures,
recorded before and compared after.

python -m tests.loader.sameness_release record FILE
python -m tests.loader.sameness_release compare FILE

The digests are those of one machine's libraries (Pillow, torch), so they are recorded where they
are compared, by the earlier version's checkout: `PYTHONPATH=EARLIER python -m …`. Names what
differs, and exits 1 if anything does.
"""

import argparse
import hashlib
import inspect
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch

import fastload
from fastload import transforms
from tests.loader import sameness_cases
from tests.loader.resume_helpers import digest


def hashed(make: Any) -> str:
    """Of two epochs, the second one resumed in its middle. An error's text is its digest."""
    found = hashlib.blake2b(digest_size=12)
    try:
        torch.manual_seed(3)
        loader = make()
        for batch in itertools.chain(loader, itertools.islice(loader, 2)):
            found.update(digest(batch))
        state = json.loads(json.dumps(loader.state_dict()))
        loader = make()
        loader.load_state_dict(state)
        for batch in loader:
            found.update(digest(batch))
    except fastload.FastloadError as error:
        return f"{type(error).__name__}: {error}"
    return found.hexdigest()


def signatures() -> dict[str, str]:
    """Of every public name."""
    out = {}
    for where, module in (("fastload", fastload), ("transforms", transforms)):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, Exception):
                out[f"{where}.{name}"] = ", ".join(kind.__name__ for kind in value.__mro__)
            elif callable(value):
                out[f"{where}.{name}"] = re.sub(
                    " at 0x[0-9a-f]+", "", str(inspect.signature(value))
                )
    return out


def prepared(root: Path) -> tuple[str, str, str, str]:
    """The same images as a folder (and beside it one with bad files), an FFCV file, and shards; and
    their masks.
    """
    from fastload.conversion import beton_writer, readers

    path = sameness_cases.folder(str(root / "images"))
    shutil.copytree(path, path + "-bad")
    for place in sorted(Path(path + "-bad").rglob("*.jpeg"))[::4]:
        place.write_bytes(place.read_bytes()[:200])
    jpegs = shutil.copytree(path, root / "jpegs")
    for place in [*jpegs.rglob("*.png"), *jpegs.rglob("*.webp")]:
        place.unlink()
    beton = str(root / "all.beton")
    beton_writer.run(readers.open_reader(str(jpegs)), beton, beton_writer.Options())
    subprocess.run(
        [sys.executable, "-m", "fastload", "convert", path, str(root / "shards")],
        check=True,
        capture_output=True,
    )
    return path, beton, str(root / "shards"), sameness_cases.masks(str(root / "masks"), path)


def digests() -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="fastload-same-") as scratch:
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        out = {}
        for name, make in sameness_cases.every(*prepared(Path(scratch))):
            out[name] = hashed(make).replace(scratch, "")
            print(f"{out[name]}  {name}", file=sys.stderr, flush=True)
        return out


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {"digests": digests(), "signatures": signatures()}
    if asked.verb == "record":
        asked.file.write_text(json.dumps(found, indent=1))
        return 0
    before = json.loads(asked.file.read_text())
    wrong = [
        f"{name}: {old[name]} before, {new.get(name)} now"
        for old, new in ((before[part], found[part]) for part in found)
        for name in old
        if new.get(name) != old[name]
    ]
    print("\n".join([*wrong, f"{len(wrong)} of {sum(map(len, before.values()))} differ"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
