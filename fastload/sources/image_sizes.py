"""How large a data set's images are, without decoding one.

Some indexes say it. Else the first bytes of each image are read once, in native threads, and what
they say is kept in the user's cache.
"""

import io
import os
import struct

import numpy as np
from PIL import Image

from fastload import _native
from fastload.errors import SourceError
from fastload.files import cache
from fastload.sources.arrays import ArraySource
from fastload.sources.base import Source, read, remote
from fastload.sources.views import Concat, Subset
from fastload.spec import Ints, Longs
from fastload.system import machine, terminal

# Bytes of each image that are read for its header, and images at once: of those left, more bytes
STAGES = ((1 << 14, 2048), (1 << 17, 256), (1 << 62, 16))
READERS = 8  # threads that only read
AFTER = 2.0  # s until a line is shown
NAMED = 64  # samples whose places stand for all
# Magic and version, images, XXH3-64 of the files' facts, of the sizes
KEPT = struct.Struct("<8sQQQ")
MAGIC = b"FASTPX\0\1"


def of(source: Source) -> Ints:
    """int32 [N, 2]: height and width of every image, px; 0, 0 where nobody can tell.

    Raises SourceError of images in a store whose index does not say it.
    """
    if isinstance(source, Subset):
        return of(source.base)[source.indices]
    if isinstance(source, Concat):
        return np.concatenate([of(part) for part in source.parts])
    if isinstance(source, ArraySource):
        return np.tile(np.array(source.images.shape[1:3], np.int32), (len(source), 1))
    if (known := getattr(source, "sizes", None)) is not None:
        out: Ints = np.ascontiguousarray(known(np.arange(len(source))), np.int32)
        return out
    if remote(source) is not None:
        raise SourceError(
            f"{source.where}: lies in a store, and nothing says how large its images are; run "
            "fastload convert, whose index says it, or give their sizes"
        )
    return _recalled_or_read(source)


def _recalled_or_read(source: Source) -> Ints:
    """As the cache has them, or by the headers."""
    lengths, name, facts = _facts(source)
    path = cache.path("sizes", f"{name:016x}")
    kept = _recall(path, facts, len(source))
    if kept is None:
        kept = _by_headers(source, lengths)
        head = KEPT.pack(MAGIC, len(source), facts, _native.xxh3(kept.tobytes()))
        cache.keep(path, head + kept.tobytes())
    return kept


def _recall(path: str, facts: int, count: int) -> Ints | None:
    try:
        data = cache.recall(path, KEPT.size + 8 * count + 1)
        head = KEPT.unpack_from(data)
    except (OSError, struct.error):
        return None
    body = data[KEPT.size :]
    if head[:3] != (MAGIC, count, facts) or len(body) != 8 * count:
        return None
    if _native.xxh3(body) != head[3]:
        return None
    return np.frombuffer(body, np.int32).reshape(count, 2)


def _facts(source: Source) -> tuple[Longs, int, int]:
    """Bytes of each file, a hash of where the images lie, and one of the files as they are now."""
    names, files = _native.Xxh3(), source.files
    facts = np.zeros((len(files), 2), np.int64)
    for file in range(len(files)):
        path = files.path(file)
        names.update(os.fsencode(os.path.abspath(path)) + b"\0")
        try:
            found = os.stat(path)
        except OSError:
            continue  # its images are of no size, and raise where they are loaded
        facts[file] = found.st_size, found.st_mtime_ns
    some = np.unique(np.linspace(0, max(0, len(source) - 1), NAMED).astype(np.int64))
    at = source.locate(some[: len(source)])
    for part in (at.file, at.offset, at.size):
        names.update(np.ascontiguousarray(part, np.int64).tobytes())
    return facts[:, 0].copy(), names.digest(), _native.xxh3(facts.tobytes())


def _by_headers(source: Source, lengths: Longs) -> Ints:
    out = np.zeros((len(source), 2), np.int32)
    if not _native.MISSING:
        _fill(out, source, lengths)
    for sample in np.flatnonzero((out <= 0).any(axis=1)).tolist():
        out[sample] = _by_pillow(source, sample)
    return out


def _fill(out: Ints, source: Source, lengths: Longs) -> None:
    """What native threads find: of those that few bytes do not tell, by more of them."""
    pool, line = _native.Pool(machine.usable_cores(), READERS), terminal.Line(AFTER)
    line.waited()
    try:
        for most, together in STAGES:
            left = np.flatnonzero((out <= 0).any(axis=1))
            for first in range(0, len(left), together):
                samples = left[first : first + together]
                out[samples] = _probed(pool, source, samples, lengths, most)
                if line.waited():
                    line.show(f"sizes of {source.where}: {first:,} of {len(left):,} images")
    finally:
        line.clear()


def _probed(pool: _native.Pool, source: Source, samples: Longs, lengths: Longs, most: int) -> Ints:
    """int32 [K, 2], 0, 0 where the first `most` bytes do not tell."""
    at = source.locate(samples)
    whole = np.where(at.size < 0, np.maximum(lengths[at.file] - at.offset, 0), at.size)
    size = np.minimum(whole, most)
    job = pool.fetch(source.files, at.file, at.offset, size, None, raw=at.raw)
    job.wait_fetched()
    return np.array(job.sizes)


def _by_pillow(source: Source, sample: int) -> tuple[int, int]:
    try:
        with Image.open(io.BytesIO(read(source, sample))) as image:
            return image.height, image.width
    except Exception:  # noqa: BLE001  whatever is wrong is said where the image is loaded
        return 0, 0
