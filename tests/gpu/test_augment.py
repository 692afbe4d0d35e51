"""AUGMENT on the GPU gives the bits of the CPU: every instruction, on images that fit into shared
memory and on larger ones.
"""

import numpy as np
import pytest
import torch

from fastload import _native
from fastload import transforms as T
from fastload.backends.native import augment, cuda, instructions
from fastload.plan.steps import infer_specs, records
from fastload.spec import Work

pytestmark = pytest.mark.cuda

SIZES = [
    (1, 1),
    (1, 7),
    (7, 1),
    (3, 2),
    (37, 53),
    (128, 97),
    (224, 224),
    (301, 287),
]  # height, width; px
CANARY = 0xA5
FILTERS = ("nearest", "bilinear", "bicubic")
FACTORS = (-0.7, 0, 0.1, 1 / 3, 0.5, 1, 1.9, 9.99)


def instruction(name, *arguments, sampling="nearest", fill=(7, 250, 99)):
    row = np.zeros(13)
    row[:2] = _native.INSTRUCTIONS.index(name), FILTERS.index(sampling)
    row[2:5], row[5 : 5 + len(arguments)] = fill, arguments
    return row


def maps(height, width):
    """Turns, shears, scales, shifts, mirrors, and maps that come from far away."""
    rng = np.random.default_rng([height, width])
    free = [
        [1, 0, width / 4, 0, 1, height / 4] * rng.normal(1, 0.3, 6) + rng.normal(0, 0.3, 6)
        for _ in range(4)
    ]
    return [
        *free, [1, 0.3, 0, 0, 1, 0], [1, 0, 2, 0, 1, -1], [1, 0, 0.25, 0, 1, -0.75], [-1, 0, width,
        0, -1, height],
        [0, 1, 0, -1, 0, height], [0.37, 0, 1.2, 0, 2.1, -0.4], [300.0, 0.5, 40000.0, 0.2, -9.0,
        5.0], [1, 0, 3 * width, 0, 1, 0],
    ]  # fmt: skip


def programs_of(name, height, width):
    """Programs that show what an instruction does, on images of this size."""
    if name in ("Brightness", "Contrast", "Color", "Sharpness"):
        return [[instruction(name, factor)] for factor in FACTORS]
    if name in ("Affine", "Perspective"):
        tilt = [0.2 / width, -0.1 / height] if name == "Perspective" else []
        return [
            [instruction(name, *a, *tilt, sampling=how)]
            for a in maps(height, width)
            for how in FILTERS
        ]
    if name == "GaussianBlur":
        kernels = [(1, 1), (3, 3), (5, 9), (23, 23)]
        return [
            [instruction(name, *k, 1.7, 0.6)]
            for k in kernels
            if k[0] // 2 < width and k[1] // 2 < height
        ]
    if name == "Border":
        return [[instruction(name, kind, height // 3, 0, 1, width)] for kind in range(4)]
    if name in ("Start", "Add", "Sum", "Mix", "Blend"):
        chain = [
            instruction("Start"),
            instruction("Invert"),
            instruction("Add", 0.3),
            instruction("Equalize"),
            instruction("Add", 1.1),
        ]
        return [
            chain[:1],
            [*chain, instruction(name, 0.7)],
            [*chain, instruction(name, 0.7), instruction("Mix", -0.2)],
        ]
    arguments = {
        "Posterize": [(0,), (4,), (8,)], "Solarize": [(0,), (127.5,), (256,)], "SolarizeAdd": [(37,
        128), (-255, 256)],
        "Hue": [(0,), (1,), (100,), (255,)], "BoxBlur": [(0.3, 0, 2), (1.625, 5.5, 3), (127, 127,
        1)],
    }  # fmt: skip
    return [[instruction(name, *given)] for given in arguments.get(name, [()])]


def whole(programs):
    """[N, depth, 13]: Identity behind the shorter ones."""
    out = np.zeros((len(programs), max(map(len, programs)), 13))
    for place_, rows in zip(out, programs, strict=True):
        place_[: len(rows)] = rows
    return out


def pictures(count, height, width):
    """uint8 [N, H, W, 3]: noise, one colour, low contrast, black and white, in turns."""
    rng = np.random.default_rng([count, height, width])
    noise = rng.integers(0, 256, (count, height, width, 3))
    noise[1::4] = (3, 200, 90)
    noise[2::4] = 100 + noise[2::4] % 40
    noise[3::4] = np.clip(noise[3::4] * 4 - 384, 0, 255)
    return noise.astype(np.uint8)


def on_gpu(images, program):
    """What the device makes of them on a stream of its own; nothing behind output and workspace may
    be touched.
    """
    made = _native.DevicePrograms(_native.Programs(program), *images.shape[1:3])
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there, data = torch.from_numpy(images).cuda(), torch.from_numpy(made.data).cuda()
        size = made.workspace()
        out, scratch = (
            torch.full((n + 64,), CANARY, dtype=torch.uint8, device="cuda")
            for n in (images.size, size)
        )
        made.launch(
            there.data_ptr(),
            data.data_ptr(),
            out.data_ptr(),
            scratch.data_ptr(),
            stream.cuda_stream,
        )
        found, guard, kept = out.cpu().numpy(), scratch[size:].cpu().numpy(), there.cpu().numpy()
    assert (found[images.size :] == CANARY).all()
    assert (guard == CANARY).all()
    np.testing.assert_array_equal(kept, images)
    return found[: images.size].reshape(images.shape)


def check(images, program):
    found = on_gpu(images, program)
    for image, rows, result in zip(images, program, found, strict=True):
        np.testing.assert_array_equal(
            result, _native.augment(image, rows), err_msg=f"{image.shape} {rows}"
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "name", [name for name in _native.INSTRUCTIONS if name != "Custom"]
)  # users' functions run on the host
def test_every_instruction_is_the_cpus(name, size):
    programs = programs_of(name, *size) * 4  # each on every kind of picture
    order = np.random.default_rng(1).permutation(len(programs))
    check(pictures(len(programs), *size), whole([programs[k] for k in order]))


POLICIES = [
    T.RandAugment(2), T.RandAugment(3, 20, interpolation="bilinear"), T.TrivialAugmentWide(),
    T.TrivialAugmentWide(interpolation="bicubic"),
    T.AutoAugment(), T.AugMix(), T.RandAugment.timm("rand-m9-mstd0.5"), T.ColorJitter(0.4, 0.4, 0.4,
    0.1), T.GaussianBlur(23),
]  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("op", POLICIES, ids=str)
def test_policies_are_the_cpus(op, size):
    if isinstance(op, T.GaussianBlur) and min(size) <= 11:
        size = (12, 19)
    steps, _ = infer_specs((T.CenterCrop(size), op))
    count = 64
    work = Work(np.arange(count), np.zeros(count, np.int64), seed=3, epoch=0, step=0)
    sizes = np.full((count, 2), size, np.int32)
    drawn = records(steps, work, sizes)[1:]
    check(pictures(count, *size), instructions.joined(augment.fold(steps[1:], drawn, sizes)))


@pytest.mark.parametrize("size", [(37, 53), (301, 287)], ids=str)
def test_long_programs_are_the_cpus(size):
    """More images than run at a time, so that blocks take several, with a workspace and without."""
    rng = np.random.default_rng(5)
    single = [rows for name in _native.INSTRUCTIONS[:20] for rows in programs_of(name, *size)]
    count = 1200 if size[0] < 100 else 300
    for first in ([instruction("Start")], []):
        chosen = rng.integers(len(single), size=(count, 4))
        check(
            pictures(count, *size),
            whole([first + [row for k in picked for row in single[k]] for picked in chosen]),
        )


def test_an_empty_batch_is_no_error():
    assert not len(on_gpu(np.zeros((0, 5, 7, 3), np.uint8), np.zeros((0, 2, 13))))


def test_two_streams_at_a_time():
    """Nothing is shared between launches: each has its own workspace."""
    images = pictures(64, 224, 224)
    program = whole(
        [
            [
                instruction("Start"),
                instruction("GaussianBlur", 23, 23, 2, 2),
                instruction("Add", 0.5),
                instruction("Mix", 0.5),
            ]
        ]
        * 64
    )
    made = _native.DevicePrograms(_native.Programs(program), 224, 224)
    there, data = torch.from_numpy(images).cuda(), torch.from_numpy(made.data).cuda()
    torch.cuda.synchronize()
    found = []
    for _ in range(4):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found.append(cuda.augment(made, data, there, stream.cuda_stream))
    torch.cuda.synchronize()
    want = _native.augment(images[0], program[0])
    for batch in found:
        np.testing.assert_array_equal(batch[0].cpu().numpy(), want)
        assert torch.equal(batch, found[0])
