"""Padded: one tensor of images of their own sizes, with a mask and the sizes."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision import tv_tensors

import fastload
from fastload.errors import UsageError
from fastload.loader.padded import PaddedBatch

SIDES = st.integers(1, 40)


def sample(height, width, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    image = torch.randint(0, 256, (3, height, width), generator=generator).to(dtype)
    return image, {"number": seed}


def by_hand(samples, height, width, fill):
    """NumPy's padding of each image."""
    return torch.stack([
        torch.from_numpy(np.pad(
            image.numpy(), ((0, 0), (0, height - image.shape[1]), (0, width - image.shape[2])),
            constant_values=fill,
        ))
        for image, _ in samples
    ])  # fmt: skip


@settings(max_examples=30)
@given(
    sizes=st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=5),
    multiple=st.integers(1, 33),
    fill=st.sampled_from([0, 7]),
    dtype=st.sampled_from([torch.float32, torch.uint8]),
)
def test_it_is_the_padding_of_each_image(sizes, multiple, fill, dtype):
    samples = [sample(*size, seed, dtype) for seed, size in enumerate(sizes)]
    images, mask, found, targets = fastload.Padded(multiple, fill=fill)(samples)
    height, width = images.shape[2:]
    assert height % multiple == width % multiple == 0
    assert height - multiple < max(one for one, _ in sizes) <= height
    assert width - multiple < max(one for _, one in sizes) <= width
    assert torch.equal(images, by_hand(samples, height, width, fill))
    assert images.dtype == dtype
    assert torch.equal(mask, by_hand([(torch.ones(1, *size), 0) for size in sizes], height, width,
                                     0)[:, 0] == 1)  # fmt: skip
    assert found.tolist() == [list(size) for size in sizes]
    assert targets == [target for _, target in samples]


def test_a_size_for_all_batches():
    images, mask, *_ = fastload.Padded(size=(50, 70))([sample(50, 8), sample(3, 70)])
    assert images.shape == (2, 3, 50, 70)
    assert mask.sum(dim=(1, 2)).tolist() == [50 * 8, 3 * 70]


def test_torchvisions_images_become_ordinary_tensors():
    image = tv_tensors.Image(torch.ones(3, 5, 9, dtype=torch.uint8))
    batch = fastload.Padded(8)([(image, None)])
    assert type(batch) is PaddedBatch
    assert type(batch.images) is torch.Tensor
    assert batch.images.dtype == torch.uint8


def test_memory_is_used_again_and_never_while_a_batch_lives():
    collate = fastload.Padded(16)
    first = collate([sample(30, 40, 1), sample(20, 20, 2)])
    kept, where = first.images.clone(), first.images.data_ptr()
    second = collate([sample(25, 33, 3)] * 2)
    assert second.images.data_ptr() != where
    assert torch.equal(first.images, kept)
    del first
    third = collate([sample(9, 9, 4)] * 2)
    assert third.images.data_ptr() == where
    assert not third.images[:, :, 9:].any()


def test_processes_get_it_without_its_memory():
    collate = fastload.Padded(16, size=(64, 64), fill=1.5)
    collate([sample(30, 40)])
    copy = pickle.loads(pickle.dumps(collate))
    assert repr(copy) == repr(collate) == "Padded(multiple_of=16, size=(64, 64), fill=1.5)"
    assert torch.equal(copy([sample(30, 40)]).images, collate([sample(30, 40)]).images)


class Few(torch.utils.data.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return sample(10 + index, 30 - index, index)


@pytest.mark.parametrize("loader", [torch.utils.data.DataLoader, fastload.DataLoader])
@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
def test_any_loader_takes_it(loader):
    batches = list(loader(Few(), 2, num_workers=1, collate_fn=fastload.Padded(32)))
    assert [tuple(batch.images.shape) for batch in batches] == [(2, 3, 32, 32)] * 2 + [
        (1, 3, 32, 32)
    ]
    assert torch.equal(batches[1].images[1, :, :13, :27], Few()[3][0])


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"multiple_of": 0}, "multiple_of is 0, want 1 px or more"),
        ({"multiple_of": 1.5}, "multiple_of is 1.5, want 1 px or more"),
        ({"size": 640}, "size is 640, want (height, width), px, or None"),
        ({"size": (640, 0)}, "size is (640, 0), want (height, width), px, or None"),
    ],
)
def test_arguments_that_make_no_sense(how, text):
    with pytest.raises(fastload.UsageError) as raised:
        fastload.Padded(**how)
    assert str(raised.value) == f"Padded: {text}"


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ([torch.ones(3, 4, 5)], ("sample 0 of the batch is a Tensor, want a pair of an image and "
         "its target")),
        ([sample(4, 5), ("a.jpg", 1)], ("the image of sample 1 of the batch is str, want a tensor "
         "[C, H, W]; end the transforms in ToImage or ToTensor")),
        ([(torch.ones(4, 5), 1)], ("the image of sample 0 of the batch is [4, 5], want a tensor "
         "[C, H, W]; end the transforms in ToImage or ToTensor")),
        ([sample(4, 5), sample(4, 5, dtype=torch.uint8)], ("images of a batch are float32 of 3 "
         "channels and uint8 of 3 channels, want one type and one number of channels; convert them "
         "before")),
        ([sample(4, 5), sample(9, 65)], ("an image has 9x65 px (want 64x64 at most); resize it "
         "before, or give a larger size")),
    ],
)  # fmt: skip
def test_batches_that_cannot_be_padded(samples, text):
    with pytest.raises(fastload.UsageError) as raised:
        fastload.Padded(size=(64, 64))(samples)
    assert str(raised.value) == f"Padded: {text}"


@pytest.mark.parametrize(
    ("fill", "text"), [(300, "300"), (-1, "-1"), (0.5, "0.5"), (1e30, "1e.30")]
)
def test_a_fill_that_the_images_cannot_hold_is_refused(fill, text):
    want = rf"^Padded: fill is {text}, but images are uint8 \(want a whole number, 0 to 255\); "
    with pytest.raises(UsageError, match=want):
        fastload.Padded(fill=fill)([(torch.zeros((3, 4, 5), dtype=torch.uint8), None)])
    made = fastload.Padded(fill=fill)([(torch.zeros((3, 4, 5)), None)])
    assert made.images[0, 0, 31, 31] == torch.tensor(fill, dtype=torch.float32)


@pytest.mark.parametrize("fill", ["0", None, True])
def test_a_fill_that_is_no_number_is_refused(fill):
    with pytest.raises(UsageError, match=f"^Padded: fill is {fill!r}, want a number$"):
        fastload.Padded(fill=fill)


def test_padding_of_nan_is_for_floats():
    samples = [(torch.zeros((3, 4, 5)), None)]
    assert fastload.Padded(fill=float("nan"))(samples).images[0, 0, 31, 31].isnan()
    with pytest.raises(UsageError, match="fill is nan, but images are uint8"):
        fastload.Padded(fill=float("nan"))([(samples[0][0].to(torch.uint8), None)])
