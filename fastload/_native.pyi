"""The native engine: everything that runs without the GIL.

Arrays are NumPy, C-contiguous; nothing is converted silently.
"""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

OK: Final = 0
"""The sample is ready."""
FOREIGN: Final = 1
"""Readable, but not for the native decoders (WebP, CMYK, a damaged JPEG, …).

Give its pixels with `Job.set_pixels`.
"""
FAILED: Final = 2
"""The bytes could not be read or fail their checksum; `Job.message` says why."""

MISSING: Final[str]
"""Why this is not the extension but what stands in for it (`_native.py`); "" in the extension."""

cuda_built: Final[bool]
"""Whether the CUDA kernels are compiled in. A GPU need not be present."""

cuda_architectures: Final[tuple[int, ...]]
"""Compute capabilities that the kernels are compiled for: 90 is 9.0.

The last one is there as PTX too. Empty without kernels.
"""

def exchange_capture_mode(mode: int) -> int:
    """This thread's cudaStreamCaptureMode (0 global, 1 thread-local, 2 relaxed) and the one before;
    without kernels nothing is set.
    """

def targets() -> list[str]:
    """Instruction sets that this machine can run, best first (Highway's names)."""

def versions() -> dict[str, str]:
    """Versions of its compiler, libjpeg-turbo, Highway, xxHash, libdeflate, libwebp and CUDA."""

def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10 (Salmon et al. 2011): four 32-bit words in, four out."""

NOISE_LEVELS: Final[int]

def noise_levels(key: int, out: NDArray[np.uint16]) -> None:
    """Fill out [N] with the levels 0..NOISE_LEVELS - 1 of noise below a 32-bit key: number i is the
    upper 12 bits of half word i (lower half first) of Philox words, as `rng.keyed_uniforms` has
    them.
    """

def uniforms(
    seed: int,
    epoch: int,
    samples: NDArray[np.int64],
    occurrences: NDArray[np.int64],
    op: int,
    out: NDArray[np.float64],
) -> None:
    """Fill out [N, K] with multiples of 2^-32 in [0, 1), a pure function of its arguments."""

DRAW_STEPS: Final[tuple[str, ...]]
"""What programs of draws can do: a step's code is its index here (kernels/engine/draws.h)."""
DRAW_MATH: Final[tuple[str, ...]]
"""The functions of Python's math that they may call, and "round15", `round(value, 15)`."""

@final
class Draws:
    """What ops draw, as a program over registers. `fastload.draws` records it.

    A register holds one number of each sample. steps: int32 [S, 5], code, out, and three operands:
        registers, or a place and a length in `lists`, or the number of a function.
    uniforms: int32 [U, 3], number of the op, column, register. sizes: the registers of height and
        width, or none. given: those of what Python gives. refusals: where one of these is not 0,
        the batch is not drawn. outputs: type and registers of each array. functions: name, and the
        addresses of a loop as NumPy's ufuncs have it and of its data; 0, 0: one of DRAW_MATH.
    """

    def __init__(
        self,
        *,
        registers: int,
        steps: NDArray[np.int32],
        lists: Sequence[int],
        constants: Sequence[tuple[int, float]],
        uniforms: NDArray[np.int32],
        sizes: Sequence[int],
        given: Sequence[int],
        refusals: Sequence[int],
        outputs: Sequence[tuple[str, Sequence[int]]],
        functions: Sequence[tuple[str, int, int]],
    ) -> None: ...
    def run(
        self,
        seed: int,
        epoch: int,
        samples: NDArray[np.int64],
        occurrences: NDArray[np.int64],
        sizes: NDArray[np.int32],
        given: NDArray[np.float64],
        outs: Sequence[NDArray[Any]],
    ) -> bool:
        """Fill outs [N, …], without the GIL; False where NumPy has to draw this batch."""

def permute(
    positions: NDArray[np.int64], n: int, seed: int, epoch: int, out: NDArray[np.int64]
) -> None:
    """Fill out [K] with the elements at `positions` [K] of the epoch's keyed permutation of 0..n-1.

    n: 1 to 2^62. See kernels/body/permute.h.
    """

def xxh3(data: Any) -> int:
    """XXH3 64-bit hash of a bytes-like object."""

@final
class Xxh3:
    """The same of bytes-like objects that come one after the other."""

    def __init__(self) -> None: ...
    def update(self, data: Any) -> None: ...
    def digest(self) -> int:
        """Of all that came so far."""

def same_items(held: list[Any], now: list[Any]) -> bool:
    """Whether two lists have the very same objects at the same positions; of items that are lists,
    whether these have.

    Nothing is compared by value: True is not 1, and no method of an item runs. 1 ms for a million
    items.
    """

def same_rows(held: list[tuple[Any, ...]], now: list[Any]) -> bool:
    """Whether `now` has only lists, and these the very objects of the tuples of `held`, in order.

    As `same_items` of lists of lists, in less time: a tuple's objects lie in it. TypeError for a
    row of `held` that is no tuple.
    """

def start_writing(file: int, offset: int, size: int) -> None:
    """Let the disk begin to write these bytes of an open file; returns at once, and says nothing of
    errors: fsync does.
    """

def probe(data: bytes) -> tuple[int, int, int, int, str]:
    """Header of an encoded image: (status, height, width, components, format); format is "jpeg",
    "png", … or "unknown".

    For "jpeg" the format carries the sampling of the first component, e.g. "jpeg 4:2:0". Sizes are
    0 where not known.
    """

def examine(
    data: bytes, check: str, step: int | None
) -> tuple[int, int, str, str, int, bool, bytes, str]:
    """What a conversion needs of an encoded image: (height, width, format, coding, xxh3, sound,
    index, why).

    The first three as `probe` gives them, coding as `jpeg_coding`. check: "none", "markers" (a
    JPEG's markers lead to its end) or "decode" (every coded block of a baseline JPEG is valid,
    which a seek index proves too); sound:
    it passed, else nobody knows.
    step: MCUs per entry of a seek index, 1048576 for a coefficient layer in its place, None builds
        none. index: empty if there is none; then why says why, if one was asked for.
    """

def decode(data: bytes, scale: int = 1) -> NDArray[np.uint8]:
    """Whole baseline or progressive JPEG to uint8 [H, W, 3]; raises ValueError where libjpeg-turbo
    errs or warns.

    scale: 1, 2, 4 or 8; decoded at 1/scale of its size, rounded up, as libjpeg-turbo's scale_num =
        8 / scale gives it.
    """

def image_header(data: Any) -> tuple[int, bool, int, int, int]:
    """Of the encoded image in a bytes-like object: (status, own, height, width, components). A PNG
    that the own decoder takes is OK too. own: a JPEG that the own decoder covers by its header.
    """

def image_pixels(
    data: Any,
    *,
    scale: int,
    crop: tuple[int, int, int, int],
    size: tuple[int, int],
    box: tuple[float, float, float, float],
    window: tuple[int, int, int, int],
    flip: bool,
    filter: str,
    order: str,
    channels: int,
    filler: int,
    library: bool,
    out: NDArray[np.uint8] | None = None,
    seek: tuple[int, bytes, bool] | None = None,
    bgr: bool = False,
) -> tuple[NDArray[np.uint8], bytes | None]:
    """A JPEG that is OK, decoded at 1/scale, as Pillow gives crop(crop).resize(size, filter, box)
    .crop(window) and then, with flip, its mirror image: uint8 [h, w, channels], or None with out;
    and the seek index that was made meanwhile, b"" where the file has none.

    Boxes are Pillow's: left, top, right, bottom; size is width, height. filter and order: as in
    `crop_resize`. channels: 1, the first one; 3; or 4, whose last one is `filler`. library:
    libjpeg-turbo may decode what the own decoder does not. seek: XXH3 of the data, its seek index
    or b"", and whether one is wanted where it is missing or refused. bgr: of three channels blue is
    the first.

    Raises ValueError where a box leaves the image, or nobody decodes it.
    """

def jpeg_coding(data: bytes) -> str:
    """How a JPEG is coded, by its header: "baseline", "restart-marked", "multi-scan",
    "progressive", "arithmetic" or "other".

    Only baseline ones can have a seek index; "other" is also what is no JPEG of 8 bits and 1 or 3
    components. Decodes nothing.
    """

def jpeg_transcode(data: bytes) -> tuple[bytes | None, str]:
    """The same coefficients, markers and pixels as one baseline scan with optimised tables, or None
    and why not.

    Everything is read again and compared. A file with a libjpeg-turbo warning, or over 100 scans or
    512 MiB of coefficients, stays.
    """

def jpeg_index(data: bytes, step: int, target: str = "best") -> bytes:
    """Seek index of a baseline JPEG: an entry every `step` MCUs and at each MCU row (0: rows only).
    docs/formats.md.

    target: "scalar" (the specification) or "best"; both give the same.

    Raises ValueError ("jpeg_index: …") where the own decoder does not cover the file.
    """

def jpeg_layer(data: bytes, target: str = "best") -> bytes:
    """Coefficient layer of a JPEG of one scan, which takes a seek index's place. docs/layers.md.

    target: as in `jpeg_index`.

    Raises ValueError ("jpeg_layer: …") where the own decoder does not cover the file.
    """

def jpeg_layer_intact(data: bytes) -> bool:
    """Whether a layer has all of its own checksums. One of another version is not looked into, and
    counts as intact: no decoder here takes it.
    """

def jpeg_region(
    data: bytes, region: tuple[int, int, int, int], index: bytes | None, target: str, scale: int = 1
) -> tuple[NDArray[np.uint8] | None, str]:
    """A region (top, left, height, width; px) by the own decoder: uint8 [h, w, 3], or None and why
    not.

    index: what `jpeg_index` or `jpeg_layer` gave, or None. target: "scalar" (the specification) or
        "best" (the vector code).
    scale: as in `decode`; the region is px of the scaled image.
    """

def time_crop(
    data: bytes,
    index: bytes | None,
    crop: NDArray[np.int32],
    out: NDArray[np.uint8],
    route: str,
    target: str = "best",
) -> tuple[int, int]:
    """One JPEG's way into `out` uint8 [H, W, 3], as the engine goes it (bilinear), in the calling
    thread, for benchmarks.

    Nanoseconds of decoding, and of planning and making the resize. crop: a row of `CropRecords`.
    route: "index" (by the seek index `index`), "scan" (own decoder without one; of progressive
        files too), "turbo" (libjpeg-turbo, rows and columns under the crop), "turbo-whole" (all of
        the image); "headers", "entropy" and "planes" stop on the way of "index" and leave `out`
        alone.
    """

def limit_targets(name: str) -> None:
    """Use this set of `targets()` and weaker ones from now on, in the whole process; "" lifts the
    limit.
    """

def crop_resize(
    image: NDArray[np.uint8],
    crop: NDArray[np.int32],
    out: NDArray[np.uint8],
    filter: str,
    target: str,
    order: str = "pillow13",
) -> None:
    """CROP on one uint8 [H, W, 3] image into out uint8 [h, w, 3].

    crop: int32 [9] or [10], a row of `CropRecords`; with a scale, `image` is the image at 1/scale
        of its size.
    filter: "nearest", "box", "bilinear", "hamming", "bicubic" or "lanczos".
    target: "scalar" (the specification) or "best" (the vector code for this machine).
    order: which pass of a resize comes first, since each rounds to uint8. "pillow12": columns, as
        Pillow up to 12.1; "pillow12.2": rows where the height shrinks and is over 100 times the
        width (pull request 9524); "pillow13": rows where the height shrinks, and by more than twice
        the px that the width shrinks by (Pillow pull request 9549).
    """

def store(image: NDArray[np.uint8], how: StoreRecords, out: NDArray[Any], target: str) -> None:
    """STORE on one uint8 [h, w, 3] image into out [3, h, w] or, channels_last, [h, w, 3], of what
    is kept. Erases and mixes nothing.
    """

INSTRUCTIONS: Final[tuple[str, ...]]
"""What programs can do: an instruction's code is its index here."""
ARGUMENTS: Final[tuple[tuple[tuple[str, float, float, bool], ...], ...]]
"""By code, of each argument: name, lowest and highest value, and whether it is a whole number."""
MAX_DEPTH: Final[int]
"""Instructions of one program."""

def augment(
    image: NDArray[np.uint8],
    program: NDArray[np.float64],
    target: str = "best",
    functions: Functions | None = None,
) -> NDArray[np.uint8]:
    """AUGMENT on one uint8 [h, w, 3] image: a new one after `program` float64 [depth, 13], as of
    `Programs`.

    target: "scalar" (the specification) or "best" (the vector code for this machine).
    """

def store_mixed(
    images: NDArray[np.uint8], how: StoreRecords, out: NDArray[Any], target: str
) -> None:
    """STORE on a whole batch, uint8 [N, h, w, 3], with partners, boxes and fills; nothing is
    dropped.
    """

@final
class DeviceStore:
    """STORE of a batch as the GPU runs it: checked, and its lists in one buffer."""

    def __init__(
        self, count: int, height: int, width: int, dtype: str, store: StoreRecords
    ) -> None:
        """Of `count` images of this size, px; the store's table is given to `launch`. Raises
        ValueError.

        dtype: "uint8", "float16", "bfloat16" (whose bits are uint16) or "float32".
        """

    def __len__(self) -> int: ...
    @property
    def size(self) -> tuple[int, int]:
        """Height and width of what is stored, px."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """A new array of what must lie on the device; mostly empty."""

    def launch(
        self, images: int, table: int, noise: int, lists: int, out: int, stream: int
    ) -> None:
        """STORE on the device: uint8 [N, h, w, 3] at `images` to `out`; device pointers and a
        cudaStream_t.

        table: [3, 256] of dtype, or 0 with uint8. noise: the tables, or 0.
        lists: a copy of `data` at a multiple of 16 bytes, or 0 where it is empty.

        Neither allocates nor synchronises. Raises RuntimeError with CUDA's own name and file:line,
        or if `cuda_built` is false.
        """

    def run_on_host(
        self,
        images: NDArray[np.uint8],
        table: NDArray[Any] | None,
        noise: NDArray[Any] | None,
        out: NDArray[Any],
    ) -> None:
        """The same code on the host, px after px, with arrays in place of pointers: what tests
        compare.
        """

@final
class DevicePrograms:
    """A batch's programs as the GPU reads them: checked, with what only the host computes (a blur's
    weights, running sums).
    """

    def __init__(self, programs: Programs, height: int, width: int) -> None:
        """programs: without users' functions, for images of this size, px. Raises ValueError."""

    def __len__(self) -> int: ...
    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images, px."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """A new array of what must lie on the device."""

    def workspace(self) -> int:
        """Bytes of scratch memory that `launch` needs on the current device; often 0."""

    def launch(self, images: int, data: int, out: int, workspace: int, stream: int) -> None:
        """AUGMENT on the device: uint8 [N, height, width, 3] at `images` to `out`, which is memory
        of its own.

        Device pointers and a cudaStream_t; data: a copy of `data`, and workspace of that size, at
        multiples of 16 bytes. Neither allocates nor synchronises. Raises RuntimeError with CUDA's
        own name and file:line, or if `cuda_built` is false.
        """

@final
class DeviceDecode:
    """The host's part of decoding a job's JPEGs on the GPU by their seek indexes: what lies under
    each crop, in one buffer.

    The job's pool looks at every sample, then packs, before its other tasks. The job must be idle
    until `wait` has returned for the first time; after that its `run` may make the samples that are
    not chosen (`Job.put_aside`) while the others are packed.
    """

    def __init__(self, job: Job, crops: CropRecords, most: int = ...) -> None:
        """Start. most: bytes of scratch memory on the device. Raises ValueError."""

    def __len__(self) -> int:
        """Samples of the job."""

    def wait(self) -> None:
        """Block, without the GIL, until every sample is looked at, or packed."""

    @property
    def reasons(self) -> list[str]:
        """Of each sample, why it is not for the device; empty where it is."""

    def choose(self, positions: NDArray[np.int64]) -> None:
        """Take these samples of the job, ascending, all of them without a reason."""

    @property
    def nbytes(self) -> int:
        """Bytes that `pack` writes."""

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory that `launch` needs on the device."""

    def pack(self, out: NDArray[np.uint8]) -> None:
        """Start writing what the device reads to `out`, uint8 [nbytes] at a multiple of 16, which
        is kept until `wait` returns.
        """

    def launch(self, data: int, scratch: int, out: int, flags: int, stream: int) -> None:
        """Decode, crop, resize and flip on the device: the chosen samples' crops in uint8 [..,
        height, width, 3] at `out`.

        Device pointers and a cudaStream_t. data: a copy of what was packed, and scratch of that
        size, at multiples of 16 bytes;
        flags: int32 [chosen], zero, and not zero afterwards where an image's index or bytes have
            lied: its pixels do not count.
        Neither allocates nor synchronises. Raises RuntimeError with CUDA's own name and file:line,
        or if `cuda_built` is false.
        """

@final
class PackedIndex:
    """Where packed samples of some files lie: a file of rows (sources/row_file.py) with the columns
    of sources/span_index.py, a part for each file. A sample is read by the offset
    `1 << 62 | row << 31 | byte`, with its row in its file and the first byte inside of the sample.

    where: the index's path, for messages; file: its descriptor, of which a copy is kept.
    parts: int64 [parts, 7]: rows, place of the first block, widths of the columns. Raises
        ValueError for others, OSError.
    """

    def __init__(self, where: str, file: int, parts: NDArray[np.int64]) -> None: ...

def snappy_unpack(elements: Any, skip: int, size: int) -> bytes:
    """So many of the bytes that Snappy's elements unpack to, after the first `skip`.

    Raises ValueError for damaged ones.
    """

@final
class PixelArray:
    """uint8 [N, H, W, 3], any strides, as a file would have it: image by image, row by row.

    The array is kept and never copied; what is changed in it is seen by later reads.
    """

    def __init__(self, pixels: NDArray[np.uint8]) -> None: ...

@final
class Files:
    """Files that samples live in.

    keep_open: descriptors are kept (few large files), else opened per read (many small ones).
    packed: of samples that Snappy has packed inside of the files, indexes, each with the number of
        its first file; by that.
    arrays: numbers of files, and what is read in their place; their paths only name them.
    """

    def __init__(
        self,
        paths: Sequence[str],
        keep_open: bool,
        packed: Sequence[tuple[int, PackedIndex]] = (),
        arrays: Sequence[tuple[int, PixelArray]] = (),
    ) -> None: ...
    @property
    def packed(self) -> list[tuple[int, PackedIndex]]: ...
    @property
    def arrays(self) -> list[tuple[int, PixelArray]]: ...
    def place(self, file: int, offset: int, size: int) -> tuple[int, int]:
        """Offset and size in the file of what is read for such a sample. Raises OSError."""
    def __len__(self) -> int: ...
    def path(self, file: int) -> str: ...
    def read(self, file: int, offset: int, size: int) -> bytes:
        """Bytes of one sample; size -1 reads to the end of the file.

        Raises OSError with the path.
        """

    def xxh3(self, file: int, size: int) -> int:
        """XXH3-64 of the file's first `size` bytes, read in parts. Raises OSError."""

def parquet_page(
    file: int,
    offset: int,
    size: int,
    unpacked: int,
    values: int,
    depth: int,
    levels: int,
    packed: bool,
    indices: bool,
) -> tuple[int, NDArray[Any]]:
    """Where the values of a page of byte arrays lie, in an open file: kernels/parquet/page.h.

    The first value that is null, -1: none; then int64 [N, 4], start, length, skip and size, skip -1
    where the bytes stand as they are; of a page of indices int32 [N]. Raises ValueError for what is
    damaged, OSError.
    """

def png_refusal(data: bytes) -> str:
    """Why the own decoder leaves a PNG to Pillow, by its chunks; "" where it takes it.

    Checksums and rows are not looked at.
    """

def png_decode(data: bytes, top: int, left: int, height: int, width: int) -> NDArray[np.uint8]:
    """A region of a PNG, [height, width, 3], as Pillow converts it to RGB.

    Raises ValueError for what is left to Pillow, and for a region that leaves the image.
    """

def png_numbers(data: bytes, out: NDArray[np.uint8]) -> None:
    """The values of a PNG of one channel of 8 bits, of a palette image its indices, into `out`
    [H, W].

    Raises ValueError for what is left to Pillow: any other kind, another size, what is damaged.
    """

def mask_seen(
    mask: NDArray[np.uint8],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    fill: int,
    out: NDArray[np.uint8] | NDArray[np.int64],
) -> None:
    """Of a mask [H, W], its pixels at these rows and columns, into `out` [rows, columns]; `fill`
    where one of them is negative.

    Raises ValueError for places beyond the mask.
    """

def read_seek_log(path: str, start: int) -> tuple[int, int, NDArray[np.int64]]:
    """A `Collector`'s log from byte `start` on (0: from its first record): the writer's `names`,
    the byte behind the last good record, and int64 [K, 6]: row, bytes of the image, offset and size
    of its path, offset and size of its index (0, 0: it has none).

    A file that is no log has names 0, end 0 and no record. Raises OSError.
    """

@final
class Collector:
    """Takes the seek indexes that jobs make on the way, one row per file, and appends each to a log
    at once.

    root: what is left out of the files' paths in the log.
    folder: where logs are made, locked and under new names, with the first record. If it is "" or
        cannot be written, logs are in memory, most_memory bytes at most.
    """

    def __init__(self, files: Files, root: str, folder: str, most_memory: int) -> None: ...
    @property
    def count(self) -> int:
        """Records ever added."""

    @property
    def names(self) -> int:
        """XXH3 of the paths below root, joined by zero bytes."""

    @property
    def problem(self) -> str:
        """Why new logs are in memory, though there is a folder; else empty."""

    def entries(self) -> NDArray[np.int64]:
        """int64 [K, 5]: row, number of the log, offset and size of its index there (size 0: none),
        bytes of the image.
        """

    def seal(self) -> None:
        """The next record begins a new log; one in memory goes on."""

    def logs(self) -> list[str]:
        """Paths of the logs by number; "": in memory or forgotten."""

    def forget(self, log: int) -> None:
        """Close this log and drop its entries: they are kept elsewhere now."""

    def open_logs(self, paths: Sequence[str]) -> Files:
        """Files: these paths, then every log by its number.

        They stay readable when logs are forgotten.
        """

MAX_PIXELS: int  # of an image that is given to a job
MARGIN: int  # bytes that large allocations leave for others
LEAST: int  # bytes without which nothing is begun
SHARE: int  # bytes that a thread may take for an image without asking, and may keep

@final
class Claim:
    """Memory for one image that foreign code decodes: of the process, as its limits are. Claims are
    granted in turn.

    Raises MemoryError where the process (RLIMIT_AS, RLIMIT_DATA, strict accounting) or, from 256
    MiB on, the machine or its control groups have less. Waits while others have it, without the
    GIL. Where there is little, tasks of pools wait until this one is dropped.
    """

    def __init__(self, bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...
    def drop(self) -> None: ...

def admit(bytes: int) -> None:
    """Raise MemoryError if limits of the process leave less than so many bytes and MARGIN, of 0
    bytes than LEAST.

    Waits while foreign code has claims.
    """

def claims_most(bytes: int = 0) -> int:
    """What all claims may add up to; one alone may be larger. 0 leaves it as it is."""

def memory_groups(folders: list[str]) -> None:
    """Folders of the control groups that `memory_available` looks at."""

def memory_available() -> int:
    """Bytes that the machine and the control groups have left, with caches that can be dropped."""

@final
class Pool:
    """Threads that run the jobs' per-sample tasks, first in first out. threads=0: tasks run in the
    caller, inside the waits.

    readers: threads besides, that only take tasks that read; the others then read when nothing else
        is to be done. None where threads=0.

    After a fork the child must not use the parent's pool; dropping it there is harmless.
    """

    def __init__(self, threads: int, readers: int = 0) -> None: ...
    @property
    def threads(self) -> int: ...
    def fetch(
        self,
        files: Files,
        file: NDArray[np.int64],
        offset: NDArray[np.int64],
        size: NDArray[np.int64],
        checksum: NDArray[np.uint64] | None,
        *,
        seek: tuple[Files, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None,
        collect: tuple[Collector, NDArray[np.int64], NDArray[np.int64]] | None = None,
        raw: NDArray[np.int32] | None = None,
    ) -> Job:
        """Start reading and probing samples: arrays [N]; size -1 means the whole file; checksum is
        XXH3 of the bytes.

        seek: files, and file, offset and size [N] of the samples' seek indexes (`jpeg_index`); size
            0: the sample has none. What cannot be read or does not fit its sample is passed over:
            an index only saves time.
        collect: where new indexes go, of samples that have none or one that was refused, and [N]
            their rows there (-1: not wanted) and the bytes of the file that is known to have none
            (0: nothing is known).
        raw: [N, 2], height and width in px of the samples that are uint8 [height, width, 3] as they
            are in the file, 0 and 0 for the others. Of raw samples only the rows under the crop are
            read, in `run`.
        """

    def lend(
        self,
        sizes: NDArray[np.int32],
        locations: tuple[Files, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
        | None = None,
        seek: tuple[Files, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None,
        raw: NDArray[np.int32] | None = None,
    ) -> Job:
        """A job of images whose sizes are known: [N, 2], height and width, px. Nothing is read; its
        first `run`, which says what is to become of them, starts nothing: the functions in `CALLS`
        read and make the samples, in their callers' threads.

        locations: files, and file, offset and size [N] of the samples; None where pixels are given.
            seek, raw: see `fetch`.
        """

    def advise(
        self,
        files: Files,
        file: NDArray[np.int64],
        offset: NDArray[np.int64],
        size: NDArray[np.int64],
    ) -> None:
        """Ask the system to read these ahead; returns at once, errors are ignored (the read itself
        reports them).
        """

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the pool's, where it has no threads."""

    def running(self) -> list[tuple[str, str, float]]:
        """What each busy thread does: its name, "reads", "makes" or "mixes" with a path, and for
        how many seconds.
        """

    def ways(self) -> dict[str, int]:
        """How many JPEGs were decoded "indexed" (by seek index), "whole" (own decoder, from the
        scan's start), by the "library" (libjpeg-turbo). Besides the way taken: "refused" counts
        indexes that did not fit, "scaled" images that were decoded at 1/2, 1/4 or 1/8 of their
        size. What the GPU decodes is "indexed"; what it flags, the CPU counts once more. How many
        PNGs: "png".
        """

    def stats(self) -> dict[str, tuple[int, int, int]]:
        """Per stage ("read", "decode", "resize", "augment", "store"):

        (samples, wall ns, CPU ns), summed over threads since the start.
        """

CALLS: Final[dict[str, int]]
"""Addresses of C functions for compiled loops.

They take no GIL, raise nothing and return the sample's status. A sample is given once.

make_sample: int32 (const int64 *job, int64 sample)
    *job: the `Job.address` of a lent job with locations; 0: do nothing
give_pixels: int32 (int64 job, int64 sample, const uint8 *pixels)
    pixels: [height, width, 3]
"""

MAX_UNIFORMS: Final[int]

@final
class Functions:
    """Machine code that programs may call: pairs of an address and how many uniforms the function
    gets (0..MAX_UNIFORMS).

    The code is `int32 (uint8 *image, int64 height, int64 width, int64 channels, const double
    *uniforms, int64 count)`. It changes the image in place, never takes the GIL, and returns 0, 1
    (an exception) or 2 (another shape). An address is trusted: what is no such function ends the
    process. owner: kept as long as the code may run.
    """

    def __init__(self, functions: Sequence[tuple[int, int]], owner: object) -> None: ...
    def __len__(self) -> int: ...

@final
class CropRecords:
    """CROP of the N samples of a batch: the box that is resized, and what is cut from that."""

    def __init__(
        self,
        rows: NDArray[np.int32],
        filter: str | NDArray[np.int32],
        height: int,
        width: int,
        order: str = "pillow13",
    ) -> None:
        """rows: [N, 9] or [N, 10]

            0..3  the box: top, left, height, width; px of the image
            4, 5  height and width that the box is resized to, px
            6, 7  top and left of the window that is cut from that, px; may be negative or reach
                  past it: filled with 0
            8     1: the window is mirrored left to right, 0: it is not
            9     scale: 1, 2, 4 or 8 (1 where it is left out): the image is decoded at 1/scale,
                  and resized from where the box is in that

        filter: of the resizes, as in `crop_resize`; or int32 [N], one for each sample, by Pillow's
            numbers (Image.Resampling).
        height, width: of the window, px. order: see `crop_resize`. Raises ValueError; rows are
            checked when they are used.
        """

    def __len__(self) -> int: ...
    @property
    def rows(self) -> NDArray[np.int32]:
        """The array that was given, which may still be changed until the records are used."""

    @property
    def size(self) -> tuple[int, int]:
        """height and width."""

@final
class Programs:
    """AUGMENT of the N samples of a batch."""

    def __init__(self, rows: NDArray[np.float64], functions: Functions | None = None) -> None:
        """rows: [N, depth, 13], instructions that run in order on each crop

        0      code: index in INSTRUCTIONS
        1      filter: 0 nearest, 1 bilinear, 2 bicubic
        2..4   fill: red, green, blue
        5..12  arguments, as ARGUMENTS names them. A factor or weight of 1 changes nothing. Affine
               and Perspective have Pillow's coefficients, output to input; lengths are px. Start
               remembers the image, and sets a sum to 0, for Add (the image's weight in the sum; the
               image is the start again), Sum (the image is the sum), Mix (the sum's weight, against
               the start) and Blend (the image's weight, against the start). Custom has the number
               of one of `functions` and the key of its uniforms (`rng.keyed_uniforms`); where it
               fails, the sample is FAILED. Border leaves what stands in its part, and makes what
               lies around it: 0 the fill, 1 the edge, 2 mirrored, 3 mirrored with the edge
        """

    @property
    def rows(self) -> NDArray[np.float64]: ...

@final
class Noise:
    """What fills the K boxes of N samples besides a colour."""

    def __init__(
        self, keys: NDArray[np.uint32], fillings: NDArray[np.int32], tables: NDArray[Any]
    ) -> None:
        """keys: [N, K]. fillings: [K, 2]: 0 the box's fill, 1 noise, 2 one colour of noise; and the
        number of its table.
        tables: [T, 3, NOISE_LEVELS] of the output's type, what each level is. Levels:
            `noise_levels`, numbered by row, column and channel of the box, or by channel.
        """

    @property
    def keys(self) -> NDArray[np.uint32]: ...
    @property
    def fillings(self) -> NDArray[np.int32]: ...
    @property
    def tables(self) -> NDArray[Any]: ...

@final
class StoreRecords:
    """STORE of the N samples of a batch.

    Positions are px of the image as it is stored: of the rows and columns that are kept.
    """

    def __init__(
        self,
        *,
        channels_last: bool,
        table: NDArray[Any] | None = None,
        rows: NDArray[np.int32] | None = None,
        columns: NDArray[np.int32] | None = None,
        boxes: NDArray[np.int32] | None = None,
        fills: NDArray[Any] | None = None,
        noise: Noise | None = None,
        partners: NDArray[np.int32] | None = None,
        patch: int = 0,
    ) -> None:
        """table: [3, 256] of the output's type, the value stored for each uint8 channel value; None
        stores the uint8 value.
        rows, columns: [1 or N, kept], numbers of those of the crop that are stored; None stores
            all.
        boxes: [N, K, 4], top, left, height, width of what is then filled; fills: [K, 3] of the
            output's type. None fills nothing.
        noise: None: fills only.
        partners: [N, 7]; None: nothing is mixed

            0     the partner's position in the batch
            1..4  a box: top, left, height, width; inside it the values are the partner's
            5, 6  bits of two float32 weights, of the image and of its partner, outside the box

        patch: side, px, of the squares that Job.run and Job.then cut the stored image into, row by
            row; both sides are multiples of it, and channels are last. Then out is
            [N, tokens, patch * patch * 3], and zeros fill the rows up. 0: images stay whole.
        """

    @property
    def channels_last(self) -> bool: ...
    @property
    def patch(self) -> int: ...
    @property
    def table(self) -> NDArray[Any] | None: ...
    @property
    def rows(self) -> NDArray[np.int32] | None: ...
    @property
    def columns(self) -> NDArray[np.int32] | None: ...
    @property
    def boxes(self) -> NDArray[np.int32] | None: ...
    @property
    def fills(self) -> NDArray[Any] | None: ...
    @property
    def noise(self) -> Noise | None: ...
    @property
    def partners(self) -> NDArray[np.int32] | None: ...

@final
class PictureWork:
    """One picture of every sample of a batch, and where it goes."""

    def __init__(
        self,
        crops: CropRecords,
        store: StoreRecords,
        out: NDArray[Any],
        programs: Programs | None = None,
    ) -> None:
        """out: [N, 3, height, width] or, channels_last, [N, height, width, 3], of what is kept;
        uint8, float16, float32, or uint16 (bfloat16 bits). Kept alive until the job is done.
        """

@final
class Kit:
    """Records of one picture of a batch, and programs that fill them. Batches use a kit one after
    the other.
    """

    def __init__(
        self,
        crops: CropRecords,
        store: StoreRecords,
        programs: Programs | None,
        draws: Sequence[tuple[Draws, bool, NDArray[np.float64], list[NDArray[Any]]]],
    ) -> None:
        """draws: programs, whether the batch shares what one draws, the numbers that it is given
        (float64 [N or 1, given], filled before each `Job.follow`), and the arrays of the records
        that it fills.
        """

@final
class Job:
    """The samples of one batch on their way through the pool.

    Between `fetch` or `run` and the end of the wait for it, everything but the waits and `done`
    raises RuntimeError; so does all once the Pool object is dropped with tasks of this job left
    (keep the pool).
    """

    def __len__(self) -> int: ...
    def wait_fetched(self) -> None:
        """Block, without the GIL, until every sample is read and probed."""

    def wait(self, seconds: float) -> bool:
        """Block, without the GIL, until nothing is left to do (True), for `seconds` at most (False:
        something is).
        """

    def wait_started(self, seconds: float) -> bool:
        """True once it makes its samples by itself (`then`), or nothing is left to do; False after
        so many seconds.
        """

    def then(
        self,
        pictures: Sequence[PictureWork],
        draws: Sequence[list[Any]],
        *,
        seed: int,
        epoch: int,
        most_pixels: int,
    ) -> None:
        """Go on by itself once all is read: run the programs, check the records, and make the
        pictures, as `run` does.

        draws: of each picture, tuples (Draws, samples, occurrences, given, outs), which fill the
            arrays of its records. most_pixels: of an image; 0: any number.
        Where a sample is not OK, or something is out of its range, nothing is made, and the job is
        as one that was told nothing.
        """

    def follow(
        self,
        kit: Kit,
        out: NDArray[Any],
        samples: NDArray[np.int64],
        occurrences: NDArray[np.int64],
        partners: NDArray[np.int32] | None = None,
        *,
        seed: int,
        epoch: int,
        step: int,
        rank: int,
        most_pixels: int,
    ) -> None:
        """`then`, of one picture, with the records of a kit, made into `out` (as `PictureWork` has
        it).

        samples, occurrences: [N], keys of what each sample draws; step, rank: of what the batch
            shares. partners: as in `StoreRecords`.
        Raises RuntimeError if another job has the kit, till somebody has waited for that job's end.
        """

    @property
    def drawn(self) -> bool:
        """Whether it has gone on by itself."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to do. Never blocks."""

    @property
    def address(self) -> int:
        """For the functions in `CALLS`; valid as long as this object."""

    @property
    def regular(self) -> bool:
        """Whether every sample is OK and none is late: nothing is left to do for others."""

    @property
    def status(self) -> NDArray[np.uint8]:
        """uint8 [N]: OK, FOREIGN or FAILED."""

    @property
    def sizes(self) -> NDArray[np.int32]:
        """int32 [N, 2]: image height and width, px; 0 where not known yet."""

    def message(self, sample: int) -> str:
        """Why this sample is not OK."""

    def code(self, sample: int) -> int:
        """Of a sample that could not be read: errno (EIO where the system gave none, as for a wrong
        checksum), or ENOMEM; else 0.
        """

    def payload(self, sample: int) -> bytes:
        """The encoded bytes of this sample."""

    def set_pixels(self, sample: int, pixels: NDArray[np.uint8], scale: int = 1) -> None:
        """Use these decoded pixels, uint8 [H, W, 3], from now on; they are kept alive by the job.

        scale: 2, 4 or 8 where they are the image at 1/scale of the size in its header, for a crop
            with that scale.
        """

    def set_size(self, sample: int, height: int, width: int) -> None:
        """This sample's pixels will come by `set_pixels`, behind the next run, which passes over
        it: it is OK, and of this size.
        """

    @property
    def jpegs(self) -> NDArray[np.uint8]:
        """[N]: whether a sample is OK and no PNG, so that it can be decoded at a part of its size;
        raw pixels may be among them.
        """

    @property
    def late(self) -> NDArray[np.uint8]:
        """[N]: whether a sample's pixels are still to come."""

    def put_aside(self, which: NDArray[np.uint8]) -> None:
        """uint8 [N]: samples that somebody else makes; `run` passes over them until they are 0
        again. Nothing is mixed meanwhile.
        """

    def run(self, pictures: Sequence[PictureWork]) -> None:
        """Start DECODE, CROP, AUGMENT and STORE of every sample that is OK and not stored yet, in
        all of its pictures.

        Each sample is decoded for all its pictures together, or by its seek index for each where
        that is less. Scales of one sample's crops are equal. MixRecords batches have one picture:
        their samples wait, as uint8, until all of the batch are there, and each is stored in a
        second task. Raises ValueError, and then nothing has begun.
        """

    def wait_done(self) -> bool:
        """Block, without the GIL, until `run` has finished. `regular`, as it is then; if that is
        False, `status` tells which samples still need pixels.
        """
