"""Public training pipelines: which are lowered and why the others are not; the lowered ones give
the libraries' images.
"""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.utils.data
from PIL import Image, ImageOps

import fastload
from fastload.backends import torch as reference
from fastload.lowering import lower, reach
from fastload.plan.plan import plan
from fastload.spec import Work

pipelines = pytest.importorskip("benchmarks.pages.pipelines")  # not in an installed package

# timm leaves closing files to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
ALL = {pipeline.name: pipeline for pipeline in pipelines.PIPELINES}
NATIVE = [name for name, pipeline in ALL.items() if not pipeline.reason]
FIXED = [name for name in NATIVE if "evaluation" in name]
DRAWN = [name for name in NATIVE if name not in FIXED]
OTHERS = [name for name in ALL if name not in NATIVE]
DRAWS = 100
SWAV = tuple(range(10))  # the form of its samples, which have no label
FAR = 4.5  # standard errors; by chance 1 of 150,000 is farther


@pytest.fixture(autouse=True)
def one_thread():
    """torchvision's blur of small images is slow in several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def old_posterize(monkeypatch):
    """timm keeps 0 bits at times, which Pillow 13 refuses and older ones make black."""
    posterize = ImageOps.posterize
    monkeypatch.setattr(
        ImageOps,
        "posterize",
        lambda image, bits: posterize(image, bits) if bits else Image.new("RGB", image.size),
    )


def small(name, folder):
    """The pipeline's data set at a size that is quick."""
    return pipelines.dataset(ALL[name], folder, min(ALL[name].size, 48))


def test_there_are_enough_of_them():
    assert len(ALL) == len(pipelines.PIPELINES) >= 62
    assert len(NATIVE) >= 40


@pytest.mark.parametrize("name", ALL)
def test_native_or_the_reason(name, folder):
    runs, reasons = pipelines.explain(ALL[name], folder)
    assert reasons == ALL[name].reason.splitlines()
    assert (runs == "**all**") == (not reasons)


def test_the_page_is_what_the_generator_prints():
    assert (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text() == pipelines.page()


@pytest.mark.parametrize("name", NATIVE)
def test_natively_the_references_pixels(name, folder):
    data = small(name, folder)
    native, expected = (
        fastload.DataLoader(data, 20, seed=4, backend=backend) for backend in ("native", "torch")
    )
    for batch, want in zip(native, expected, strict=True):
        for one, other in zip(tensors(batch), tensors(want), strict=True):
            assert one.dtype == other.dtype
            assert torch.equal(one, other)


def pictures(part):
    """The images of a batch or a sample, each [C, H, W] or [..., C, H, W]."""
    return [one for one in tensors(part) if one.ndim > 1]


@pytest.mark.parametrize("name", NATIVE)
def test_batches_have_the_form_of_the_stock_loaders(name, folder, request):
    data = small(name, folder)
    ours = next(iter(fastload.DataLoader(data, 3)))  # patched, Pillow would be left to PyTorch
    request.getfixturevalue("old_posterize")
    assert form(ours) == form(next(iter(torch.utils.data.DataLoader(data, 3))))


def form(part):
    if isinstance(part, dict):
        return {key: form(value) for key, value in part.items()}
    if isinstance(part, torch.Tensor):
        return part.shape, part.dtype, part.is_contiguous()
    return [type(part), *map(form, part)]


@pytest.mark.parametrize("name", FIXED)
def test_what_draws_nothing_is_what_torch_gives(name, folder):
    data = small(name, folder)
    for (images, labels), (want, want_labels) in zip(
        fastload.DataLoader(data, 9), torch.utils.data.DataLoader(data, 9), strict=True
    ):
        assert torch.equal(images, want)
        assert torch.equal(labels, want_labels)


def features(images):
    """float64 [N, 7] of images [N, 3, H, W]: brightness, contrast, balance in three directions, and
    edges along both axes.
    """
    x = images.double()
    half_height, half_width = x.shape[2] // 2, x.shape[3] // 2
    columns = [
        x.mean((1, 2, 3)), x.std((1, 2, 3)), (x[:, 0] - x[:, -1]).mean((1, 2)), (x[...,
        :half_width].mean((1, 2, 3)) - x.mean((1, 2, 3))),
        x[:, :, :half_height].mean((1, 2, 3)) - x.mean((1, 2, 3)), x.diff(dim=2).abs().mean((1, 2,
        3)), x.diff(dim=3).abs().mean((1, 2, 3)),
    ]  # fmt: skip
    return torch.stack(columns, dim=1).numpy()


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_draws_are_distributed_as_the_librarys(name, folder, request):
    data = small(name, folder)
    reach.refresh()  # another test may have patched the libraries
    pipeline, _ = lower(data)
    request.getfixturevalue("old_posterize")  # which would not be lowered
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(3)
    drawn = [pictures(data[0]) for _ in range(DRAWS)]
    work = Work(np.zeros(DRAWS, np.int64), np.arange(DRAWS), seed=1, epoch=0, step=0)
    made = pictures(reference.compile(plan(pipeline), "cpu")(work)[0])
    for number, images in enumerate(made):
        theirs = torch.stack([crops(sample)[number] for sample in drawn])
        check_alike(features(images), features(theirs))


def crops(sample):
    """Its images [C, H, W] one by one, of a stack of them too."""
    return [image for one in sample for image in (one if one.ndim > 3 else [one])]


def check_alike(ours, theirs):
    """Both have the same distribution, as far as mean and spread tell."""
    error = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / DRAWS) + 1e-6
    np.testing.assert_array_less(abs(ours.mean(axis=0) - theirs.mean(axis=0)) / error, FAR)
    spread = (ours.std(axis=0) + 1e-4) / (theirs.std(axis=0) + 1e-4)
    assert (spread > 0.6).all()
    assert (spread < 1.7).all()


@pytest.mark.parametrize("name", NATIVE)
def test_the_order_is_torchs(name, folder):
    data = small(name, folder)
    ours = fastload.DataLoader(data, 5, shuffle=True, generator=torch.Generator().manual_seed(6))
    pipeline = lower(data)[0]
    labels = torch.from_numpy(pipeline.source.labels)
    theirs = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(labels),
        5,
        shuffle=True,
        generator=torch.Generator().manual_seed(6),
    )
    found = [[one for one in tensors(batch) if one.ndim == 1] for batch in ours]
    assert [each[0].tolist() for each in found if each] == [
        batch.tolist() for (batch,) in theirs if pipeline.form != SWAV
    ]


def batches(loader_class, data):
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(3)
    return list(itertools.islice(loader_class(data, 3), 2))


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_run_as_in_torch(name, folder):
    data = small(name, folder)
    if name == "torchvision segmentation, train":
        assert len(fastload.DataLoader(data)) == 0
        return
    if name == "Composer ResNet-50, train":  # has a collate function of its own
        for loader_class in (fastload.DataLoader, torch.utils.data.DataLoader):
            with pytest.raises(TypeError, match="default_collate"):
                batches(loader_class, data)
        return
    ours, theirs = batches(fastload.DataLoader, data), batches(torch.utils.data.DataLoader, data)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    assert len(ours) > 1


class Unknown(torch.utils.data.Dataset):
    """A data set that fastload does not know, so that its images are lazy."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        return self.inner[index]


def seeded_batches(loader):
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(9)  # by which timm draws no posterising to 0 bits; Pillow 13 refuses that
    return [tensor for batch in loader for tensor in tensors(batch)]


def tensors(part):
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, (list, tuple)):
        return [tensor for each in part for tensor in tensors(each)]
    return [
        torch.from_numpy(np.array(part)) if isinstance(part, Image.Image) else torch.as_tensor(part)
    ]


@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [name for name in ALL if "segmentation" not in name])
def test_on_pytorchs_engine_the_stock_loaders_batches(name, workers, folder):
    data = Unknown(small(name, folder))
    options = {"batch_size": 8, "shuffle": True, "num_workers": workers, "collate_fn": list}
    stock = torch.utils.data.DataLoader(data, **options)
    ours = fastload.DataLoader(data, **options)
    want, got = seeded_batches(stock), seeded_batches(ours)
    assert len(got) == len(want) > 0
    assert all(itertools.starmap(torch.equal, zip(got, want, strict=True)))
