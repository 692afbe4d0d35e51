"""Resume under DALI and FFCV: a state before every step, of mixed batches whose size changes,
restored there or in another backend.
"""

import pytest

import fastload
from fastload import transforms as T
from fastload.backends.dali import installed as dali_installed
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.conversion import beton_writer, readers
from tests.loader.resume_helpers import check_every_step, digest, told

needs_ffcv = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
needs_dali = pytest.mark.skipif(
    bool(dali_installed.missing()), reason=f"{dali_installed.missing()}"
)
CUT = [
    T.RandomHorizontalFlip(),
    T.CenterCrop((32, 30)),
    T.ToImage(),
]  # what DALI decodes and cuts to the very pixels
TRAIN = [T.RandomResizedCrop((24, 31)), T.RandomHorizontalFlip(), T.RandAugment(1), T.ToTensor()]
SIZES = fastload.ProgressiveResize(total_steps=9, mode="resize", increment=2, delay=0.1)


@pytest.fixture(scope="module")
def beton(folder, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("resume") / "all.beton")
    beton_writer.run(readers.open_reader(folder), path, beton_writer.Options())
    return path


def maker(path, backend, ops=TRAIN, **fixed):
    """Loaders of three batches, the last of them short."""

    def make():
        options = {
            "shuffle": True,
            "seed": 4,
            "num_workers": 1,
            "size_schedule": SIZES,
            "mix": T.CutMix(),
            **fixed,
        }
        return fastload.DataLoader(fastload.open(path, ops), 16, backend=backend, **options)

    return make


@needs_dali
def test_dali_goes_on_where_it_was(folder):
    assert check_every_step(maker(folder, "dali"), epochs=1) == 5


@needs_dali
def test_dali_and_native_go_on_for_each_other(folder):
    made, native = maker(folder, "dali", CUT), maker(folder, "native", CUT)
    assert check_every_step(made, native, epochs=1) == 5
    assert check_every_step(native, made, epochs=1) == 5


@needs_ffcv
def test_ffcv_and_native_go_on_for_each_other(beton):
    """And FFCV for itself: what it gives after native's state is what it gave after its own."""
    assert check_every_step(maker(beton, "ffcv"), maker(beton, "native"), epochs=1) == 5
    (whole, *_), (states, *_) = told(maker(beton, "native")(), 1)
    other = maker(beton, "ffcv")()
    other.load_state_dict(states[1])
    assert [digest(batch) for batch in other] == whole[1:]


@needs_dali
def test_dali_by_itself_goes_on_with_the_same_samples(folder):
    """Its crops are others: DALI's generators cannot be put where they were."""
    made = maker(folder, "dali-own", [*TRAIN[:2], T.ToImage()], mix=None)
    whole, states, first = [], [], made()
    for images, labels in first:
        states.append(first.state_dict())
        whole.append((images.shape, labels.tolist()))
    other = made()
    other.load_state_dict(states[0])
    assert [(images.shape, labels.tolist()) for images, labels in other] == whole[1:]
