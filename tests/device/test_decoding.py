"""Loaders whose JPEGs the GPU's own decoder makes, here by an emulated block of threads: the CPU's
batches, whatever the files are.
"""

import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T
from fastload.backends.native import gpu_decode
from tests.hostile import verdict_release
from tests.hostile.damage import KINDS

pytest.importorskip("fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES")


REAL = gpu_decode.GpuDecode, gpu_decode.recall


@pytest.fixture
def emulated(gpu, monkeypatch):
    from tests.backends.test_gpu_decode import Emulated

    monkeypatch.setattr(gpu_decode, "GpuDecode", REAL[0])
    monkeypatch.setattr(gpu_decode, "recall", REAL[1])
    monkeypatch.setattr(_native, "DeviceDecode", Emulated)


def batches(folder, device, workers=2, **more):
    ops = [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.RandAugment(1), T.ToTensor()]
    loader = fastload.DataLoader(
        fastload.open(folder, ops), 7, num_workers=workers, device=device, seed=5, **more
    )
    for _ in loader:  # collects the seek indexes
        pass
    loader.set_epoch(3)
    return loader, list(loader)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("more", [{}, {"mix": T.CutMix()}, {"decode_scale": "fast"}], ids=str)
def test_the_gpus_decoder_makes_the_cpus_batches(folder, emulated, workers, more):
    _, want = batches(folder, None, workers, **more)
    loader, found = batches(folder, "cuda", workers, decode="gpu", **more)
    assert (
        loader._engine.uploader.decoder.decoded >= 20
    )  # of 80: in the first epoch nothing has an index
    for (images, labels), (want_images, want_labels) in zip(found, want, strict=True):
        assert torch.equal(images, want_images)
        assert torch.equal(labels, want_labels)


@pytest.mark.parametrize("on_error", ["raise", "substitute", "skip"])
def test_files_that_nobody_decodes_are_the_cpus(bad_folder, emulated, encode, make_image, on_error):
    files = {f"{n}.jpg": encode(make_image(40 + n, 60, n)) for n in range(9)} | {
        "5.jpg": b"\xff\xd8\xff nothing"
    }
    files["7.png"] = encode(make_image(50, 30, 7), "PNG")
    where, results = bad_folder(files), []
    for device in (None, "cuda"):
        data = fastload.open(where, [T.RandomResizedCrop((31, 45)), T.ToImage()])
        how = {"num_workers": 2, "device": device, "seed": 1, "on_error": on_error, "max_bad": 5}
        loader, out = (
            fastload.DataLoader(data, 4, **how, **({"decode": "gpu"} if device else {})),
            [],
        )
        for _ in range(2):
            found = iter(loader)
            while True:
                try:
                    out += next(found)
                except StopIteration:
                    break
                except fastload.SampleError as error:
                    out.append(torch.tensor([error.index]))
        results.append(out)
    assert len(results[0]) == len(results[1]) > 8
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # of EXIF, by both
def test_a_damaged_files_verdict_is_the_cpus(bad_folder, emulated):
    """With an index of each file as it is; bad ones are left out."""
    from fastload.conversion import indexing

    _, damaged = verdict_release.drawn(verdict_release.images(None), range(3 * len(KINDS)), seed=2)
    where, results = (
        bad_folder({f"{number:03}.jpg": data for number, data in enumerate(damaged)}),
        [],
    )
    indexing.run(indexing.prepare(where), 2, 1)
    for device in (None, "cuda"):
        data = fastload.open(where, [T.RandomResizedCrop((31, 45)), T.ToImage()])
        how = {
            "device": device,
            "seed": 1,
            "on_error": "skip",
            "max_bad": len(damaged),
            "seek_index": "use",
        }
        loader = fastload.DataLoader(data, 4, **how, **({"decode": "gpu"} if device else {}))
        results.append(list(loader))
    assert loader._engine.uploader.decoder.decoded >= 10
    assert 20 < len(torch.cat([labels for _, labels in results[0]])) < len(damaged)
    for (pixels, _), (want, _) in zip(*results, strict=True):
        assert torch.equal(pixels, want)
