"""`fastload.backends.ffcv.ops` in pipelines of FFCV's own: the native engine's pixels for the same
records.
"""

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.backends.ffcv import imports
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.errors import PipelineError, UsageError
from tests.beton.layout import Writer

pytestmark = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
HEIGHT, WIDTH = 33, 47
STORED = [
    T.TrivialAugmentWide(), T.ToImage(channels_last=True), T.ToDtype("float16", scale=True),
    T.Normalize((0.5, 0.4, 0.3), (0.1, 0.2, 0.3)),
    T.RandomErasing(0.7, value="random"),
]  # fmt: skip


@pytest.fixture(scope="module")
def ops():
    imports.load()
    from fastload.backends.ffcv import ops

    return ops


@pytest.fixture
def beton(tmp_path, make_image):
    """11 raw images of one size."""
    rows = [[("raw", make_image(HEIGHT, WIDTH, number)), number] for number in range(11)]
    (tmp_path / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())
    return str(tmp_path / "x.beton")


def ffcvs(path, made, workers=1):
    """FFCV's loader, sequential, with one of the ops."""
    from ffcv.fields.decoders import SimpleRGBImageDecoder
    from ffcv.loader import Loader
    from ffcv.transforms import ToTensor, ToTorchImage

    steps = [
        SimpleRGBImageDecoder(),
        *(made if isinstance(made, list) else [made]),
        ToTensor(),
        ToTorchImage(),
    ]
    with imports.threads_kept():
        return Loader(
            path, 4, num_workers=workers, drop_last=False, pipelines={"image": steps, "label": None}
        )


def natives(path, ops):
    data = fastload.open(path, [T.CenterCrop((HEIGHT, WIDTH)), *ops])
    return fastload.DataLoader(data, 4, seed=5, backend="native")


def same(got, want):
    for (ours,), (images, _) in zip(got, want, strict=True):
        assert ours.dtype == images.dtype
        assert torch.equal(ours, images)


@pytest.mark.parametrize(
    ("make", "natively", "workers"),
    [
        (lambda ops, **keys: ops.RandAugment(2, 9, **keys), [T.RandAugment(2, 9)], 2),
        (lambda ops, **keys: ops.ColOut(**keys), [T.ColOut()], 1),
        (lambda ops, **keys: ops.Apply(*STORED, **keys), STORED, 1),
    ],
    ids=["RandAugment", "ColOut", "stored"],
)
def test_the_native_pixels_epoch_by_epoch(make, natively, workers, beton, ops):
    made = make(ops, seed=5, number=2)  # natively, CenterCrop is op 1
    loader, native = ffcvs(beton, made, workers), natives(beton, natively)
    for epoch in (0, 3):
        made.set_epoch(epoch)
        native.set_epoch(epoch)
        same(loader, native)


def test_later_passes_are_later_occurrences(beton, ops):
    made = ops.RandAugment(2, 9, seed=5)
    loader = ffcvs(beton, made)
    first, second = ([batch.clone() for (batch,) in loader] for _ in range(2))
    made.set_epoch(0)
    again = [batch.clone() for (batch,) in loader]
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, second))


def test_two_ops_draw_numbers_of_their_own(ops):
    numbers = {
        ops.RandAugment(2, 9).number,
        ops.RandAugment(2, 10).number,
        ops.ColOut().number,
        ops.RandomErasing().number,
    }
    assert len(numbers) == 4
    assert ops.RandAugment(2, 9).number == ops.RandAugment(2, 9).number


def test_what_fails_while_drawing_is_printed_and_fails_the_batch(beton, ops, monkeypatch, capsys):
    made = ops.RandAugment(2, 9)
    loader = ffcvs(beton, made)

    def fail(self, samples):
        raise MemoryError("no records")

    monkeypatch.setattr(ops.Apply, "_occurrences", fail)
    run = loader.graph.id_to_node[
        max(loader.graph.id_to_node) - 2
    ].code  # the op's, before ToTensor and ToTorchImage
    images = np.zeros((2, HEIGHT, WIDTH, 3), np.uint8)
    with pytest.raises(
        RuntimeError, match="fastload: an op failed on a batch; what it printed above says why"
    ):
        run(images, images.copy(), np.arange(2))
    assert "MemoryError: no records" in capsys.readouterr().err


def test_equal_ops_in_one_apply_draw_numbers_of_their_own(ops):
    op = T.RandAugment(2, 9)
    picture = ops.Apply(op, op, T.ColOut(), number=7)._made(HEIGHT, WIDTH)
    assert [step.number for step in picture.plan.steps] == [0, 7, 8, 0, 9]


def test_an_op_that_cannot_be_is_refused_when_the_loader_is_made(beton, ops):
    with pytest.raises(PipelineError) as found:
        ffcvs(beton, [ops.Apply(T.ToTensor()), ops.RandomErasing()])
    text = (
        "ops.RandomErasing: images are float32 (33, 47, 3), want uint8 (H, W, 3) arrays; put "
        "it behind the decoder, before ToTensor"
    )
    assert str(found.value) == text
    with pytest.raises(PipelineError) as found:
        ffcvs(beton, ops.Apply(T.ToImage(), T.ToDtype("bfloat16")))
    assert (
        str(found.value)
        == "ops.Apply: dtype is bfloat16, which NumPy does not have; use float16 or float32"
    )


def test_arguments_are_checked(ops):
    with pytest.raises(UsageError) as found:
        ops.Apply(len)
    assert (
        str(found.value)
        == f"ops.Apply: got ({len!r},), want ops of fastload.transforms; give at least one"
    )
    with pytest.raises(UsageError) as found:
        ops.ColOut(number=0)
    assert str(found.value) == "ops.Apply: number is 0, want 1 to 32509"


def test_the_images_before_the_op_stay_as_they_are(beton, ops, make_image):
    """FFCV's decoder and an op have memory of their own."""
    from ffcv.transforms import RandomHorizontalFlip

    loader = ffcvs(beton, [RandomHorizontalFlip(1.0), ops.RandomHorizontalFlip(1.0)])
    images = torch.cat([batch.clone() for (batch,) in loader])
    for number, image in enumerate(images):
        np.testing.assert_array_equal(image.permute(1, 2, 0), make_image(HEIGHT, WIDTH, number))
