"""`transforms.Compose`: a list of ops, wherever one may stand."""

import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder

import fastload
from fastload import transforms as T

OPS = [T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.ToImage()]


def batches(dataset):
    loader = fastload.DataLoader(dataset, 4, shuffle=True, seed=3, backend="native")
    return [images.clone() for images, _ in loader]


def test_it_is_the_list_natively_for_open_and_for_data_sets(folder):
    want = batches(fastload.open(folder, OPS))
    nested = T.Compose([OPS[0], T.Compose(OPS[1:])])
    for dataset in (
        fastload.open(folder, T.Compose(OPS)),
        fastload.open(folder, nested),
        ImageFolder(folder, nested),
    ):
        got = batches(dataset)
        assert all(map(torch.equal, got, want)) and len(got) == len(want)  # noqa: PT018


def test_views_may_stand_in_it_and_it_in_views(folder):
    views = T.Compose([T.Views([(T.Compose(OPS), 2)])])
    images, _ = next(iter(fastload.DataLoader(fastload.open(folder, views), 4, backend="native")))
    assert [tuple(each.shape) for each in images] == [(4, 3, 24, 32)] * 2


def test_a_change_of_its_list_reaches_the_next_epoch(folder):
    transform = T.Compose(OPS)
    loader = fastload.DataLoader(ImageFolder(folder, transform), 4)
    assert next(iter(loader))[0].shape[2:] == (24, 32)
    transform.transforms[0] = T.RandomResizedCrop((16, 48))
    assert next(iter(loader))[0].shape[2:] == (16, 48)


def test_a_call_runs_what_it_holds_in_order():
    image = Image.new("RGB", (40, 30), (10, 20, 30))
    transform = T.Compose([T.CenterCrop((20, 24)), lambda image: image.size])
    assert transform(image) == (24, 20)


def test_what_a_subclass_does_is_not_guessed(folder):
    class Own(T.Compose):
        def __call__(self, image):
            return super().__call__(image.rotate(90))

    loader = fastload.DataLoader(ImageFolder(folder, Own(OPS)), 4)
    assert "Own is not one that fastload knows" in loader.explain()


@pytest.mark.parametrize(
    ("transforms", "text"),
    [
        (T.ToImage(), "Compose: transforms is a ToImage, want a list; give [op, …]"),
        ([[]], "Compose: transform 1 is [], want an op or a function"),
    ],
)
def test_what_is_no_list_of_transforms_is_refused(transforms, text):
    with pytest.raises(fastload.PipelineError) as error:
        T.Compose(transforms)
    assert str(error.value) == text
