"""Views that are refused, that fail, or that send a pipeline to another backend."""

import pytest
from torchvision.transforms import v2

import fastload
from fastload.errors import PipelineError, SampleError
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop, Resize, ToImage, Views

from .view_helpers import DINO, DROPPING, LARGE, SMALL


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_sample_that_nobody_can_decode(bad_folder, backend):
    root = bad_folder({"1bad.jpg": b"nothing"})
    loader = fastload.DataLoader(fastload.open(root, DINO), 2, backend=backend)
    with pytest.raises(SampleError, match=r"1bad\.jpg, sample 1: cannot be decoded"):
        list(loader)


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (lambda: Views([]), "Views: 0 views, want 1 to 64; give pipelines, or (pipeline, count)"),
        (
            lambda: Views([(SMALL, 60), (LARGE, 5)]),
            ("Views: 65 views, want 1 to 64; give pipelines, or (pipeline, count)"),
        ),
        (
            lambda: Views([(SMALL, 0), SMALL, (LARGE, -1)]),
            (
                "Views: pipeline 1 is wanted 0 times, want 1 or more\nViews: pipeline 3 is wanted "
                "-1 times, want 1 or more"
            ),
        ),
        (
            lambda: [Resize((8, 9)), DINO],
            (
                "transform: Views stands beside other ops, want it alone; "
                "put them into each of its pipelines"
            ),
        ),
        (
            lambda: Views([(SMALL, 2), v2.ElasticTransform()]),
            (
                "transform: view 3: torchvision.transforms.v2._geometry.ElasticTransform is not "
                "one that fastload knows"
            ),
        ),
    ],
)
def test_transforms_that_are_refused(folder, transform, text):
    with pytest.raises(PipelineError) as caught:
        fastload.open(folder, transform())
    assert str(caught.value) == text


def test_a_plans_problems_name_the_view(folder):
    wrong = [ToImage(), RandomHorizontalFlip(2)]
    with pytest.raises(PipelineError) as caught:
        fastload.DataLoader(
            fastload.open(folder, Views([LARGE, (wrong, 2), [RandomHorizontalFlip()]]))
        )
    end = "end CROP with RandomResizedCrop, CenterCrop or Resize((height, width))"
    assert caught.value.problems == (
        "view 2: op 2 (RandomHorizontalFlip): p is 2, want 0 to 1",
        (
            "view 2: op 2 (RandomHorizontalFlip): belongs to CROP, but op 1 (ToImage) is STORE; "
            "move it before op 1"
        ),
        (
            "view 4: pipeline: image sizes may still differ after the last op, so they cannot be "
            f"stacked; {end}"
        ),
    )
    with pytest.raises(PipelineError) as caught:
        fastload.DataLoader(
            fastload.open(folder, Views([[RandomResizedCrop(9)], (DROPPING, 2), LARGE])),
            size_schedule=[9],
        )
    assert caught.value.problems == (
        (
            "view 4: size_schedule: CROP ends with 40x53 px, want a square; make it one, or use "
            "ProgressiveResize(mode='resize')"
        ),
    )


def test_what_one_view_needs_sends_all_to_the_reference(folder):
    late = [Resize((30, 40)), RandomHorizontalFlip(), Resize((8, 9))]
    loader = fastload.DataLoader(fastload.open(folder, Views([SMALL, (late, 2)])), 4)
    assert loader.explain().splitlines()[0] == "backend torch, the caller's thread, device cpu"
    reason = (
        "op 3 (Resize) resizes after op 1 (Resize); one resize at the start is what a record holds"
    )
    assert (
        loader.explain().splitlines()[-1]
        == f"  backend native cannot run this plan: view 2: {reason}"
    )
    assert [tuple(images.shape) for images in next(iter(loader))[0]] == [
        (4, 3, 16, 24),
        (4, 3, 8, 9),
        (4, 3, 8, 9),
    ]
