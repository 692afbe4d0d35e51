"""The small pure parts: byte counts, tar blocks, keys, the plan."""

import io
import re
import tarfile
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastload.conversion import plan, readers, tar, units
from fastload.conversion.appending import Appender
from fastload.errors import UsageError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4096", 4096),
        ("256M", 256 << 20),
        ("1.5G", 3 << 29),
        ("2k", 2048),
        ("64MiB", 64 << 20),
        ("1GB", 1 << 30),
    ],
)
def test_parse_size(text, count):
    assert units.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "M", "12X", "-1M", "1e9", "1 000", "0x10", "9" * 40])
def test_parse_size_refuses(text):
    with pytest.raises(UsageError) as refused:
        units.parse_size(text)
    assert str(refused.value) == f"size: {text!r} is no number of bytes; write it like 256M or 1G"


def test_human():
    assert [units.human(n) for n in (0, 999, 1000, 1 << 20, 5 << 30, 3 << 40)] == [
        "0 B",
        "999 B",
        "0.977 KiB",
        "1 MiB",
        "5 GiB",
        "3 TiB",
    ]


@given(
    st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=300
    ),
    st.binary(max_size=1500),
)
def test_any_name_and_content_reads_back_with_tarfile(name, content):
    blocks = tar.header(name.encode(), len(content)) + tar.padded(content) + tar.END
    with tarfile.open(fileobj=io.BytesIO(blocks)) as archive:
        (member,) = archive.getmembers()
        assert (member.name, member.size) == (
            name.rstrip("/") if len(name.encode()) > 100 else member.name,
            len(content),
        )
        assert (
            archive.extractfile(member).read() == content if member.isfile() else name.endswith("/")
        )
        assert (member.mtime, member.uid, member.gid, member.mode, member.uname) == (
            0,
            0,
            0,
            0o644,
            "",
        )


@pytest.mark.parametrize("length", [1, 94, 95, 96, 97, 100, 101, 511, 512, 513, 4000])
@pytest.mark.parametrize("size", [1, 511, 512, 513])
def test_a_sample_takes_at_most_what_was_planned(tools, length, size, tmp_path):
    with closing(Appender(tools.entry(tmp_path / "shard"))) as file:
        shard = tar.Archive(file)
        offset = shard.add("k" * length, "webp", 123456, bytes(size))
        assert file.end <= tar.most(length, size)
        shard.finish()
    with tarfile.open(tmp_path / "shard") as archive:
        image, label = archive.getmembers()
        assert (image.name, image.offset_data, image.size) == ("k" * length + ".webp", offset, size)
        assert archive.extractfile(label).read() == b"123456"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("n01/n01_7.JPEG", "n01/n01_7"),
        ("a.b/c.d.e.jpg", "a.b/c_d_e"),
        ("cat/.jpg", "cat/_jpg"),
        ("cat/two words 'q'.png", "cat/two words 'q'"),
        ("cat/line\nbreak.png", "cat/line_break"),
        ("chat/été.png", "chat/été"),
        ("cat/\udcff.png", "cat/\ufffd"),
        ("__meta__/a.png", "_meta__/a"),
        ("top.png", "top"),
    ],
)
def test_keys(name, key):
    assert readers.tidy_key(name) == key


def test_equal_stems_get_numbers():
    assert readers.unique_keys(["c/a.jpg", "c/a.png", "c/a_2.jpg", "c/a.webp"]) == [
        "c/a",
        "c/a_2",
        "c/a_2_2",
        "c/a_3",
    ]


WEBDATASET = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # webdataset/tariterators.py, base_plus_ext


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0/"), min_size=1, max_size=12),
        min_size=1,
        max_size=30,
    )
)
def test_every_key_is_unique_and_survives_webdataset(names):
    keys = readers.unique_keys(f"class/{name}.jpg" for name in names)
    assert len(set(keys)) == len(names)
    for key in keys:
        assert WEBDATASET.match(f"{key}.jpg").groups() == (key, "jpg")
        key.encode()


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=60),
    st.integers(1024, 20_000),
    st.none() | st.integers(0, 2**64 - 1),
)
def test_plan_holds_every_sample_once_and_shards_are_full(sizes, shard_bytes, seed):
    keys = [f"k{n}" for n in range(len(sizes))]
    made = plan.make(keys, np.array(sizes), shard_bytes, seed)
    assert sorted(made.order.tolist()) == list(range(len(sizes)))
    assert (made.cuts[0], made.cuts[-1]) == (0, len(sizes))
    for shard in range(made.shards):
        samples = made.samples(shard).tolist()
        assert made.capacity[shard] == sum(tar.most(len(keys[n]), sizes[n]) for n in samples)
        assert samples
        assert made.capacity[shard] <= shard_bytes or len(samples) == 1
    if seed is None:
        assert made.order.tolist() == list(range(len(sizes)))
