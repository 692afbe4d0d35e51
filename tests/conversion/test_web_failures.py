"""What a web server may do wrong, and the table of what failed."""

import asyncio
import contextlib
import gzip
import hashlib
import json
import socket
import struct
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fastload.conversion.parts import NothingLeftError
from fastload.conversion.web.options import Columns
from tests.conversion.conftest import contents, encode
from tests.conversion.web_helpers import failures, fetched, parquet, samples
from tests.conversion.web_server import Request, says, serving

pytest.importorskip("aiohttp", reason="aiohttp is not installed (pip install aiohttp)")
IMAGE = encode(23, 17)
MIB = 1 << 20


async def _slow(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:  # a byte now and then, for ever
            await request.send(b"x")
            await asyncio.sleep(0.05)


async def _endless(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            await request.send(bytes(MIB))


async def _short(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + IMAGE)
    request.out.close()


async def _closing(request: Request) -> None:
    request.out.close()


async def _flood(request: Request) -> None:
    lines = "".join(f"X-{n}: {'y' * 1000}\r\n" for n in range(5000))
    with contextlib.suppress(OSError):
        await request.send(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode())


async def _endless_headers(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nX: ")
    with contextlib.suppress(OSError):
        while True:
            await request.send(b"y" * 4096)


async def _passing(request: Request) -> None:
    """Well at the second time."""
    if request.number == 0:
        await request.answer(503, Retry_After="0")
    else:
        await request.answer(200, IMAGE)


def _bomb() -> bytes:
    """A PNG that says it is 60,000 px to a side."""
    head = struct.pack(">2I5B", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    )


ANSWERS = {
    "/good.jpg": says(IMAGE),
    "/passing.jpg": _passing,
    "/gzip.jpg": says(gzip.compress(IMAGE), Content_Encoding="gzip"),
    "/moved.jpg": says(b"", 302, Location="/good.jpg"),
    "/loop.jpg": says(b"", 301, Location="/loop.jpg"),
    "/nowhere.jpg": says(b"", 301),
    "/file.jpg": says(b"", 301, Location="file:///etc/passwd"),
    "/gone.jpg": says(b"", 410),
    "/broken.jpg": says(b"", 500),
    "/busy.jpg": says(b"", 429),
    "/slow.jpg": _slow,
    "/endless.jpg": _endless,
    "/huge.jpg": says(b"", Content_Length=str(1 << 40)),
    "/short.jpg": _short,
    "/closing.jpg": _closing,
    "/flood.jpg": _flood,
    "/headers.jpg": _endless_headers,
    "/empty.jpg": says(b""),
    "/page.jpg": says(b"<html>no image</html>", Content_Type="image/jpeg"),
    "/damaged.jpg": says(IMAGE[:200] + bytes(300) + IMAGE[500:-300]),
    "/bomb.png": says(_bomb()),
    "/zip.jpg": says(gzip.compress(bytes(8 * MIB)), Content_Encoding="gzip"),
    "/brotli.jpg": says(IMAGE, Content_Encoding="br"),
    "/noai.jpg": says(IMAGE, X_Robots_Tag="noai"),
    "/other.jpg": says(IMAGE, X_Robots_Tag="somebot: noai"),
    "/ours.jpg": says(IMAGE, X_Robots_Tag="somebot: all, fastload: noindex"),
    "/small.jpg": says(encode(3, 40)),
    "/long.jpg": says(encode(10, 100)),
}
GOOD = ("/good.jpg", "/passing.jpg", "/gzip.jpg", "/moved.jpg", "/other.jpg")
EXPECTED = {
    "/loop.jpg": ("redirects", 0, 1),
    "/nowhere.jpg": ("bad_response", 301, 1),
    "/file.jpg": ("bad_url", 0, 1),
    "/gone.jpg": ("http_status", 410, 1),
    "/missing.jpg": ("http_status", 404, 1),
    "/broken.jpg": ("http_status", 500, 2),
    "/busy.jpg": ("http_status", 429, 2),
    "/endless.jpg": ("too_large", 200, 1),
    "/huge.jpg": ("too_large", 200, 1),
    "/short.jpg": ("cut_off", 0, 2),
    "/closing.jpg": ("cut_off", 0, 2),
    "/flood.jpg": ("bad_response", 0, 1),
    "/headers.jpg": ("bad_response", 0, 1),
    "/empty.jpg": ("empty", 200, 1),
    "/page.jpg": ("wrong_type", 200, 1),
    "/damaged.jpg": ("broken_image", 200, 1),
    "/bomb.png": ("too_many_pixels", 200, 1),
    "/zip.jpg": ("too_large", 200, 1),
    "/brotli.jpg": ("encoding", 200, 1),
    "/noai.jpg": ("opt_out", 200, 1),
    "/ours.jpg": ("opt_out", 200, 1),
    "/small.jpg": ("too_small", 200, 1),
    "/long.jpg": ("too_long", 200, 1),
}


def test_the_table_of_what_failed_is_exact_and_the_same_for_any_threads(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/x.jpg"
    elsewhere = {
        closed: ("connect", 0, 2),
        "http://nowhere.invalid/x.jpg": ("dns", 0, None),
        "ftp://127.0.0.1/x.jpg": ("bad_url", 0, 1),
        "http://user:secret@127.0.0.1/x.jpg": ("bad_url", 0, 1),
        "http://[::1/x.jpg": ("bad_url", 0, 1),
        "javascript:alert(1)": ("bad_url", 0, 1),
        "x" * 9000: ("bad_url", 0, 1),
        "": ("bad_url", 0, 1),
    }
    with serving(ANSWERS) as server:
        urls = [server.url(path) for path in (*GOOD, *EXPECTED)] + list(elsewhere)
        source = parquet(tmp_path / "urls.parquet", url=urls)
        how = {"max_bytes": 2 * MIB, "min_side": 5, "max_aspect": 5, "rows": 4}
        done = fetched(source, tmp_path / "one", workers=1, connections=4, **how)
        fetched(source, tmp_path / "eight", workers=8, **how)
    wanted = [*EXPECTED.values(), *elsewhere.values()]
    found = failures(tmp_path / "one")
    assert sorted(found) == list(range(len(GOOD), len(urls)))
    for (row, said), (reason, status, tries) in zip(sorted(found.items()), wanted, strict=True):
        assert said == (reason, status, said[2] if tries is None else tries), urls[row]
    assert list(samples(tmp_path / "one")) == [f"{row:09d}" for row in range(len(GOOD))]
    assert done.failed["bad_url"] == 7
    assert done.failed["http_status 404"] == 1
    assert sum(done.failed.values()) == len(found)
    assert contents(tmp_path / "one") == contents(tmp_path / "eight")
    tables = [pq.read_table(tmp_path / f"{name}.failed.parquet") for name in ("one", "eight")]
    assert tables[0].equals(tables[1])
    assert tables[0].column("url").to_pylist() == urls[len(GOOD) :]


def test_a_host_that_drips_is_given_up(tmp_path: Path):
    with serving(ANSWERS) as server:
        source = parquet(tmp_path / "urls.parquet", url=[server.url("/slow.jpg")])
        with pytest.raises(NothingLeftError):
            fetched(source, tmp_path / "out", timeout=0.2)
    assert failures(tmp_path / "out") == {0: ("timeout", 0, 2)}


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]"],
)
def test_private_addresses_are_not_asked(tmp_path: Path, address: str):
    wanted = "bad_url" if address.isdigit() else "private_address"
    with serving(ANSWERS) as server:
        source = parquet(tmp_path / "urls.parquet", url=[server.url("/good.jpg", address)])
        with pytest.raises(NothingLeftError):
            fetched(source, tmp_path / "out", private=False)
        assert failures(tmp_path / "out") == {0: (wanted, 0, 1)}
        assert not server.asked


def test_checksums_of_the_table_are_compared(tmp_path: Path):
    said = [
        hashlib.sha256(IMAGE).hexdigest(),
        hashlib.md5(IMAGE).hexdigest().upper(),
        hashlib.sha256(b"").hexdigest(),
        "nothing",
        None,
    ]
    with serving(ANSWERS) as server:
        source = parquet(tmp_path / "u.parquet", url=[server.url("/good.jpg")] * 5, sum=said)
        fetched(source, tmp_path / "out", Columns(checksum="sum"))
    assert list(samples(tmp_path / "out")) == ["000000000", "000000001", "000000004"]
    assert failures(tmp_path / "out") == {2: ("checksum", 200, 1), 3: ("checksum", 200, 1)}


def test_hostile_columns_stay_in_the_json(tmp_path: Path):
    caption, field = "../../x\n\0<script>", "../../etc/passwd"
    with serving(ANSWERS) as server:
        source = parquet(
            tmp_path / "u.parquet",
            url=[server.url("/good.jpg")],
            caption=[caption],
            **{field: [float("nan")]},
        )
        fetched(source, tmp_path / "out", Columns(fields=(field,)))
    (sample,) = samples(tmp_path / "out").values()
    assert set(sample) == {"jpg", "cls", "json", "txt"}
    assert sample["txt"].decode() == caption
    said = json.loads(sample["json"])
    assert (said["caption"], said[field]) == (caption, None)


def test_opt_outs_may_be_ignored(tmp_path: Path):
    with serving(ANSWERS) as server:
        source = parquet(tmp_path / "u.parquet", url=[server.url("/noai.jpg")])
        done = fetched(source, tmp_path / "out", opt_outs=())
    assert done.conversion.samples == 1


def test_robots_txt_is_asked_once_where_that_is_wished(tmp_path: Path):
    rules = b"User-agent: *\nAllow: /\n\nUser-agent: fastload\nDisallow: /moved\n"
    with serving({**ANSWERS, "/robots.txt": says(rules)}) as server:
        urls = [server.url(path) for path in ("/good.jpg", "/moved.jpg", "/other.jpg")]
        source = parquet(tmp_path / "u.parquet", url=urls)
        fetched(source, tmp_path / "without")
        assert server.asked["/robots.txt"] == 0
        fetched(source, tmp_path / "with", robots_txt=True)
        assert server.asked["/robots.txt"] == 1
    assert failures(tmp_path / "with") == {1: ("robots_txt", 0, 1)}
