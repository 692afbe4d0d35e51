"""from_huggingface: the same images, labels and order as the data set gives, read from its files;
or one line of what is wrong.
"""

import os

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import fastload

datasets = pytest.importorskip("datasets", reason="datasets is not installed")
EVAL = v2.Compose([v2.Resize((12, 15)), v2.ToImage()])


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


@pytest.fixture
def rows(make_image, encode):
    return {
        "image": [
            {"bytes": encode(make_image(30 + n, 50 - n, n)), "path": None} for n in range(11)
        ],
        "label": [n % 3 for n in range(11)],
    }


@pytest.fixture
def stored(rows, tmp_path):
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b", "c"])}
    )
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(
        tmp_path / "data", num_shards=3
    )
    return datasets.load_from_disk(str(tmp_path / "data"))


def same(data):
    """Every batch is what the data set's own images give."""
    ours = fastload.DataLoader(fastload.from_huggingface(data, transform=EVAL), 4)
    assert ours.explain().startswith("backend native")
    images, labels = (torch.cat(parts) for parts in zip(*ours, strict=True))
    assert torch.equal(images, torch.stack([EVAL(row["image"].convert("RGB")) for row in data]))
    assert labels.tolist() == [row["label"] for row in data]


def test_the_second_epoch_has_seek_indexes(stored, cache):
    """Kept for the folder of the Arrow files; parts of it add to the same ones."""
    crops = v2.Compose([v2.RandomResizedCrop((12, 15)), v2.ToImage()])

    def loader(data, mode):
        data = fastload.from_huggingface(data, transform=crops)
        return fastload.DataLoader(data, 4, shuffle=True, seed=1, seek_index=mode)

    half = stored.select(range(5))
    auto, off = loader(half, "auto"), loader(half, "off")
    for _ in range(2):
        for (images, _), (want, _) in zip(auto, off, strict=True):
            assert torch.equal(images, want)
    assert (auto.decodes()["indexed"], auto.decodes()["whole"]) == (5, 5)
    whole = loader(stored, "auto")
    list(whole), list(whole)
    assert (whole.decodes()["indexed"], whole.decodes()["whole"]) == (5 + 11, 6)
    assert len(os.listdir(cache / "fastload" / "seek")) == 1


def test_arrow_files_are_read_where_they_lie(stored):
    same(stored)
    source = fastload.from_huggingface(stored).pipeline.source
    assert len(source.paths) == 3
    assert all(path.endswith(".arrow") for path in source.paths)
    assert source.classes == ("a", "b", "c")


def test_rows_that_were_chosen_or_put_together(stored):
    same(stored.shuffle(seed=1).select([3, 1, 2, 2]))
    same(stored.select(range(2, 9)))
    same(datasets.concatenate_datasets([stored, stored.select([1, 0])]))
    same(stored.train_test_split(0.3, seed=2)["test"])


def test_files_of_their_own(folder, tmp_path):
    data = datasets.load_dataset(
        "imagefolder", data_dir=folder, split="train", cache_dir=str(tmp_path / "hf")
    )
    same(data)
    source = fastload.from_huggingface(data).pipeline.source
    assert source.where == os.path.realpath(folder) or source.where == folder


def test_a_file_that_was_renamed_or_removed_meanwhile(stored):
    for path in {entry["filename"] for entry in stored.cache_files}:
        os.rename(path, path + "x")
    same(stored)
    for path in {entry["filename"] for entry in stored.cache_files}:
        os.remove(path + "x")
    with pytest.raises(
        fastload.SourceError,
        match=r"arrowx \(deleted\): is mapped, but was removed or renamed; load the data set "
        r"again$",
    ):
        fastload.from_huggingface(stored)


def test_what_cannot_be_read_is_one_line(rows, stored, make_image):
    memory = datasets.Dataset.from_dict({**rows, "text": ["x"] * 11}, features=None).cast_column(
        "image", datasets.Image()
    )
    classes = "ClassLabel(names=['a', 'b', 'c'])"
    remedy = "save it with save_to_disk, and take what load_from_disk gives"
    cases = [
        ([1], {}, "got list, want a datasets.Dataset (one split, not streamed)"),
        (stored, {"image": "img"}, "no column img (has image, label); give image= and label="),
        (
            stored,
            {"image": "label"},
            f"column label is {classes}, want Image() or Image(mode='RGB')",
        ),
        (
            memory,
            {"label": "text"},
            "column text has object, want whole numbers, none missing; see class_encode_column",
        ),
    ]
    with pytest.raises(fastload.SourceError) as caught:
        fastload.from_huggingface(memory)
    assert (
        str(caught.value)
        == f"from_huggingface(data set, image): its images are in memory, want a file; {remedy}"
    )
    for data, options, text in cases:
        with pytest.raises(fastload.FastloadError) as caught:
            fastload.from_huggingface(data, **options)
        assert str(caught.value) == f"from_huggingface: {text}"
    with pytest.raises(
        fastload.PipelineError, match=r"^transform: len is not one that fastload knows$"
    ):
        fastload.from_huggingface(stored, transform=len)


def test_the_loader_points_to_it(stored):
    loader = fastload.DataLoader(stored, 4)
    assert loader.explain().splitlines()[2] == (
        "  data set datasets.arrow_dataset.Dataset makes rows of any kind; give its images by "
        "fastload.from_huggingface"
    )


def test_images_without_bytes_are_named(tmp_path, make_image, encode):
    Image.fromarray(make_image(9, 12, 1)).save(tmp_path / "x.jpg")
    inside, file = (
        {"bytes": encode(make_image(9, 12, 1)), "path": None},
        {"bytes": None, "path": str(tmp_path / "x.jpg")},
    )
    for name, rows, text in (
        ("mixed", [inside, file], "1 images have no bytes; filter them out"),
        (
            "none",
            [file, {"bytes": None, "path": None}],
            "1 images have no bytes, and no path on this machine; download them first",
        ),
    ):
        features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
        with datasets.arrow_writer.ArrowWriter(
            features=features, path=str(tmp_path / name)
        ) as writer:
            for number, row in enumerate(rows):
                writer.write({"image": row, "label": number})
            writer.finalize()
        with pytest.raises(
            fastload.SourceError, match=rf"^from_huggingface\(data set, image\): {text}$"
        ):
            fastload.from_huggingface(datasets.Dataset.from_file(str(tmp_path / name)))


def test_grey_and_png_images_are_converted(tmp_path):
    images = [
        Image.fromarray(np.arange(600, dtype=np.uint8).reshape(20, 30)),
        Image.new("P", (9, 14)),
        Image.new("RGBA", (8, 5)),
    ]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int8")})
    datasets.Dataset.from_dict(
        {"image": images, "label": [0, 1, 5]}, features=features
    ).save_to_disk(tmp_path / "data")
    same(datasets.load_from_disk(str(tmp_path / "data")))


def test_without_labels(stored):
    images = stored.remove_columns("label")
    data = fastload.from_huggingface(images, label=None, transform=EVAL)
    assert data.classes == ("unlabelled",)
    got = list(fastload.DataLoader(data, 4))
    want = list(fastload.DataLoader(fastload.from_huggingface(stored, transform=EVAL), 4))
    assert all(torch.equal(one[0], other[0]) for one, other in zip(got, want, strict=True))
    assert not torch.cat([labels for _, labels in got]).any()
    with pytest.raises(fastload.UsageError) as error:
        fastload.from_huggingface(images)
    assert str(error.value) == (
        "from_huggingface: no column label (has image); give image= and label=, or label=None "
        "where there is none"
    )
