"""FFCV 1.0.2 itself: what it writes is read back, and it reads what is written here."""

import io
import signal

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload.backends.ffcv import imports
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.conversion import beton_writer
from fastload.conversion.readers import open_reader
from fastload.errors import SourceError
from fastload.sources import beton_file
from fastload.transforms import CenterCrop
from tests.beton import ffcv_writer

pytestmark = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
# And which kinds of images they have
MODES = {"raw": {1}, "jpg": {0}, "smart": {0, 1}, "proportion": {0, 1}}


@pytest.fixture(scope="module")
def written(program, tmp_path_factory):
    """The folder of the files MODE.beton."""
    folder = tmp_path_factory.mktemp("ffcv")
    done = program(ffcv_writer.__file__, str(folder), *MODES)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(("mode", "kinds"), MODES.items())
def test_every_mode_and_field_reads_back(mode, kinds, written):
    file = beton_file.read(str(written / f"{mode}.beton"))
    assert file.names == ("picture", "label", "weight", "note", "meta", "box", "mask")
    assert len(file) == ffcv_writer.COUNT
    modes = set(file.column(0)["mode"].tolist())
    assert modes == kinds if mode != "proportion" else modes <= kinds  # which are drawn
    payloads = of_ffcv(written / f"{mode}.beton")
    for number, (image, label, weight, note, meta, box, mask) in enumerate(
        map(ffcv_writer.Rows().__getitem__, range(len(file)))
    ):
        got = {name: file.value(name, number) for name in file.names}
        assert (got["label"], got["weight"], got["note"], got["meta"]) == (
            label,
            weight,
            note.tobytes(),
            meta,
        )
        np.testing.assert_array_equal(got["box"], box)
        np.testing.assert_array_equal(got["mask"], mask.numpy())
        if isinstance(got["picture"], bytes):
            assert got["picture"] == payloads[number]
            pixels = np.asarray(Image.open(io.BytesIO(got["picture"]))).astype(int)
            assert pixels.shape == image.shape
            # FFCV's own JPEG of quality 90, of a picture with edges
            assert np.abs(pixels - image).mean() < 12
        else:
            np.testing.assert_array_equal(got["picture"], image)


def of_ffcv(path):
    """The bytes of each image as FFCV finds them."""
    imports.load()
    from ffcv.reader import Reader

    reader, content = Reader(str(path)), path.read_bytes()
    table = {int(entry["ptr"]): int(entry["size"]) for entry in reader.alloc_table}
    starts = [int(row["f0"]["data_ptr"]) for row in reader.metadata]
    return [content[at : at + table[at]] for at in starts]


def test_the_file_of_a_killed_writer_is_refused(program, tmp_path):
    assert program(ffcv_writer.__file__, str(tmp_path), "killed").returncode == -signal.SIGKILL
    path = tmp_path / "killed.beton"
    with pytest.raises(SourceError) as caught:
        fastload.open(path)
    remedy = "write it again with FFCV, or convert the original data"
    assert (
        str(caught.value)
        == f"{path}: has no table of payloads, so its writer did not finish; {remedy}"
    )


def test_ffcv_reads_what_is_written_here(tmp_path, make_image, encode):
    root = tmp_path / "in" / "cat"
    root.mkdir(parents=True)
    for number in range(5):
        kind = "PNG" if number == 3 else "JPEG"
        (root / f"{number}.{kind.lower()}").write_bytes(encode(make_image(40, 61, number), kind))
    beton_writer.run(
        open_reader(str(tmp_path / "in")),
        str(tmp_path / "x.beton"),
        beton_writer.Options(workers=1),
    )
    imports.load()
    from ffcv.fields.decoders import IntDecoder, SimpleRGBImageDecoder
    from ffcv.loader import Loader

    pipelines = {"image": [SimpleRGBImageDecoder()], "label": [IntDecoder()]}
    with imports.threads_kept():
        loader = Loader(
            str(tmp_path / "x.beton"), 5, num_workers=1, drop_last=False, pipelines=pipelines
        )
    ((images, labels),) = loader
    assert labels.tolist() == [[0]] * 5
    own = fastload.open(tmp_path / "x.beton", [CenterCrop((40, 61))])
    for number in range(5):
        difference = np.abs(images[number].astype(int) - np.asarray(own[number][0])).max()
        # FFCV has its JPEGs decoded by a faster, coarser transform
        assert difference <= (0 if number == 3 else 4)
