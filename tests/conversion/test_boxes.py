"""convert --boxes: the verbs keep the objects of each image, or refuse by name."""

import json
from pathlib import Path

import pytest

from fastload import detection
from fastload.conversion.options import Options
from fastload.conversion.readers import from_iterable
from fastload.conversion.versions import job
from fastload.errors import SourceError
from tests.conversion import kill_boxes_release
from tests.detection.kept_helpers import coco, convert, equal, open_images, same, yolo


@pytest.fixture
def run(command_line):
    return command_line("convert", "inspect", "verify", "repair", "filter", "split", "merge")


@pytest.fixture
def made(in_memory):
    return yolo(in_memory / "yolo")


def test_verbs_keep_the_objects(run, made, in_memory):
    out, data = in_memory / "out", made.opened()
    how = ("--boxes", "yolo", "--workers", "1")
    code, _, err = run("convert", made.source, out, *how, "--split", "train")
    assert (code, err) == (0, "")
    assert equal(out, data)
    code, told, _ = run("inspect", out, "--json", "-")
    assert json.loads(told)["with_extras"] == 4
    assert run("filter", out, in_memory / "wide", "--where", "width > height")[0] == 0
    ids = [number for number in range(4) if data[number][0].width > data[number][0].height]
    wide = detection.kept(in_memory / "wide")
    assert len(wide) == len(ids) == 2
    assert all(same(wide[at][1], data[number][1]) for at, number in enumerate(ids))
    assert run("split", out, in_memory / "parts", "--parts", "a=0.5,b=0.5")[0] == 0
    both = [in_memory / "parts" / name for name in ("a", "b")]
    assert run("merge", *both, in_memory / "all")[0] == 0
    targets = [target for _, target in detection.kept(in_memory / "all")]
    assert sorted(target["image_id"] for target in targets) == [0, 1, 2, 3]
    assert all(same(target, data[target["image_id"]][1]) for target in targets)


def test_append_and_delete(run, made, in_memory):
    out, how = in_memory / "out", ("--boxes", "yolo", "--workers", "1")
    assert run("convert", made.source, out, *how, "--subset", "2")[0] == 0
    assert run("convert", made.source, out, *how, "--append")[0] == 0
    data, found = made.opened(), detection.kept(out)
    assert sorted(target["image_id"] for _, target in found) == [0, 1, 2, 3]
    assert all(same(target, data[target["image_id"]][1]) for _, target in found)
    assert run("convert", out, "--delete", "images/train/002")[0] == 0
    assert sorted(target["image_id"] for _, target in detection.kept(out)) == [0, 1, 3]


def test_samples_without_objects_are_named(made, in_memory):
    out = in_memory / "out"
    convert(made.source, out, boxes="yolo", subset="2")
    image = (made.source / "images" / "train" / "003.jpg").read_bytes()
    more = from_iterable([("new", image, 0)], ["unlabelled"])
    job.append(more, str(out), Options(workers=1))
    with pytest.raises(SourceError) as error:
        detection.kept(out)
    assert str(error.value) == (
        f"{out}: 1 of 3 samples have no 'detection.json' (first {out}/shard-000002.tar:new); leave "
        "these samples out, or correct target"
    )


def test_verify_and_repair(run, made, in_memory):
    out = in_memory / "out"
    convert(made.source, out, boxes="yolo")
    tar = out / "shard-000000.tar"
    data = tar.read_bytes()
    tar.write_bytes(data.replace(b'"category":0', b'"category":7', 1))
    code, told, _ = run("verify", out)
    assert code == 1
    assert "checksum of detection.json differs" in " ".join(told.split())
    code, _, err = run("repair", out, made.source, "--boxes", "yolo", "--workers", "1")
    assert (code, err) == (0, "")
    assert tar.read_bytes() == data


@pytest.mark.parametrize("to", ["webdataset", "parquet"])
def test_verify_looks_at_objects_that_have_no_checksum(run, made, in_memory, to):
    out = in_memory / to
    convert(made.source, out, to, boxes="yolo", shard_bytes=1 << 20)
    assert run("verify", out)[0] == 0
    (file,) = [path for path in out.iterdir() if path.suffix in (".tar", ".parquet")]
    other(file, to)
    code, told, _ = run("verify", out)
    assert code == 1
    assert "has objects of 38x53 px (got 37x53); convert it again" in " ".join(told.split())


def other(file: Path, to: str) -> None:
    """Write that the first image is 38 px high."""
    if to == "webdataset":
        file.write_bytes(file.read_bytes().replace(b'"height":37', b'"height":38', 1))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    heights = table["height"].to_pylist()
    heights[0] += 1
    place = table.schema.names.index("height")
    pq.write_table(table.set_column(place, "height", pa.array(heights)), file)


REFUSED = [
    (("--max-side", "40"), "--max-side 40 would change sizes of images whose boxes are kept"),
    (("--apply-exif",), "--apply-exif would change sizes of images whose boxes are kept"),
    (("--budget", "1M"), "--budget 1M would change sizes of images whose boxes are kept"),
    (("--to", "beton"), "4 samples have other files; pass --extras drop"),
    (("--boxes", "yolo:x"), "boxes: got 'yolo:x' (want coco:FILE.json,"),
    (("--boxes", "coko:x"), "boxes: got 'coko:x' (want coco:FILE.json,"),
    (("--masks", "x"), "boxes: --boxes and --masks name the data set twice; give one"),
    (("--from", "folder"), "boxes: --boxes and --from name the data set twice; give one"),
    (("--split", "none"), "is no folder of split 'none'"),
]


@pytest.mark.parametrize(("more", "text"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_is_refused(run, made, in_memory, more, text):
    how = () if "--boxes" in more else ("--boxes", "yolo")
    code, _, err = run("convert", made.source, in_memory / "out", *how, *more, "--workers", "1")
    assert code in (1, 2)
    assert text in " ".join(err.split())
    assert not (in_memory / "out").exists()


def test_kept_objects_are_refused_new_sizes_too(run, made, in_memory):
    convert(made.source, in_memory / "out", boxes="yolo")
    for to in ("shards", "parquet"):
        how = ("--to", to, "--max-side", "40", "--workers", "1")
        code, _, err = run("convert", in_memory / "out", in_memory / to, *how)
        assert code == 1
        assert "would change sizes of images whose boxes are kept" in " ".join(err.split())
    how = ("--quality", "40", "--strip-metadata", "--workers", "1")
    assert run("convert", in_memory / "out", in_memory / "less", *how)[0] == 0
    assert same(detection.kept(in_memory / "less")[2][1], made.opened()[2][1])
    drop = ("--max-side", "40", "--extras", "drop", "--workers", "1")
    assert run("convert", in_memory / "out", in_memory / "small", *drop)[0] == 0


def test_a_bad_annotation_is_a_bad_sample(run, made, in_memory):
    (made.source / "labels" / "train" / "001.txt").write_text("0 0.5 0.5 2 0.5\n")
    how = ("--boxes", "yolo", "--workers", "1")
    code, _, err = run("convert", made.source, in_memory / "out", *how)
    assert code == 1
    assert (
        f"{made.source}/images/train/001.jpg: has an annotation that cannot be read ("
        f"{made.source}/labels/train/001.txt, line 1: got '2' (want shares of width and height, 0 "
        "to 1)); mend it, or leave the image out"
    ) in " ".join(err.split())
    assert run("convert", made.source, in_memory / "out", *how, "--on-error", "skip")[0] == 0
    assert [target["image_id"] for _, target in detection.kept(in_memory / "out")] == [0, 2, 3]


def test_an_area_that_is_none_is_a_bad_sample(in_memory):
    made = coco(in_memory / "coco")
    file = in_memory / "coco" / "instances.json"
    said = json.loads(file.read_text())
    said["annotations"][0]["area"] = "large"
    file.write_text(json.dumps(said))
    summary = convert(made.source, in_memory / "out", boxes=made.boxes, on_error="skip")
    (bad,) = summary.bad
    assert bad.reason == (
        "has an annotation that cannot be read (object 0: area is 'large' (want a number)); mend "
        "it, or leave the image out"
    )


def test_a_folder_has_the_files_too(in_memory):
    made = open_images(in_memory / "oi", 2)
    convert(made.source, in_memory / "out", "folder", boxes=made.boxes)
    found = sorted((in_memory / "out").rglob("*.json"))
    assert [path.relative_to(in_memory / "out").as_posix() for path in found] == [
        "detections/unlabelled/000.json",
        "detections/unlabelled/001.json",
    ]
    assert json.loads(found[0].read_text())["image_id"] == "000"


def test_resumed_with_other_boxes_is_another_job(run, made, in_memory):
    out, how = in_memory / "out", ("--boxes", "yolo", "--workers", "1")
    assert run("convert", made.source, out, *how)[0] == 0
    (made.source / "labels" / "train" / "000.txt").write_text("1 0.5 0.5 0.5 0.5\n")
    code, _, _ = run("convert", made.source, out, *how, "--resume")
    assert code == 1


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # pycocotools' masks
def test_killed_and_resumed(in_memory):
    """One kill of a small conversion; `kill_boxes_release` has more of them."""
    pytest.importorskip("pycocotools", reason="masks need pycocotools")
    found = kill_boxes_release.check(1, in_memory, images=8)
    assert found["absent"] + found["old"] + found["whole"] == 1


@pytest.mark.long
def test_other_processes_make_the_same(run, made, in_memory, monkeypatch):
    monkeypatch.chdir(made.source.parent)
    how = ("--boxes", "yolo", "--shard-size", "9K")
    assert run("convert", "yolo", in_memory / "one", *how, "--workers", "1")[0] == 0
    assert run("convert", "yolo", in_memory / "two", *how, "--on", "processes:2")[0] == 0
    assert [path.read_bytes() for path in sorted((in_memory / "two").glob("*.tar"))] == [
        path.read_bytes() for path in sorted((in_memory / "one").glob("*.tar"))
    ]
