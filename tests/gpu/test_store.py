"""STORE on the GPU gives the bits of the specification: what is kept, erased and mixed, in every
type and layout.
"""

import numpy as np
import pytest
import torch

from fastload import _native
from tests.kernels.store_helpers import CANARY, DTYPES, SIZES, Case, cases

pytestmark = pytest.mark.cuda


def there(array):
    """On the GPU; None: no pointer."""
    return (
        None
        if array is None
        else torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8)).cuda()
    )


def on_gpu(case: Case) -> np.ndarray:
    """The output's bytes, on a stream of its own; nothing behind the output may be touched."""
    made, size = case.made(), case.blank().nbytes
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        given = [
            there(case.images),
            there(case.table),
            there(case.noise),
            there(made.data) if len(made.data) else None,
        ]
        out = torch.full((size + 64,), CANARY, dtype=torch.uint8, device="cuda")
        made.launch(
            *(0 if one is None else one.data_ptr() for one in given),
            out.data_ptr(),
            stream.cuda_stream,
        )
        whole = out.cpu().numpy()
    assert (whole[size:] == CANARY).all()
    return whole[:size]


def check(case: Case) -> None:
    want = case.want().reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(
        on_gpu(case), want, err_msg=str((case.kept, case.erased, case.mixed, case.last))
    )


@pytest.mark.parametrize("size", [*SIZES, (224, 161)], ids=str)
@pytest.mark.parametrize("count", [1, 3, 64])
@pytest.mark.parametrize("name", DTYPES)
def test_every_kind_of_batch(name, count, size):
    for case in cases(count, size, name) if count < 64 else cases(count, size, name)[::5]:
        check(case)


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
def test_without_a_table_the_values_stay(last):
    case = Case("uint8", 5, (33, 65), last)
    case.table = None
    want = case.images if last else case.images.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(on_gpu(case), np.ascontiguousarray(want).reshape(-1))


def test_more_images_than_a_grid_is_high():
    check(Case("uint8", 70_001, (2, 3)))  # CUDA's limit is 65,535
    check(Case("uint8", 70_001, (5, 3), kept="each", erased="both"))
    check(Case("uint8", 70_001, (2, 3), mixed=True))


def test_an_empty_batch_is_no_error():
    assert not len(on_gpu(Case("float32", 0, (5, 7))))
    assert _native.cuda_built
