"""One bad image costs one image with DALI and FFCV too: what they refuse or pass over ends no
pipeline and becomes nobody else's pixels.
"""

import json
import os
from pathlib import Path

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.backends.dali import installed as dali_installed
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.errors import BadSamplesError, SampleError
from tests.beton.layout import Writer

needs_ffcv = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
needs_dali = pytest.mark.skipif(
    bool(dali_installed.missing()), reason=f"{dali_installed.missing()}"
)
BACKENDS = [pytest.param("dali", marks=needs_dali), pytest.param("ffcv", marks=needs_ffcv)]
SAMPLES, CLASSES = 33, 3
CUT = [
    T.RandomHorizontalFlip(),
    T.CenterCrop((32, 30)),
]  # what DALI decodes and cuts to the very pixels
TRAIN = [T.RandomResizedCrop((24, 31)), T.RandomHorizontalFlip(), T.RandAugment(1)]


def without_table(jpeg):
    """Its scan names a Huffman table that there is none of: the header is fine, and every decoder
    refuses.
    """
    at = jpeg.index(b"\xff\xda") + 6
    return jpeg[:at] + b"\x33" + jpeg[at + 1 :]


SPOIL = {
    3: lambda _: b"no image",
    11: lambda jpeg: jpeg[: len(jpeg) // 2],
    12: without_table,
    13: without_table,
    30: lambda _: b"\0",
}
BAD = sorted(SPOIL)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """(backend, broken or not) -> path: the same JPEGs in folders and in FFCV files."""
    from tests.conftest import encoded, textured

    root, found = tmp_path_factory.mktemp("bad"), {}
    images = [textured(40 + number, 71 - number, number) for number in range(SAMPLES)]
    good = [
        encoded(pixels, quality=90, subsampling=number % 3) for number, pixels in enumerate(images)
    ]
    for broken in (False, True):
        jpegs = [
            SPOIL[number](jpeg) if broken and number in SPOIL else jpeg
            for number, jpeg in enumerate(good)
        ]
        for number, jpeg in enumerate(jpegs):
            path = (
                root
                / f"folder{broken}"
                / f"class{number * CLASSES // SAMPLES}"
                / f"{number:02d}.jpg"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg)
        rows = [
            [("jpg", jpeg, *images[number].shape[:2]), number * CLASSES // SAMPLES]
            for number, jpeg in enumerate(jpegs)
        ]
        (root / f"{broken}.beton").write_bytes(
            Writer([("image", "image"), ("label", "int")], rows).bytes()
        )
        found |= {
            ("ffcv", broken): str(root / f"{broken}.beton"),
            ("dali", broken): str(root / f"folder{broken}"),
        }
    return found


def loader(path, backend, policy="substitute", ops=CUT, **options):
    named = {"shuffle": True, "seed": 3, "num_workers": 1, "max_bad": 0.5, **options}
    if "batch_sampler" not in named:
        named["batch_size"] = named.get("batch_size", 6)
    return fastload.DataLoader(fastload.open(path, ops), backend=backend, on_error=policy, **named)


def assert_same(found, want):
    assert len(found) == len(want) > 0
    for one, other in zip(found, want, strict=True):
        for a, b in zip(one, other, strict=True):
            for x, y in zip(
                a if isinstance(a, list) else [a], b if isinstance(b, list) else [b], strict=True
            ):
                assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
                assert torch.equal(x, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("policy", ["substitute", "skip"])
def test_the_good_samples_are_untouched(data, backend, policy):
    clean, made = (
        loader(data[backend, False], backend, "raise", TRAIN),
        loader(data[backend, True], backend, policy, TRAIN),
    )
    for epoch in range(2):
        order = [work.samples.tolist() for work in made._works(made._route.plan, 3, epoch)]
        made.set_epoch(epoch)
        for samples, (images, labels), (want, right) in zip(order, made, clean, strict=True):
            good = [position for position, sample in enumerate(samples) if sample not in BAD]
            mine = list(range(len(good))) if policy == "skip" else good
            assert len(images) == len(labels) == (len(good) if policy == "skip" else len(samples))
            assert torch.equal(images[mine], want[good])
            assert torch.equal(labels[mine], right[good])
    assert made.stats()["bad_samples"] >= 2 * len(BAD)


KINDS = {
    "plain": {},
    "skip": {"policy": "skip"},
    "one by one": {"policy": "skip", "batch_size": 1},
    "mix": {"mix": T.CutMix(alpha=1.0), "ops": [*CUT, T.ToImage(channels_last=True)]},
    "sizes": {"size_schedule": fastload.ProgressiveResize(total_steps=6, mode="resize")},
    "views": {"ops": T.Views([(CUT, 2), [T.CenterCrop((20, 26))]])},
    "skipped views": {"policy": "skip", "ops": T.Views([(CUT, 2), [T.CenterCrop((20, 26))]])},
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_who_stands_in_is_natives(data, backend, kind):
    found, native = (
        list(loader(data[backend, True], name, **KINDS[kind])) for name in (backend, "native")
    )
    assert_same(found, native)


@needs_ffcv
def test_ffcv_draws_for_who_stands_in_as_native(data):
    for policy in ("substitute", "skip"):
        assert_same(
            *(list(loader(data["ffcv", True], name, policy, TRAIN)) for name in ("ffcv", "native"))
        )


@needs_dali
@pytest.mark.parametrize("policy", ["substitute", "skip"])
def test_dali_by_itself_has_the_same_labels(data, policy):
    found, native = (
        list(loader(data["dali", True], name, policy, TRAIN)) for name in ("dali-own", "native")
    )
    assert [labels.tolist() for _, labels in found] == [labels.tolist() for _, labels in native]
    assert [images.shape for images, _ in found] == [images.shape for images, _ in native]
    means = [
        torch.cat([images.float().mean((1, 2, 3)) for images, _ in batches])
        for batches in (found, native)
    ]
    assert (
        means[0] - means[1]
    ).abs().mean() < 30  # of the same images, in another crop and another colour


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_list_is_written_once(data, backend, tmp_path):
    path = tmp_path / "bad.jsonl"
    for _ in range(2):
        list(loader(data[backend, True], backend, bad_samples=path))
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(row["index"] for row in found) == BAD
    assert {row["reason"].partition(" (")[0] for row in found} == {"cannot be decoded"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_too_many_are_an_error(data, backend, tmp_path):
    path = tmp_path / "bad.jsonl"
    with pytest.raises(BadSamplesError) as caught:
        list(loader(data[backend, True], backend, max_bad=4, bad_samples=path))
    assert str(caught.value).splitlines()[1] == (
        f"{data[backend, True]}: 5 bad samples in epoch 0, max_bad=4 allows 4 of 33; see {path}, "
        "mend or remove the files, or allow more"
    )
    assert len(list(loader(data[backend, True], backend, max_bad=5))) == 6


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_without_any_good_sample(data, backend):
    batches = [[0, 1], [3, 12], [4, 5], [13], [30, 11, 2]]
    named = {"shuffle": None, "batch_sampler": batches}
    assert [len(labels) for _, labels in loader(data[backend, True], backend, "skip", **named)] == [
        2,
        2,
        1,
    ]
    found = iter(loader(data[backend, True], backend, **named))
    assert len(next(found)[1]) == 2
    with pytest.raises(SampleError, match=r"sample 3: cannot be decoded"):
        next(found)  # nothing stands in that the sampler leaves out
    assert len(next(found)[1]) == 2  # the epoch goes on


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_resumed_run_gives_the_same(data, backend):
    made = loader(data[backend, True], backend)
    whole, states, batches = [], [], iter(made)
    while True:
        states.append(made.state_dict())
        if (batch := next(batches, None)) is None:
            break
        whole.append(batch)
    for step in (1, 4):
        other = loader(data[backend, True], backend, num_workers=0)
        other.load_state_dict(states[step])
        assert_same(list(other), whole[step:])
        assert other._progress.bad == made._progress.bad == len(BAD)


@needs_dali
@pytest.mark.parametrize("policy", ["substitute", "skip"])
def test_a_file_that_vanishes(tmp_path, bad_folder, encode, make_image, policy):
    root = bad_folder(
        {f"{number}.jpg": encode(make_image(40, 50 + number, number)) for number in range(1, 7)}
    )
    made, native = (loader(root, name, policy, batch_size=3) for name in ("dali", "native"))
    os.unlink(Path(root) / "a" / "4.jpg")
    assert_same(list(made), list(native))


@needs_dali
def test_plain_pixels_of_the_users_are_asked_of_pillow(bad_folder, encode, make_image):
    """A file that begins as those by which DALI is handed pixels, and is none."""
    root = bad_folder(
        {
            "1.jpg": b"P6 40 50 255\n",
            "2.jpg": encode(make_image(40, 50, 1), "PPM"),
            "3.jpg": b"P6 9999999 9999999 255\n",
        }
    )
    found, native = (list(loader(root, name, batch_size=2)) for name in ("dali", "native"))
    assert_same(found, native)
