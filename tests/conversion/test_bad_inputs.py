"""What people really point a converter at."""

import json
import os
from pathlib import Path

import pytest

from fastload.errors import ConversionError, SourceError
from fastload.sources import open_source


@pytest.fixture
def bad_files(tools):
    jpeg = tools.encode(40, 60, 1)
    return {
        "c/empty.jpg": (b"", "is empty (0 bytes); mend or remove the file"),
        "c/text.jpg": (
            b"not an image, whatever it is named",
            "is no image that Pillow knows; mend or remove the file",
        ),
        "c/cut.jpg": (
            jpeg[: len(jpeg) // 2],
            (
                "cannot be decoded (image file is truncated (XX bytes not processed)); mend or "
                "remove the file"
            ),
        ),
        "c/head.jpg": (jpeg[:4], "cannot be decoded (not an image); mend or remove the file"),
        "d/cut.png": (
            tools.encode(40, 60, 2, format="PNG")[:-3000],
            "cannot be decoded (image file is truncated); mend or remove the file",
        ),
    }


def test_all_bad_files_in_one_message(tools, bad_files, small, tmp_path):
    tools.write_tree(small, {name: content for name, (content, _) in bad_files.items()})
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, tmp_path / "out", shard_bytes=2048, workers=2)
    first, *rest = str(refused.value).splitlines()
    assert first == f"{tmp_path}/out: 5 of 12 samples are bad; mend them, or pass --on-error skip"
    assert [mask(line) for line in rest] == [
        f"{small}/{name}: {bad_files[name][1]}" for name in sorted(bad_files)
    ]
    assert os.listdir(tmp_path) == ["small"]


def mask(text):
    """Pillow's count of bytes left depends on its version."""
    import re

    return re.sub(r"\(\d+ bytes not processed\)", "(XX bytes not processed)", text)


def test_skip_leaves_bad_files_out_and_lists_them(tools, bad_files, small, tmp_path):
    tools.convert(small, tmp_path / "clean", shard_bytes=5000)
    tools.write_tree(small, {name: content for name, (content, _) in bad_files.items()})
    summary = tools.convert(small, tmp_path / "out", on_error="skip")
    assert summary.samples == 7
    assert [(bad.name, mask(bad.reason)) for bad in summary.bad] == [
        (f"{small}/{n}", bad_files[n][1]) for n in sorted(bad_files)
    ]
    lines = (tmp_path / "out" / "bad_samples.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"sample": b.sample, "name": b.name, "reason": b.reason} for b in summary.bad
    ]
    source = open_source(tmp_path / "out")
    assert source.classes == ("c", "cat", "d", "dog")
    assert source.labels.tolist() == [1, 1, 1, 3, 3, 3, 3]


def test_skip_with_whole_shards_of_bad_files_leaves_no_gap(tools, small, tmp_path):
    tools.write_tree(small, {f"cat/0{n}.jpg": b"x" * 3000 for n in range(4)})
    summary = tools.convert(small, tmp_path / "out", on_error="skip", shard_bytes=2048)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.tar")) == [
        f"shard-{n:06d}.tar" for n in range(summary.shards)
    ]
    assert len(open_source(tmp_path / "out")) == 7


def test_no_sample_left(tools, tmp_path):
    root = tools.write_tree(tmp_path / "in", {"c/a.jpg": b""})
    with pytest.raises(ConversionError) as refused:
        tools.convert(root, tmp_path / "out", on_error="skip")
    text = (
        f"{tmp_path}/out: no sample is left of 1; give other images\n{root}/c/a.jpg: is empty "
        "(0 bytes); mend or remove the file"
    )
    assert str(refused.value) == text
    assert os.listdir(tmp_path) == ["in"]


def test_unchecked_conversion_keeps_what_it_cannot_decode(tools, tmp_path):
    root = tools.write_tree(
        tmp_path / "in", {"c/a.jpg": b"text", "c/b.jpg": tools.encode(3, 5)[:-50]}
    )
    tools.convert(root, tmp_path / "out", check="none")
    index = open_source(tmp_path / "out").index
    assert [index.format(n) for n in range(2)] == ["unknown", "jpeg 4:2:0"]
    assert index.columns["height"].all().tolist() == [0, 3]
    (root / "c" / "a.jpg").write_bytes(b"")
    with pytest.raises(ConversionError, match="is empty"):
        tools.convert(root, tmp_path / "other", check="none")


GOOD = {
    "c/cmyk.jpg": (("CMYK", "JPEG"), (9, 14), "jpeg", "jpg"),
    "c/grey.JPG": (("L", "JPEG"), (9, 14), "jpeg grey", "jpg"),
    "c/deep.png": (("I;16", "PNG"), (9, 14), "png", "png"),
    "c/png_named.JPEG": (("RGB", "PNG"), (9, 14), "png", "png"),
    "c/one.jpeg": (("RGB", "JPEG"), (1, 1), "jpeg 4:2:0", "jpg"),
    "c/line.jpg": (("RGB", "JPEG"), (1, 5000), "jpeg 4:2:0", "jpg"),
    "c/a.ppm": (("RGB", "PPM"), (9, 14), "ppm", "ppm"),
    "c/a.webp": (("RGB", "WEBP"), (9, 14), "webp", "webp"),
    "c/a.bmp": (("RGB", "BMP"), (9, 14), "bmp", "bmp"),
    "c/a.tif": (("RGB", "TIFF"), (9, 14), "tiff", "tiff"),
}


def test_odd_but_good_images(tools, tmp_path):
    import tarfile

    contents = {
        n: tools.encode(*size, 3, mode=mode, format=format)
        for n, ((mode, format), size, *_) in GOOD.items()
    }
    tools.convert(tools.write_tree(tmp_path / "in", contents), tmp_path / "out")
    source = open_source(tmp_path / "out")
    with tarfile.open(tmp_path / "out" / "shard-000000.tar") as archive:
        names = [member.name for member in archive if not member.name.endswith(".cls")]
        stored = [archive.extractfile(name).read() for name in names]
    for n, name in enumerate(sorted(GOOD)):
        _, size, format, extension = GOOD[name]
        got = tuple(int(source.index.columns[side].all()[n]) for side in ("height", "width"))
        assert (name, got, source.index.format(n), names[n].rpartition(".")[2]) == (
            name,
            size,
            format,
            extension,
        )
        assert stored[n] == contents[name]


def test_odd_file_names(tools, tmp_path):
    import tarfile

    odd = ["two words", "été 日本", 'it\'s "quoted"', "line\nbreak", "x" * 150, "dots.in.name"]
    odd += ["[red]markup[/x]", "-rf", "a", "a (1)"]
    files = {
        f"class {n % 2}.v1/{name}.jpg": tools.encode(4 + n, 9, n) for n, name in enumerate(odd)
    }
    files["class 0.v1/a.png"] = tools.encode(5, 8, 99, format="PNG")
    files["class 0.v1/a.jpg"] = tools.encode(5, 8, 98)
    root = tools.write_tree(tmp_path / "in", files)
    name = os.fsencode(str(root / "class 0.v1")) + b"/\xff\xfe.jpg"
    Path(os.fsdecode(name)).write_bytes(tools.encode(3, 7))
    tools.convert(root, tmp_path / "out", shard_bytes=20000)
    source = open_source(tmp_path / "out")
    keys = [source.index.key(n) for n in range(len(source))]
    assert len(set(keys)) == len(keys) == 12
    assert {
        "class 0.v1/a",
        "class 0.v1/a_2",
        "class 1.v1/line_break",
        "class 0.v1/" + "x" * 150,
        "class 0.v1/\ufffd\ufffd",
    } <= set(keys)
    members = []
    for shard in source.index.shards:
        with tarfile.open(tmp_path / "out" / shard.name) as archive:
            members += [member.name for member in archive]
    assert (
        [name.rpartition(".")[0] for name in members[::2]]
        == keys
        == [name.removesuffix(".cls") for name in members[1::2]]
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda _: None, "{root}: does not exist; check the path"),
        (
            lambda root: root.mkdir(),
            (
                "{root}: no class folders (got none, want ROOT/CLASS/IMAGE); put each class into "
                "its own folder"
            ),
        ),
        (
            lambda root: (root / "c").mkdir(parents=True),
            "{root}: no image in 1 of 1 classes (c); remove them or add images",
        ),
        (
            lambda root: root.write_text("x"),
            (
                "{root}: is of no known kind (want fastload's shards, FFCV file (.beton), "
                "tars of WebDataset or of a folder (.tar, .tar.gz), zip of a folder (.zip), "
                "Parquet or Arrow tables (.parquet, .arrow), list of files (.csv, .jsonl), images/ "
                "and masks/, folder of classes, MosaicML Streaming's shards (MDS), LitData's "
                "chunks, TFRecords (.tfrecord), LMDB of images (data.mdb, .lmdb), Lance of images "
                "as blobs (_versions), wids' index of tars (.json)); give one of these"
            ),
        ),
    ],
)
def test_no_data_set(tools, tmp_path, make, text):
    make(tmp_path / "in")
    with pytest.raises(SourceError) as refused:
        tools.convert(tmp_path / "in", tmp_path / "out")
    assert str(refused.value) == text.format(root=tmp_path / "in")
    assert not (tmp_path / "out").exists()


def test_special_and_missing_files_are_bad_samples(tools, small, tmp_path, monkeypatch):
    os.mkfifo(small / "cat" / "pipe.jpg")
    (small / "cat" / "link.jpg").symlink_to(small / "nowhere")
    monkeypatch.setattr("fastload.conversion.readers.files.LARGEST", 700)
    (small / "dog" / "large.jpg").write_bytes(bytes(800))
    sizes = {path.name: path.stat().st_size for path in small.glob("*/*.JPEG")}
    for name in [name for name, size in sizes.items() if size > 700]:
        next(small.glob(f"*/{name}")).unlink()
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, tmp_path / "out")
    assert str(refused.value).splitlines()[1:] == [
        (
            f"{small}/cat/link.jpg: cannot be read (No such file or directory); make it readable "
            "or remove it"
        ),
        f"{small}/cat/pipe.jpg: is no regular file; remove it",
        f"{small}/dog/large.jpg: is too large (got 800 bytes, want at most 700); remove it",
    ]


def test_a_file_that_changes_is_a_bad_sample(tools, small, tmp_path):
    from fastload.conversion import job

    prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1))
    with open(small / "cat" / "3.JPEG", "ab") as file:
        file.write(b"more")
    with pytest.raises(ConversionError) as refused:
        job.run(prepared)
    reason = "changed its size during the conversion; convert again when nothing writes to it"
    assert str(refused.value).splitlines()[1:] == [f"{small}/cat/3.JPEG: {reason}"]
