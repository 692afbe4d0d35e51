"""A member of a zip archive, unpacked step by step: what is in memory is never more than its header
says, which is checked before.
"""

import bz2
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from fastload import _native
from fastload.conversion.samples import BadSampleError
from fastload.system import limits

# APPNOTE.TXT 4.3.7; the last two: bytes of the name and of what follows it
LOCAL = struct.Struct("<4s5H3L2H")
LOCAL_MAGIC = b"PK\3\4"
# Before the stream: version, bytes of the properties, the properties
LZMA = struct.Struct("<2sH5s")
# Of the decoder: a dictionary as large as the strongest setting has, four times
LZMA_MEMORY = 256 * limits.MIB
UNKNOWN = (1 << 64) - 1  # in place of the number of bytes
MARKED = 2  # of a member's flags: its stream has a mark at its end
STEP = 1 << 20  # bytes that are read, or made, at once


class Decoder(Protocol):
    """What gives the plain bytes, some at a time."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Deflate:
    """zlib's decoder, used as the others are."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def needs_input(self) -> bool:
        return not self.inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.inner.decompress(self.inner.unconsumed_tail + data, max_length)


class _Lzma:
    """The xz library's, behind the header that it knows.

    size: bytes; None where a mark stands at the end.
    """

    def __init__(self, size: int | None) -> None:
        self.size = UNKNOWN if size is None else size
        self.inner: lzma.LZMADecompressor | None = None

    @property
    def eof(self) -> bool:
        return self.inner is not None and self.inner.eof

    @property
    def needs_input(self) -> bool:
        return self.inner is None or self.inner.needs_input

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self.inner is None:
            _, length, properties = LZMA.unpack_from(data)
            self.inner = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=LZMA_MEMORY)
            data = properties + struct.pack("<Q", self.size) + data[4 + length :]
        return self.inner.decompress(data, max_length)


DECODERS: dict[int, Callable[[zipfile.ZipInfo], Decoder]] = {
    zipfile.ZIP_DEFLATED: lambda _: _Deflate(),
    zipfile.ZIP_BZIP2: lambda _: bz2.BZ2Decompressor(),
    zipfile.ZIP_LZMA: lambda member: _Lzma(None if member.flag_bits & MARKED else member.file_size),
}


def unpacked(archive: _native.Files, length: int, member: zipfile.ZipInfo) -> bytes:
    """The member's bytes.

    length: of the archive. Raises BadSampleError, OSError, and what the libraries raise for damaged
    ones.
    """
    size, packed = member.file_size, member.compress_size
    if problem := limits.too_many(size, limits.SAMPLE):
        raise BadSampleError(f"is too large ({problem}); remove it")
    if problem := limits.swollen(size, packed):
        raise BadSampleError(f"would be unpacked too far ({problem}); remove it")
    head = LOCAL.unpack(archive.read(0, member.header_offset, LOCAL.size))
    if head[0] != LOCAL_MAGIC:
        raise zipfile.BadZipFile("no member begins where the directory says")
    start = member.header_offset + LOCAL.size + head[-2] + head[-1]
    if start + packed > length:
        raise BadSampleError(
            f"is cut off (ends at byte {start + packed} of {length}); restore the archive"
        )
    stored = member.compress_type == zipfile.ZIP_STORED
    data = archive.read(0, start, size) if stored else _inflated(archive, member, start)
    if zlib.crc32(data) != member.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {member.filename!r}")
    return data


def _inflated(archive: _native.Files, member: zipfile.ZipInfo, start: int) -> bytes:
    make = DECODERS.get(member.compress_type)
    if make is None:
        raise BadSampleError(
            f"is packed in a way that is not read (method {member.compress_type}); make the "
            "archive again"
        )
    size, out = member.file_size, io.BytesIO()
    for part in _parts(make(member), _read(archive, start, member.compress_size), size):
        out.write(part)
        if out.tell() > size:
            raise BadSampleError(f"unpacks to over {size} bytes, want {size}; restore the archive")
    if out.tell() != size:
        raise BadSampleError(f"unpacks to {out.tell()} bytes, want {size}; restore the archive")
    return out.getvalue()


def _read(archive: _native.Files, start: int, size: int) -> Iterator[bytes]:
    return (archive.read(0, start + at, min(STEP, size - at)) for at in range(0, size, STEP))


def _parts(decoder: Decoder, pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Up to STEP bytes at a time; as many in all as there are, or one more than `size`."""
    for piece in pieces:
        data = piece
        while not decoder.eof and (data or not decoder.needs_input):
            yield decoder.decompress(data, min(STEP, size + 1))
            data = b""
    while not decoder.eof and (last := decoder.decompress(b"", STEP)):  # what zlib has kept back
        yield last
