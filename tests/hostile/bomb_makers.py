"""How the bombs are made. MIB, GIB: bytes."""

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB, GIB = 1 << 20, 1 << 30


def deflated(size: int) -> bytes:
    """Raw deflate of `size` zeros, a multiple of 1 MiB: the same block again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // MIB) + b"\3\0"


def zip_of(
    name: bytes,
    method: int,
    packed: bytes,
    size: int,
    *,
    crc: int = 0,
    packed_size: int | None = None,
    flags: int = 0,
) -> bytes:
    """An archive of one member whose headers say what they are told."""
    said = len(packed) if packed_size is None else packed_size
    common = struct.pack("<HHHHHLLLHH", 20, flags, method, 0, 33, crc, said, size, len(name), 0)
    local = b"PK\3\4" + common + name
    entry = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name
    at = len(local) + len(packed)
    return (
        local + packed + entry + b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(entry), at, 0)
    )


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def hole(folder: Path, name: str, content: bytes, size: int, end: bytes = b"") -> Path:
    """The content, then a hole; `end` stands at its end."""
    path = written(folder, name, content)
    with path.open("r+b") as file:
        file.truncate(size - len(end))
        file.seek(0, os.SEEK_END)
        file.write(end)
    return path


def zip_bomb(
    method: int, packer: Callable[[int], bytes], unpacked: int, said: int, flags: int = 0
) -> Callable[[Path], Path]:
    """One member of `unpacked` zeros, which says that it has `said` bytes."""
    return lambda folder: written(
        folder, "x.zip", zip_of(b"c/x.jpg", method, packer(unpacked), said, flags=flags)
    )


def cut_off(folder: Path) -> Path:
    return written(folder, "x.zip", zip_of(b"c/x.jpg", 0, b"x", 500 * MIB, packed_size=500 * MIB))


def bzip2(size: int) -> bytes:
    return bz2.compress(bytes(size))


def lzma_member(size: int) -> bytes:
    alone = lzma.compress(bytes(size), lzma.FORMAT_ALONE, preset=1)
    return b"\x09\x04" + struct.pack("<H", 5) + alone[:5] + alone[13:]


def big_directory(folder: Path) -> Path:
    """The directory takes 8 GiB, as its end says: zip64."""
    end = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 8 * GIB - 1000, 900)
    end += struct.pack("<4sLQL", b"PK\6\7", 0, 8 * GIB - 98, 1)
    end += b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return hole(folder, "x.zip", b"", 8 * GIB, end)


def tar_header(name: str, size: int, kind: bytes, format: int = tarfile.GNU_FORMAT) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(format)


def pax_globals(folder: Path) -> Path:
    out = io.BytesIO()
    for number in range(100):
        body = "".join(_pax_line(f"k{number}.{each}", "x" * 4000) for each in range(200)).encode()
        out.write(tar_header("g", len(body), tarfile.XGLTYPE) + body + bytes(-len(body) % 512))
    out.write(tar_header("c/x.jpg", 0, tarfile.REGTYPE) + bytes(1024))
    return written(folder, "x.tar", out.getvalue())


def _pax_line(key: str, value: str) -> str:
    size = len(key) + len(value) + 3
    while len(str(size)) + len(key) + len(value) + 3 != size:
        size = len(str(size)) + len(key) + len(value) + 3
    return f"{size} {key}={value}\n"


def sparse_map(folder: Path) -> Path:
    """A map of 256 million parts, of which the file has 4 million."""
    pax = b"".join(
        _pax_line(*pair).encode()
        for pair in (
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.minor", "0"),
            ("GNU.sparse.name", "c/x.jpg"),
        )
    )
    parts = b"268435456\n" + b"0\n" * (8 * MIB // 2)
    content = tar_header("p", len(pax), tarfile.XHDTYPE) + pax + bytes(-len(pax) % 512)
    return written(
        folder,
        "x.tar",
        content + tar_header("c/x.jpg", len(parts), tarfile.REGTYPE) + parts + bytes(1024),
    )


def tar_gz(folder: Path) -> Path:
    member = gzip.compress(bytes(16 * MIB), 9)
    return written(folder, "x.tar.gz", member * 20)


def parquet(folder: Path, columns: dict[str, Any], **how: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), folder / "x.parquet", **how)
    return folder / "x.parquet"


def repeated(folder: Path, column: str, size: int, rows: int) -> Path:
    """One large value, said once and meant often."""
    import pyarrow as pa

    value = pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, pa.int32()), pa.array([b"\xff\xd8" + bytes(size)])
    )
    columns = {"image": pa.array([b"x"] * rows), "label": pa.array([0] * rows)}
    if column == "key":
        value = pa.DictionaryArray.from_arrays(value.indices, pa.array(["k" * size]))
    return parquet(folder, {**columns, column: value}, compression="none", store_schema=False)


def swollen_page(folder: Path) -> Path:
    return parquet(
        folder, {"image": [bytes(80 * MIB)], "label": [0]}, compression="zstd", use_dictionary=False
    )


def arrow_file(folder: Path, images: list[bytes], **options: Any) -> Path:
    import pyarrow as pa

    table = pa.table({"image": pa.array(images, pa.large_binary()), "label": [0] * len(images)})
    with pa.ipc.new_stream(
        folder / "x.arrow", table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as file:
        file.write_table(table)
    return folder / "x.arrow"


def long_buffer(folder: Path) -> Path:
    """A compressed buffer says that it is 100 GiB long."""
    path = arrow_file(folder, [bytes(5 * MIB)], compression="zstd")
    data = path.read_bytes()
    place = data.index(
        struct.pack("<q", 5 * MIB) + b"\x28\xb5\x2f\xfd"
    )  # what a zstd frame begins with
    return written(
        folder, "x.arrow", data[:place] + struct.pack("<q", 100 * GIB) + data[place + 8 :]
    )


def images(folder: Path) -> Path:
    from tests.conftest import encoded, textured

    for number, name in enumerate(("a/0.jpg", "b/1.jpg")):
        written(folder, f"images/{name}", encoded(textured(9, 14, number)))
    return folder / "images"


def shards(folder: Path, **options: Any) -> Path:
    from fastload.conversion import job

    job.run(
        job.prepare(str(images(folder)), str(folder / "out"), job.Options(workers=1, **options))
    )
    return folder / "out"


def stretched(name: str, size: int) -> Callable[[Path], Path]:
    """A converted data set, one of whose files was made longer."""

    def make(folder: Path) -> Path:
        os.truncate(shards(folder) / name, size)
        return folder / "out"

    return make


def signed_hole(folder: Path) -> Path:
    """An index of 256 MiB with the checksum that fits; a line of it, as older versions wrote."""
    from fastload import _native
    from fastload.sources import sums

    path = shards(folder) / "index.arrow"
    os.truncate(path, GIB // 4)
    path.with_name("index.arrow.xxh3").write_bytes(
        sums.line(_native.Files([str(path)], keep_open=False).xxh3(0, GIB // 4))
    )
    return folder / "out"


def packed_index(folder: Path) -> Path:
    """An index whose column of keys was packed, and is 128 MiB long."""
    import pyarrow as pa

    from fastload import _native
    from fastload.sources import sums

    path = shards(folder) / "index.arrow"
    table = pa.ipc.open_file(path.read_bytes()).read_all()
    table = table.set_column(
        table.schema.get_field_index("key"), table.schema.field("key"), [["k" * 64 * MIB] * 2]
    )
    with pa.ipc.new_file(
        path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)
    path.with_name("index.arrow.xxh3").write_bytes(sums.line(_native.xxh3(path.read_bytes())))
    return folder / "out"


def seek_folder(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from fastload.conversion import indexing

        indexing.run(indexing.prepare(str(images(folder))), 1, 1)
        os.truncate(folder / "images" / name, 100 * GIB)
        return folder / "images"

    return make


def seek_log(folder: Path) -> Path:
    """A log of collected indexes whose first record says that it has 8 GiB."""
    record = struct.pack("<QIIQQ", 1, 0xFFFFFFFF, 0xFFFFFFFF, 0, 1)
    return hole(folder, "x.log", b"FASTSEEK" + struct.pack("<IIQ", 1, 8, 0) + record, 100 * GIB)


def beton(change: Callable[[Path, Any], None]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import numpy as np

        from fastload.sources.beton_file import HEADER
        from tests.beton.mutated_release import whole

        path = written(folder, "x.beton", whole())
        change(path, np.frombuffer(path.read_bytes(), HEADER, 1)[0].copy())
        return path

    return make


def longer_table(path: Path, header: Any) -> None:
    """24 million payloads for a few samples."""
    at = int(header["alloc_table_ptr"])
    os.truncate(path, at + 24 * (GIB // 8))


def more_rows(path: Path, header: Any) -> None:
    """A billion samples, and the table behind them."""
    header["num_samples"], header["alloc_table_ptr"] = 1 << 27, 16 * GIB
    with path.open("r+b") as file:
        file.write(header.tobytes())
    os.truncate(path, 16 * GIB + 24 * (1 << 20))
