"""convert --transcode: what cannot have a seek index is rewritten losslessly; everything else keeps
every byte.
"""

import io
import os

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import _native, transforms
from fastload.conversion import indexing, inspect, job, transcoding, verify
from fastload.sources.shard_index import read_index

from .transcode_helpers import OPTIMISED, PROGRESSIVE, WANT, encode, payloads, write_mixed


@pytest.fixture
def mixed(tools, tmp_path):
    return write_mixed(tools, tmp_path)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def test_only_what_gains_is_rewritten(tools, mixed, tmp_path):
    summary = tools.convert(mixed, tmp_path / "out", transcode=True, shard_bytes=20_000, workers=2)
    found = payloads(tmp_path / "out")
    kept = {
        key: (mixed / f"{key}.{'png' if key == 'b/a' else 'jpg'}").read_bytes() for key in found
    }
    assert found == {key: WANT.get(key, kept[key]) for key in kept}
    before, after = (sum(len(files[key]) for key in WANT) for files in (kept, WANT))
    assert summary.transcoding == transcoding.Totals(
        True,
        {"progressive": 2, "restart-marked": 1},
        before,
        after,
        {"markers between its scans": 1},
        {"progressive": 1},
    )
    assert (summary.samples, summary.seek.indexed) == (7, 4)
    assert (
        read_index(str(tmp_path / "out")).transcoded
        == inspect.inspect(str(tmp_path / "out")).transcoded
        == 3
    )
    assert verify.verify(verify.prepare(str(tmp_path / "out")), 1).damages == ()


def test_pixels_stay(tools, mixed, tmp_path):
    tools.convert(mixed, tmp_path / "plain")
    tools.convert(mixed, tmp_path / "new", transcode=True)
    old, new = payloads(tmp_path / "plain"), payloads(tmp_path / "new")
    for key, data in new.items():
        images = [
            np.asarray(Image.open(io.BytesIO(image)).convert("RGB")) for image in (data, old[key])
        ]
        np.testing.assert_array_equal(*images)


@pytest.mark.parametrize(
    ("coding", "how"),
    [
        ("arithmetic", {"scans": [], "arithmetic": True}),
        ("multi-scan", {"scans": [([c], 0, 63, 0, 0) for c in range(3)]}),
    ],
)
def test_what_pillow_does_not_write(tools, tmp_path, coding, how):
    recode = pytest.importorskip(
        "fastload._test_recode", reason="built with FASTLOAD_TEST_MODULES=ON only"
    ).recode
    want = encode(70, 110, **OPTIMISED)
    data = recode(want, **how)
    root = tools.write_tree(tmp_path / "in", {"c/a.jpg": data})
    for on in (True, False):
        summary = tools.convert(root, tmp_path / str(on), transcode=on)
        assert payloads(tmp_path / str(on)) == {"c/a": want if on else data}
        assert (summary.transcoding.images, summary.transcoding.slow) == (
            ({coding: 1}, {}) if on else ({}, {coding: 1})
        )


def test_the_loader_decodes_by_index(tools, tmp_path):
    root = tools.write_tree(
        tmp_path / "in", {f"c/{n}.jpg": encode(90, 130 + n, n, **PROGRESSIVE) for n in range(6)}
    )
    batches = {}
    for on, way in ((False, "whole"), (True, "indexed")):
        tools.convert(root, tmp_path / str(on), transcode=on)
        data = fastload.open(
            str(tmp_path / str(on)), [transforms.RandomResizedCrop(24), transforms.PILToTensor()]
        )
        loader = fastload.DataLoader(data, batch_size=6, num_workers=0, seed=1)
        batches[on] = next(iter(loader))[0].numpy()
        assert {name for name, count in loader.decodes().items() if count} == {way}
    np.testing.assert_array_equal(batches[True], batches[False])


def test_without_the_option_every_byte_stays(tools, mixed, tmp_path):
    summary = tools.convert(mixed, tmp_path / "out")
    assert payloads(tmp_path / "out")["a/progressive"] == (mixed / "a/progressive.jpg").read_bytes()
    assert summary.transcoding == transcoding.Totals(False, {}, 0, 0, {}, {"progressive": 3})
    assert read_index(str(tmp_path / "out")).transcoded is None
    assert b"transcoded" not in (tmp_path / "out" / "index.arrow").read_bytes()


def test_same_bytes_for_any_number_of_workers_and_from_shards(tools, mixed, tmp_path):
    for workers in (1, 3):
        tools.convert(
            mixed,
            tmp_path / f"w{workers}",
            workers=workers,
            shard_bytes=9000,
            transcode=True,
            shuffle=5,
        )
    assert contents(tmp_path / "w1") == contents(tmp_path / "w3")
    tools.convert(mixed, tmp_path / "kept")
    tools.convert(tmp_path / "kept", tmp_path / "again", transcode=True)
    assert payloads(tmp_path / "again") == payloads(tmp_path / "w1")
    assert all(
        (tmp_path / "w1" / name).stat().st_size <= 9000
        for name in ("shard-000000.tar", "shard-000001.tar")
    )


def test_later_indexing_keeps_the_note(tools, mixed, tmp_path):
    tools.convert(mixed, tmp_path / "a", transcode=True)
    tools.convert(mixed, tmp_path / "b", transcode=True, seek_step=None)
    indexing.run(indexing.prepare(str(tmp_path / "b")), 8, 1)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    tools.convert(tmp_path / "a", tmp_path / "c", transcode=True)
    assert read_index(str(tmp_path / "c")).transcoded == 0  # nothing was left to do


def test_too_much_growth_stays(tools, tmp_path, monkeypatch):
    data = encode(300, 400, **PROGRESSIVE)
    whole, _ = _native.jpeg_transcode(data)
    root = tools.write_tree(tmp_path / "in", {"c/a.jpg": data})
    for most, want in ((len(whole), whole), (len(whole) - 1, data)):
        monkeypatch.setattr(transcoding, "most", lambda size, most=most: {len(data): most}[size])
        summary = tools.convert(root, tmp_path / f"out{most}", transcode=True)
        assert payloads(tmp_path / f"out{most}") == {"c/a": want}
    left = {"would grow by more than a quarter": 1}
    assert summary.transcoding == transcoding.Totals(True, {}, 0, 0, left, {"progressive": 1})


def test_room_is_the_most_of_each():
    sizes = np.array([-1, 0, 1, 3, 4, 1000, 1 << 40])
    assert transcoding.room(sizes).tolist() == [
        -1,
        0,
        *(transcoding.most(size) for size in sizes[2:].tolist()),
    ]


def test_the_plan_leaves_room(tools, tmp_path):
    """Shards stay below their size although every image grows."""
    root = tools.write_tree(
        tmp_path / "in", {f"c/{n}.jpg": encode(90 + n, 120, n, **PROGRESSIVE) for n in range(12)}
    )
    options = job.Options(workers=1, shard_bytes=30_000, transcode=True)
    prepared = job.prepare(str(root), str(tmp_path / "out"), options)
    summary = job.run(prepared)
    assert summary.transcoding.images == {"progressive": 12}
    sizes = [path.stat().st_size for path in (tmp_path / "out").glob("*.tar")]
    assert len(sizes) > 2
    assert max(sizes) <= 30_000
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= prepared.plan.bytes


def test_bad_images_are_bad_with_the_option_too(tools, mixed, tmp_path):
    whole = (mixed / "a/progressive.jpg").read_bytes()
    (mixed / "a" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    plain, new = (
        tools.convert(mixed, tmp_path / str(on), transcode=on, on_error="skip")
        for on in (False, True)
    )
    assert [bad.name for bad in new.bad] == [str(mixed / "a/cut.jpg")]
    assert new.bad == plain.bad
    assert sum(new.transcoding.left.values()) == 1  # those that are left out are not counted


def test_damage_of_one_kind_is_one_reason():
    data = encode(150, 210, 1, **PROGRESSIVE)
    reasons = {transcoding.rewrite(data[:-2] + bytes(n) + data[-2:]).reason for n in (40, 50, 60)}
    assert reasons == {"Corrupt JPEG data"}
