"""Labels in torch's own memory, of which several are made at once."""

import threading

import numpy as np
import pytest
import torch

from fastload.engine import tensors


def test_each_is_a_copy_of_its_own_that_may_be_resized():
    owned, made = tensors.Owned(), []
    for number in range(3 * tensors.TOGETHER):
        values = np.arange(number, number + 5)
        made.append(owned(values))
        values[:] = -1
    assert [one.tolist() for one in made] == [list(range(n, n + 5)) for n in range(len(made))]
    assert len({one.data_ptr() for one in made}) == len(made)
    for one in made:
        assert (one.dtype, one.untyped_storage().nbytes(), one._is_view()) == (
            torch.int64, 40, False
        )  # fmt: skip
        one.resize_(100)
    assert made[1][:5].tolist() == [1, 2, 3, 4, 5]


def test_other_numbers_of_labels_are_made_anew():
    owned = tensors.Owned()
    for count in (4, 7, 1, 7, 0, 4):
        assert owned(np.arange(count)).tolist() == list(range(count))


def test_none_is_made_ahead_where_each_batch_has_another_number_of_labels():
    """As the parts of batches of patches have."""
    owned = tensors.Owned()
    for count in (4, 7) * 20:
        assert owned(np.arange(count)).tolist() == list(range(count))
    assert not owned._made


@pytest.mark.parametrize(
    "values",
    [np.eye(2, 3, dtype=np.float32), np.array([True, False]), np.arange(3, dtype=np.int32)],
    ids=["mixed", "valid", "int32"],
)
def test_what_is_no_label_is_copied_too(values):
    found, wanted = tensors.Owned()(values), values.copy()
    values[...] = 0
    assert found.tolist() == wanted.tolist()  # numpy() would forbid resizing
    assert found.resize_(9).shape == (9,)


def test_whoever_makes_them_in_inference_mode_leaves_plain_ones_to_others():
    owned = tensors.Owned()
    owned(np.arange(3))
    with torch.inference_mode():
        owned(np.arange(3))
    assert owned._made
    assert not any(owned(np.arange(3)).is_inference() for _ in range(tensors.TOGETHER))


def test_threads_never_share_one():
    owned, found = tensors.Owned(), []

    def take(first):
        found.extend(owned(np.full(3, first + n)) for n in range(200))

    threads = [threading.Thread(target=take, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(one[0].item() for one in found) == sorted(
        1000 * n + k for n in range(4) for k in range(200)
    )
