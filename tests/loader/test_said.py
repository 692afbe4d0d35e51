"""What a loader says of itself, and of arguments that make no sense."""

import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T


def ops(size=(12, 17)):
    return [T.RandomResizedCrop(size), T.ToTensor()]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"seed": "a"}, "seed is 'a', want None or a whole number from 0 to 2**64 - 1"),
        ({"seed": 1.5}, "seed is 1.5, want None or a whole number from 0 to 2**64 - 1"),
        ({"seed": -1}, "seed is -1, want None or a whole number from 0 to 2**64 - 1"),
        ({"lazy_images": "no"}, "lazy_images is 'no', want True or False"),
        ({"seed_samples": "off"}, "seed_samples is 'off', want True or False"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(folder, arguments, text):
    with pytest.raises(fastload.UsageError) as caught:
        fastload.DataLoader(fastload.open(folder, ops()), 4, **arguments)
    assert str(caught.value) == f"DataLoader: {text}"


def test_a_seed_may_be_numpys(folder):
    def first(seed):
        data = fastload.open(folder, ops())
        return next(iter(fastload.DataLoader(data, 4, shuffle=True, seed=seed)))[0]

    assert torch.equal(first(np.int64(7)), first(7))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mask_dtype": "int64"}, "mask_dtype given without masks; leave it out, or give masks="),
        (
            {"mask_dtype": "int64", "mask_fill": 255},
            "mask_dtype and mask_fill given without masks; leave it out, or give masks=",
        ),
        (
            {"masks": "masks", "fields": ("image", "label")},
            "fields given with masks; leave it out, or open without masks",
        ),
        (
            {"masks": "masks", "format": "beton", "version": 2},
            "format and version given with masks; leave it out, or open without masks",
        ),
    ],
)
def test_open_takes_no_argument_that_it_would_not_use(folder, arguments, text):
    with pytest.raises(fastload.UsageError) as caught:
        fastload.open(folder, ops(), **arguments)
    assert str(caught.value) == f"open: {text}"


def test_a_folder_has_no_fields(folder):
    with pytest.raises(fastload.SourceError) as caught:
        fastload.open(folder, ops(), fields=("image", "label"))
    assert str(caught.value) == (
        f"{folder}: has no fields to choose from (got folder of classes); leave fields out"
    )


def test_a_text_as_num_workers_is_named(folder):
    with pytest.raises(TypeError) as caught:  # PyTorch's class
        fastload.DataLoader(fastload.open(folder, ops()), 4, num_workers="4")
    assert str(caught.value) == "DataLoader: num_workers is '4', want a whole number or 'auto'"


def test_a_path_is_no_data_set(folder):
    with pytest.raises(fastload.UsageError) as caught:
        fastload.DataLoader(str(folder), 4)
    assert str(caught.value) == (
        f"DataLoader: dataset is the path {str(folder)!r}, want a data set; give "
        f"fastload.open({str(folder)!r}, transform)"
    )
    assert list(fastload.DataLoader("no such path", 12)) == [list("no such path")]


@pytest.mark.parametrize(
    ("size", "shown"), [("224", ("224", "224")), (0, (0, 0)), (-1, (-1, -1)), (2.5, (2.5, 2.5))]
)
def test_sizes_are_shown_as_they_were_given(folder, size, shown):
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.open(folder, ops(size))
    assert str(caught.value) == (
        f"op 1 (RandomResizedCrop): size is {shown}, want whole numbers from 1 to 16384 px"
    )


@pytest.mark.parametrize("op", [T.Resize(2.5), T.CenterCrop("224"), T.RandomCrop((8, 8.5))])
def test_no_op_takes_a_size_that_is_no_number_of_pixels(folder, op):
    """It is told with the other problems, not as a TypeError of the op's own code."""
    with pytest.raises(fastload.PipelineError, match=rf"^op 1 \({op.name}\): size is .* px$"):
        fastload.open(folder, op)


def test_one_number_in_a_list_is_one_number():
    assert T.RandomResizedCrop([24]) == T.RandomResizedCrop(24)
    assert (T.CenterCrop((24,)), T.RandomCrop([24])) == (T.CenterCrop(24), T.RandomCrop(24))
    assert T.Resize((24,)) == T.Resize(24)


def test_a_folder_of_another_format_is_sent_to_convert(tmp_path):
    (tmp_path / "a.arrow").write_bytes(b"")
    with pytest.raises(fastload.SourceError) as caught:
        fastload.open(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: holds Arrow files (got .arrow, want a folder of classes, or shards with an "
        f"index); run fastload convert {tmp_path} DST, and open DST"
    )


def test_a_loader_says_who_runs_it_and_how_fast(folder):
    loader = fastload.DataLoader(fastload.open(folder, ops()), 4, num_workers=2)
    assert repr(loader) == str(loader) == "<DataLoader: native, 2 threads>"
    assert loader.stats()["possible_images_per_s"] is None
    list(loader)
    said = re.fullmatch(
        r"<DataLoader: native, 2 threads; ([\d,]+) images/s possible, your loop takes ([\d,]+) "
        r"images/s and waits (\d+)%>",
        repr(loader),
    )
    stats = loader.stats()
    assert said[1] == f"{stats['possible_images_per_s']:,.0f}"
    assert said[2] == f"{stats['images_per_s']:,.0f}"
    assert 0 <= int(said[3]) <= 100
    busy = sum(stage["wall_s"] for stage in stats["stages"].values())
    assert stats["possible_images_per_s"] == pytest.approx(2 * stats["images"] / busy)


def test_a_loader_of_pytorchs_engine_says_so():
    loader = fastload.DataLoader(torch.utils.data.TensorDataset(torch.arange(7)), 4)
    assert repr(loader) == "<DataLoader: PyTorch's own engine>"
    list(loader)
    assert re.fullmatch(
        r"<DataLoader: PyTorch's own engine; your loop takes [\d,]+ images/s and waits \d+%>",
        repr(loader),
    )


@pytest.mark.parametrize(
    ("on_error", "done"), [("substitute", "substituted"), ("skip", "left out")]
)
def test_an_epochs_end_says_how_many_samples_were_bad(folder, tmp_path, on_error, done):
    """Equal reasons are said once."""
    source = fastload.open(shutil.copytree(folder, tmp_path / "copy"), ops())
    for sample in (1, 2):
        Path(source.samples[sample][0]).write_bytes(b"no image")
    Path(source.samples[4][0]).unlink()
    loader = fastload.DataLoader(
        source, 4, on_error=on_error, max_bad=3, bad_samples=tmp_path / "bad.jsonl"
    )
    with pytest.warns(fastload.BadSamplesWarning) as caught:
        list(loader)
    (said,) = caught
    assert str(said.message) == (
        f"loader: 3 of {len(source)} samples could not be read in epoch 0 and were {done} "
        "(2 times: cannot be decoded (cannot identify image file); mend or remove the file; "
        "cannot be read (No such file or directory)); "
        f"{tmp_path / 'bad.jsonl'} lists them"
    )
    assert said.filename == __file__


def test_an_epoch_without_bad_samples_ends_in_silence(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(fastload.DataLoader(fastload.open(folder, ops()), 4, on_error="skip"))
