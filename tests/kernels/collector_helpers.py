"""What the tests of the collector share."""

import numpy as np

from fastload import _native as native

from .helpers import jpeg, picture, scene

CROPS = [
    (0, 0, 1, 1),
    (0.3, 0.4, 0.5, 0.45),
    (0, 0, 0.1, 0.1),
    (0.9, 0.9, 0.1, 0.1),
]  # top, left, height, width; shares
MEMORY = 1 << 20


def files_of(tmp_path, payloads):
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{n}.jpg" for n in range(len(payloads))]
    for path, payload in zip(paths, payloads, strict=True):
        path.write_bytes(payload)
    return native.Files([str(path) for path in paths], False), f"{folder}/"


def decode(source, crop, collect=None, seek=None, status=native.OK):
    """Pixels [N, 24, 20, 3] of the crop, as shares of each image."""
    count, pool = len(source), native.Pool(2)
    job = pool.fetch(
        source,
        np.arange(count),
        np.zeros(count, int),
        np.full(count, -1),
        None,
        seek=seek,
        collect=collect,
    )
    job.wait_fetched()
    crops = np.zeros((count, 9), np.int32)
    crops[:, :4] = np.tile(job.sizes, 2) * np.array(crop)
    crops[:, 2:4] = np.maximum(crops[:, 2:4], 1)
    crops[:, 4:6] = 24, 20
    out = np.zeros((count, 24, 20, 3), np.uint8)
    job.run([picture(crops, "bilinear", None, out, 24, 20, True)])
    job.wait_done()
    assert set(job.status.tolist()) == {status}
    return out, pool.ways()


def into(collector, count, no_index=0):
    return collector, np.arange(count), np.full(count, no_index)


def blobs(collector, count):
    """What was collected of each row: bytes, b"" for none, None for nothing."""
    out, source = [None] * count, collector.open_logs([])
    for row, log, offset, size, _ in collector.entries().tolist():
        out[row] = source.read(log, offset, size) if size else b""
    return out


def pictures():
    shapes = ((61, 93), (200, 75), (48, 160), (33, 34), (8, 300))
    return [jpeg(scene(*shapes[n % 5], n), ("4:4:4", "4:2:0", "4:2:2")[n % 3]) for n in range(15)]


def index_files(collector, count):
    file, offset, size = np.zeros((3, count), np.int64)
    row, log, start, length, _ = collector.entries().T
    file[row], offset[row], size[row] = log, start, length
    return collector.open_logs([]), file, offset, size
