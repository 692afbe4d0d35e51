"""Leftovers of groups: known answers, and what holds for all numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastload.order.leftovers import planned


def plan(count, together, rows, free=1e9, padding=0.03):
    return planned(*(np.array(one, np.int64) for one in (count, together, rows)), free, padding)


def test_what_is_left_goes_to_the_next_longer_rows_that_have_images():
    moves = plan([7, 9, 0, 5], [4, 2, 3, 3], [100, 300, 200, 250])
    assert moves.order == (0, 3, 1)
    assert moves.total.tolist() == [7, 11, 0, 8]  # 3 go from the first to the last, then 2 on
    assert moves.left.tolist() == [3, 1, 0, 2]
    assert moves.to.tolist() == [3, -1, -1, 1]
    assert (moves.cost, moves.out.tolist()) == (3 * 150 + 2 * 50, [0, 1, 0, 0])


def test_what_would_pad_too_much_is_left_out():
    moves = plan([7, 9, 0, 5], [4, 2, 3, 3], [100, 300, 200, 250], free=200)
    assert moves.to.tolist() == [-1, -1, -1, 1]  # 3 * 150 are too many
    assert moves.out.tolist() == [3, 1, 0, 0]
    assert moves.cost == 100


def test_what_is_left_out_takes_its_share_of_free_padding_away():
    """2 images cost 100; the 4 others that are left out had 0.03 * 600 tokens free at most."""
    assert plan([7, 9, 0, 5], [4, 2, 3, 3], [100, 300, 200, 250], free=118).cost == 100
    assert plan([7, 9, 0, 5], [4, 2, 3, 3], [100, 300, 200, 250], free=117).cost == 0


numbers = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(1, 900)), min_size=1, max_size=9
)


@given(numbers, st.floats(0, 20_000), st.floats(0, 0.9))
def test_no_image_is_lost_and_no_step_is_partial(groups, free, padding):
    count, together, rows = np.array(groups, np.int64).T
    moves = planned(count, together, rows, free, padding)
    assert (count.sum() - moves.out.sum()) == (moves.total - moves.left).sum()
    assert ((moves.total - moves.left) % together == 0).all()
    assert (moves.left < together).all()
    assert all(rows[to] >= rows[group] for group, to in enumerate(moves.to) if to >= 0)
    assert moves.cost <= max(free, 0)
