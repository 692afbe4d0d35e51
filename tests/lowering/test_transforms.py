"""torchvision's transforms become ops with the same arguments, or a reason is told."""

from dataclasses import replace

import pytest
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2
from torchvision.transforms.functional import InterpolationMode

import fastload
from fastload import transforms as T
from fastload.lowering import lower_transform
from fastload.plan.steps import infer_specs

BICUBIC, PIL_BILINEAR = InterpolationMode.BICUBIC, 2

EQUAL = [
    ("RandomVerticalFlip", (0.3,), {}), ("ColorJitter", (0.4, (0.5, 1.5), 0.2, 0.1), {}),
    ("ColorJitter", (), {}),
    ("RandomGrayscale", (0.2,), {}), ("Grayscale", (3,), {}), ("GaussianBlur", (5,), {}),
    ("GaussianBlur", ((3, 7), (0.5, 1.0)), {}),
    ("RandomSolarize", (128,), {"p": 0.2}), ("RandomPosterize", (3,), {}), ("RandomEqualize", (),
    {}), ("RandomAutocontrast", (0.1,), {}),
    ("RandomInvert", (), {}), ("RandomAdjustSharpness", (2,), {}), ("RandomAffine", (30,), {}),
    ("RandomAffine", ((-10, 20), (0.1, 0.2), (0.5, 2.0), (1, 2, 3, 4), BICUBIC, (1, 2, 3), (4, 5)),
    {}),
    ("RandomAffine", (0,), {"shear": 9}),
    ("RandomRotation", (45,), {"expand": True, "fill": 7}), ("RandomPerspective", (0.3, 0.9),
    {"fill": (1, 2, 3)}),
    ("RandomErasing", (0.2, (0.1, 0.2), (0.5, 2.0), 3), {}), ("RandomErasing", (),
    {"value": "random"}),
    ("RandomErasing", (), {"value": (1, 2, 3)}), ("RandomCrop", (32,), {}), ("RandomCrop", ((8, 9),
    (1, 2, 3, 4), True, 5), {}),
    ("RandomCrop", (32, 4), {"padding_mode": "reflect"}), ("Pad", (3,), {}), ("Pad", ((1, 2), 9,
    "constant"), {}),
    ("AutoAugment", (), {}), ("AutoAugment", (v1.AutoAugmentPolicy.SVHN,), {"fill": [1, 2, 3]}),
    ("AugMix", (), {}), ("AugMix", (5, 2, 4, 0.5, False), {}), ("RandAugment", (3, 5, 20),
    {"interpolation": BICUBIC, "fill": 3}),
    ("TrivialAugmentWide", (), {"fill": 128}),
]  # fmt: skip


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize(("name", "given", "named"), EQUAL, ids=str)
def test_torchvisions_arguments_are_kept(name, given, named, api):
    (op,), reasons = lower_transform(getattr(api, name)(*given, **named))
    frozen = {
        key: tuple(value) if isinstance(value, list) else value for key, value in named.items()
    }
    want = getattr(T, name)(*given, **frozen)
    if (name == "RandomAffine") if api is v1 else ("Aug" in name):  # where the two APIs differ
        want = replace(want, definition="v1" if api is v1 else "v2")
    assert reasons == []
    if name == "RandomErasing" and op.value != "random":  # the second API keeps a list
        assert op.value in (
            want.value,
            (float(want.value),) if isinstance(want.value, int) else want.value,
        )
        op, want = (
            T.RandomErasing(op.p, op.scale, op.ratio),
            T.RandomErasing(want.p, want.scale, want.ratio),
        )
    assert op == want
    assert op.problems(fastload.spec.Spec(64, 64, dtype="float32", tensor=op.stage == 3)) == []


def test_pils_filter_numbers_are_taken():
    (op,), reasons = lower_transform(v2.RandomRotation(3, interpolation=PIL_BILINEAR))
    assert (op.interpolation, reasons) == ("bilinear", [])


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_groups_are_lowered_with_what_they_hold(api):
    group = api.RandomApply([api.ColorJitter(0.4), api.GaussianBlur(5)], 0.8)
    assert lower_transform(group) == (
        (T.RandomApply([T.ColorJitter(0.4), T.GaussianBlur(5)], 0.8),),
        [],
    )
    (op,), reasons = lower_transform(
        api.RandomChoice([api.RandAugment(), api.RandomInvert(0.1)], [1.0, 3.0])
    )
    assert reasons == []
    assert [inner.name for inner in op.transforms] == ["RandAugment", "RandomInvert"]
    assert op.p[1] == 3 * op.p[0]
    inner = api.RandomApply([api.ElasticTransform(), api.RandomInvert()])
    name = (
        f"{type(inner).__module__}.RandomApply: "
        f"{type(inner.transforms[0]).__module__}.ElasticTransform"
    )
    assert lower_transform(inner) == ((), [f"{name} is not one that fastload knows"])


class MyJitter(v1.ColorJitter):
    pass


class TwoViews:
    def __init__(self, transform):
        self.transforms = [transform, transform]

    def __call__(self, image):
        return [view(image) for view in self.transforms]


class Own:
    """Looks into the image."""

    def __init__(self, transform):
        self.transform = transform

    def __call__(self, image):
        return [self.transform(image), image.size]


def test_several_views_where_one_is_wanted_are_pointed_to_their_op():
    hint = "fastload.transforms.Views makes several views natively"
    assert lower_transform([TwoViews(v2.Compose([v2.ToImage()]))])[1] == [
        f"{__name__}.TwoViews makes several views of an image, want one; {hint}"
    ]
    assert lower_transform(TwoViews(len))[1] == [
        f"{__name__}.TwoViews: len is not one that fastload knows"
    ]
    assert lower_transform(Own(v2.ToImage()))[1] == [
        f"{__name__}.Own is not one that fastload knows: it uses `image.size`; {hint}"
    ]


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_chains_of_every_kind(api):
    parts = [api.CenterCrop(9), api.RandomInvert()]
    want = (T.CenterCrop(9), T.RandomInvert(), T.PILToTensor())
    inner = [
        api.Compose(parts),
        torch.nn.Sequential(*parts),
        torch.nn.ModuleList(parts),
        parts,
        tuple(parts),
    ]
    assert [
        lower_transform([chain, torch.nn.Identity(), api.PILToTensor()]) for chain in inner
    ] == [(want, [])] * 5


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_what_was_changed_on_an_instance_or_a_class_is_not_taken(api, monkeypatch):
    resize = api.Resize(9)
    resize.forward = lambda image: image
    name = f"{type(resize).__module__}.Resize"
    assert lower_transform([resize]) == ((), [f"{name} has its own forward"])
    hooked = api.Resize(9)
    hooked.register_forward_pre_hook(lambda *_: None)
    assert lower_transform([hooked]) == ((), [f"{name} has its own _forward_pre_hooks"])
    chain = api.Compose([api.Resize(9)])
    monkeypatch.setattr(api.Compose, "__call__", lambda *_: None)
    assert lower_transform(chain)[1] == [f"{type(chain).__module__}.Compose has its own __call__"]
    monkeypatch.setattr(api.Resize, "forward", lambda *_: None)
    assert lower_transform(api.Resize(9))[1] == [f"{name} has its own forward"]


def test_what_does_nothing_to_an_rgb_image():
    assert lower_transform(
        [v2.RGB(), v2.Identity(), v2.CenterCrop(9), v2.ToImage(), v2.ToPureTensor()]
    ) == (
        (T.CenterCrop(9), T.ToImage()),
        [],
    )
    assert lower_transform([v2.CenterCrop(9), v2.Grayscale(), v2.RGB()]) == (
        (T.CenterCrop(9), T.Grayscale(3)),
        [],
    )
    assert lower_transform([v2.Grayscale(), v2.RandomInvert(), v2.RGB()])[1] == [
        "RGB comes after ops on an image of one channel"
    ]


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_groups_of_more_than_single_ops(api):
    assert lower_transform(api.RandomApply([api.RandomHorizontalFlip(0.5)], 0.4)) == (
        (T.RandomHorizontalFlip(0.2),),
        [],
    )
    assert lower_transform(api.RandomApply([api.RandomRotation(9)], 0.3)) == (
        (T.RandomRotation(9, p=0.3),),
        [],
    )
    affine = T.RandomAffine(9, p=0.3, definition="v1" if api is v1 else "v2")
    assert lower_transform(api.RandomApply([api.RandomAffine(9)], 0.3)) == ((affine,), [])
    assert lower_transform(api.RandomApply([api.RandomPerspective(p=0.5)], 0.4)) == (
        (T.RandomPerspective(p=0.2),),
        [],
    )
    order = api.RandomOrder(
        [api.RandomInvert(0.1), api.Compose([api.RandomEqualize(0.2), api.RandomInvert(0.3)])]
    )
    want = T.RandomOrder(
        [T.RandomInvert(0.1), T.RandomApply([T.RandomEqualize(0.2), T.RandomInvert(0.3)], 1.0)]
    )
    assert lower_transform(order) == ((want,), [])
    (op,), _ = lower_transform(api.RandomChoice([torch.nn.Identity(), api.RandomInvert(1.0)]))
    assert op.transforms == (T.RandomApply([T.RandomInvert()], 0.0), T.RandomInvert(1.0))


def test_what_is_not_taken_says_why():
    assert "MyJitter is not one that fastload knows" in lower_transform(MyJitter())[1][0]
    assert (
        "ElasticTransform is not one that fastload knows"
        in lower_transform(v2.ElasticTransform())[1][0]
    )
    assert lower_transform(v1.Lambda(len))[1] == [
        ("torchvision.transforms.transforms.Lambda calls len, which fastload cannot see into")
    ]
    why = "(padding and pad_if_needed mirror the image twice, one after the other)"
    assert lower_transform(v1.RandomCrop(9, 2, pad_if_needed=True, padding_mode="reflect"))[1] == [
        (
            "torchvision.transforms.transforms.RandomCrop has an argument that fastload does not "
            f"take {why}"
        )
    ]
    (op,), _ = lower_transform(v2.RandomRotation(3, fill={int: 3}))
    with pytest.raises(
        fastload.PipelineError,
        match=r"^op 1 \(RandomRotation\): fill is \{<class 'int'>: 3\}, want None \(black\)",
    ):
        infer_specs((op,))
