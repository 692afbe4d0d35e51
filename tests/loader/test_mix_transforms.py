"""fastload.mix of parts whose transforms differ: each sample is made as its part says."""

import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

import fastload
from fastload import transforms as T
from fastload.errors import PipelineError, UsageError
from fastload.parity.run import Setting, measure
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_every_step

SIZE = (24, 24)
LAST = [T.ToTensor(), T.Normalize((0.5,) * 3, (0.2,) * 3), T.RandomErasing(p=0.5)]
# Other boxes, filters, numbers of ops and of steps; one draws its filter
CHAINS = {
    "one": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.RandAugment(2), *LAST],
    "two": [T.Resize(SIZE, interpolation="bicubic"), *LAST],
    "three": [
        T.RandomResizedCrop(SIZE, scale=(0.9, 1.0), interpolation="random"), T.ColorJitter(0.4),
        *LAST,
    ],
}  # fmt: skip
COUNTS = {"one": 7, "two": 5, "three": 4}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    root = tmp_path_factory.mktemp("mixes")
    for number, (name, count) in enumerate(COUNTS.items()):
        for image in range(count):
            file = root / name / "class" / f"{image:02}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(encoded(textured(40 + image, 60, 100 * number + image)))
    return {name: str(root / name) for name in COUNTS}


def mixed(roots, **named):
    transform = {roots[name]: chain for name, chain in CHAINS.items()}
    settings = {"transform": transform, "by": "epochs"} | named
    return fastload.mix(dict.fromkeys(roots.values(), 1), **settings)


def loader(data, batch_size=5, **named):
    return fastload.DataLoader(data, batch_size, **({"shuffle": True, "seed": 4} | named))


def by_sample(data, order):
    """Images of an order, by the sample's number."""
    images = [image for batch, _ in loader(data, sampler=order, shuffle=False) for image in batch]
    return dict(zip(order, images, strict=True))


def test_each_part_has_its_own(roots):
    """The pixels are those of the part alone, under the sample's number in the mix."""
    data = mixed(roots)
    order = np.random.default_rng(1).permutation(len(data)).tolist()
    found, starts = by_sample(data, order), dict(zip(roots, (0, 7, 12), strict=True))
    for name, chain in CHAINS.items():
        alike = by_sample(mixed(roots, transform=chain), order)
        for sample in range(starts[name], starts[name] + COUNTS[name]):
            assert torch.equal(found[sample], alike[sample])
    assert "backend native" in loader(data).explain()


@pytest.mark.long
def test_the_reference_gives_the_same(roots):
    data = mixed(roots)
    report = measure(data, Setting(images=16, batch_size=6), names=["native"])
    assert [cell.verdict for _, cells in report.rows for cell in cells] == ["bit-equal"]
    assert [name for name, _ in report.rows] == ["the whole of each part"]


def test_open_parts_keep_theirs(roots):
    parts = [(fastload.open(roots[name], chain), 1) for name, chain in CHAINS.items()]
    ours, theirs = fastload.mix(parts, by="epochs"), mixed(roots)
    assert torch.equal(next(iter(loader(ours)))[0], next(iter(loader(theirs)))[0])
    one = fastload.mix([parts[0], (roots["two"], 1)], {roots["two"]: CHAINS["two"]})
    assert [name for name, _ in one.pipeline.by_part] == ["part 0", roots["two"]]


@pytest.mark.long
def test_some_of_them_and_several_mixes(roots):
    data = mixed(roots)
    some, order = [12, 3, 8, 15, 0], list(range(5))
    found = by_sample(Subset(data, some), order)
    # The number in the subset is what its draws depend on
    for place, sample in enumerate(some):
        name = ("one", "two", "three")[np.searchsorted([7, 12], sample, side="right")]
        alike = by_sample(Subset(mixed(roots, transform=CHAINS[name]), some), order)
        assert torch.equal(found[place], alike[place])
    both = loader(ConcatDataset([data, data]), 32, shuffle=False)
    assert "backend native" in both.explain()
    assert len(next(iter(both))[0]) == 32
    assert "ConcatDataset has parts with different transforms" in (
        loader(ConcatDataset([data, mixed(roots, transform=CHAINS["one"])])).explain()
    )


@pytest.mark.long
@pytest.mark.parametrize("mix", [None, T.MixUp(num_classes=2)])
def test_resumes_at_every_step(roots, mix):
    assert check_every_step(lambda: loader(mixed(roots), 8, mix=mix)) > 0


@pytest.mark.long
def test_sizes_that_grow_and_workers(roots):
    data = pickle.loads(pickle.dumps(mixed(roots)))
    sized = {"size_schedule": [16, 32], "batch_size": 8}
    for epoch in range(2):
        seen = []
        for backend in ("native", "torch"):
            one = loader(data, backend=backend, num_workers=1, **sized)
            one.set_epoch(epoch)
            seen.append([images.clone() for images, _ in one])
        assert all(torch.equal(*pair) for pair in zip(*seen, strict=True))


@pytest.mark.long
def test_one_sample_and_a_sheet(roots):
    data = mixed(roots)
    assert all(data[sample][0].shape == (3, *SIZE) for sample in (0, 7, 12))
    assert f"{roots['two']}: Resize" in repr(data)
    cards = fastload.show(loader(data), 8).contents.cards
    assert len(cards) == 8


def test_explain_has_each_part(roots):
    lines = loader(mixed(roots)).explain().split("\n")
    for name, chain in CHAINS.items():
        at = lines.index(f"  part {roots[name]}")
        assert [line.split()[1].split("(")[0] for line in lines[at + 1 : at + 1 + len(chain)]] == [
            op.name for op in chain
        ]


def test_what_does_not_go_together(roots):
    one, two = roots["one"], roots["two"]
    weights, crop = {one: 1, two: 1}, T.CenterCrop(SIZE)
    with pytest.raises(PipelineError) as refused:
        fastload.mix(weights, {one: [crop, T.ToImage()], two: [T.CenterCrop(20), T.ToImage()]})
    assert str(refused.value) == (
        f"mix: {two} ends otherwise than {one} (got uint8 20x20, ToImage(channels_last=False); "
        "want uint8 24x24, ToImage(channels_last=False)); give both the same size, type and last "
        "ops"
    )
    other = [crop, T.ToTensor(), T.Normalize((0.4,) * 3, (0.2,) * 3)]
    with pytest.raises(PipelineError, match="ends otherwise than"):
        fastload.mix(weights, {one: [crop, *LAST[:2]], two: other})
    with pytest.raises(UsageError) as wrong:
        fastload.mix(weights, {one: crop, "else": crop})
    want = f"(want one for each of {one}, {two}); correct it"
    assert str(wrong.value).splitlines() == [
        f"mix: transform has 'else', which is no part {want}",
        f"mix: transform has nothing for {two} {want}",
    ]
    with pytest.raises(PipelineError, match="is a mix whose parts have ops of their own"):
        fastload.mix([(mixed(roots), 1), (mixed(roots), 1)])
