"""Small parts of fetching, each alone."""

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload.conversion.web import failures, robots
from fastload.conversion.web import hosts as web_hosts
from fastload.conversion.web.addresses import PrivateAddressError, is_public, public_socket
from fastload.conversion.web.failures import FailedError, Failure
from fastload.conversion.web.hosts import Hosts
from fastload.conversion.web.options import OPT_OUTS, Columns, Fetch
from fastload.errors import UsageError

fetching = pytest.importorskip("fastload.conversion.web.fetching", reason="needs aiohttp")


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses(address: str):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0",
        "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
        "2002:7f00:1::", "localhost", "",
    ],
)  # fmt: skip
def test_addresses_that_only_some_can_see(address: str):
    assert not is_public(address)
    with pytest.raises(PrivateAddressError):
        public_socket((2, 1, 6, "", (address, 80)))


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ([], ""),
        (["all"], ""),
        (["NoAI, noimageai"], "noai"),
        (["nofollow", "noimageindex"], "noimageindex"),
        (["none"], "noindex"),
        (["otherbot: noindex, nofollow"], ""),
        (["otherbot: noindex, fastload: noai"], "noai"),
        (["*: noai"], "noai"),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], "noindex"),
        (["max-image-preview: large"], ""),
        ([", :, ,: :,"], ""),
    ],
)
def test_opt_outs(headers: list[str], word: str):
    assert robots.opted_out(headers, OPT_OUTS) == word


def test_sites_without_rules_allow_all_and_those_that_fail_nothing():
    said = {"https://a/robots.txt": "", "https://b/robots.txt": None}

    async def get(url: str) -> str | None:
        return said[url]

    async def both() -> list[bool]:
        rules = robots.RobotsTxt(get)
        return [await rules.allows(f"https://{host}", f"https://{host}/x.jpg") for host in "ab"]

    assert asyncio.run(both()) == [True, False]


def test_a_failure_is_the_same_after_its_text():
    for one in (
        Failure("http_status", "the server refuses", 404, 3),
        Failure("timeout", "not whole: (1, 2 tries): x\n", 0, 1),
    ):
        assert failures.parsed(str(one)) == one
    assert failures.parsed("cannot be decoded; mend it").code == "broken_image"


def outcome(work: Callable[..., object], *arguments: object) -> tuple[object, str]:
    """What it gives, or the code of the failure."""
    try:
        return work(*arguments), ""
    except FailedError as error:
        return None, error.failure.code


@settings(max_examples=50)
@given(st.text(max_size=20), st.sampled_from(["", "http://h/", "https://[", "http://h:"]))
def test_any_text_is_a_url_or_a_bad_one(text: str, start: str):
    at, code = outcome(fetching.parse, start + text)
    if at is None:
        assert code == "bad_url"
    else:
        assert (at.scheme in ("http", "https"), at.user, at.fragment) == (True, None, "")


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress}


@given(st.binary(max_size=64), st.sampled_from(["", "gzip", "deflate", "br"]), st.booleans())
def test_any_body_is_unpacked_within_its_limit_or_refused(data: bytes, kind: str, packed: bool):
    whole = packed and kind in PACKERS
    body = PACKERS[kind](data) if whole else data
    out, code = outcome(fetching.unpacked, body, kind, 40)
    if whole:
        assert (out, code) == ((data, "") if len(data) <= 40 else (None, "too_large"))
    elif kind == "":
        assert out == data
    else:
        assert code in ("encoding", "too_large") or len(out) <= 40


@given(st.text(max_size=40))
def test_any_header_asks_for_some_wait_or_none(text: str):
    assert fetching._asked_wait(text) >= 0
    assert robots.opted_out([text], OPT_OUTS) in ("", *OPT_OUTS)


def test_a_host_has_its_turns():
    most = 0

    async def turns() -> float:
        hosts, active = Hosts(2, 100.0), 0

        async def one() -> None:
            nonlocal active, most
            async with hosts.turn("a", 1.0):
                active += 1
                most = max(most, active)
                await asyncio.sleep(0.001)
                active -= 1

        begin = time.monotonic()
        await asyncio.gather(*(one() for _ in range(6)))
        return time.monotonic() - begin

    assert asyncio.run(turns()) >= 0.049  # six requests at 100 a second
    assert most <= 2


def test_a_host_that_asks_for_silence_gets_it():
    async def asked() -> float:
        hosts = Hosts(2, None)
        async with hosts.turn("a", 1.0):
            hosts.silence("a", 0.05)
        begin = time.monotonic()
        async with hosts.turn("a", 1.0):
            waited = time.monotonic() - begin
        async with hosts.turn("a", 1.0):
            hosts.silence("a", 100)
        async with hosts.turn("b", 1.0):
            pass
        with pytest.raises(FailedError, match="told_to_wait"):
            async with hosts.turn("a", 1.0):
                pass
        return waited

    assert asyncio.run(asked()) >= 0.049


def test_hosts_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_hosts, "KEPT", 8)

    async def many() -> int:
        hosts = Hosts(2, None)
        for number in range(30):
            async with hosts.turn(f"{number}", 1.0):
                pass
        return len(hosts.gates)

    assert asyncio.run(many()) <= 8


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"connections": 0}, "connections: got 0, want at least 1; give another"),
        ({"host_rate": 0.0}, "host rate: got 0.0, want more than 0; give another"),
        ({"timeout": float("nan")}, "timeout: got nan, want more than 0; give another"),
        ({"backoff": -1}, "backoff, longest wait: got less than 0 s; give others"),
        (
            {"agent": "x\r\nHost: y"},
            (
                "user agent: got 'x\\r\\nHost: y', want printable ASCII; write what you are and "
                "how to reach you"
            ),
        ),
        ({"max_bytes": 0}, "max bytes: got 0 (want 1 to 536870912); give another"),
    ],
)
def test_options_have_ranges(wrong: dict[str, object], text: str):
    with pytest.raises(UsageError) as error:
        Fetch(**wrong)
    assert str(error.value) == text


def test_fields_do_not_take_others_names():
    with pytest.raises(UsageError) as error:
        Columns(fields=("sha256", "mine"))
    assert str(error.value) == (
        "field: sha256 stands in each sample's JSON already; leave it out, or rename the column"
    )
