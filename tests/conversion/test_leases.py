"""Who makes which unit: what is leased, what expires, who counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload.conversion.cluster import leases
from fastload.conversion.cluster.leases import Held, Leases


def test_units_are_leased_in_their_order_and_made_once():
    table = Leases(range(3))
    assert [table.take(name, 0.0) for name in "abc"] == [0, 1, 2]
    assert table.take("d", 0.0) is None
    assert table.made(Held(1, "b"), 1.0)
    assert not table.made(Held(1, "b"), 1.0)
    assert not table.all_made
    assert table.made(Held(0, "a"), 1.0)
    assert table.made(Held(2, "c"), 1.0)
    assert table.all_made


def test_a_job_of_no_units_is_made():
    assert Leases([]).all_made
    assert not Leases([7]).all_made


def test_a_lease_without_a_sign_expires_and_its_unit_goes_to_another():
    table = Leases(range(1), lease=10)
    assert table.take("a", 0.0) == 0
    table.sign(Held(0, "a"), 5.0)
    assert table.expired(15.0) == []
    assert table.expired(15.1) == [Held(0, "a")]
    assert table.lost(Held(0, "a")) == 1
    assert table.take("b", 16.0) == 0
    # The one that was thought to hang ends first after all: it counts, and the other does not
    assert table.made(Held(0, "a"), 17.0)
    assert not table.made(Held(0, "b"), 18.0)


def test_a_unit_that_was_given_back_may_still_be_made_by_the_first():
    table = Leases(range(1))
    table.take("a", 0.0)
    table.lost(Held(0, "a"))
    assert table.made(Held(0, "a"), 1.0)
    assert table.all_made


def test_a_free_worker_gets_the_slowest_unit_once():
    table = Leases(range(4))
    for number, name in enumerate("abcd"):
        assert table.take(name, 0.0) == number
    assert table.take("e", 1.0) is None  # nobody knows yet what a unit takes
    table.made(Held(0, "a"), 1.0)
    table.made(Held(1, "b"), 1.0)
    assert table.take("a", 1.9) is None
    assert table.take("a", 2.1) == 2
    assert table.take("b", 2.1) == 3
    assert table.take("e", 9.0) is None  # two have each
    assert table.doubled == 2
    assert table.made(Held(2, "a"), 3.0)
    assert not table.made(Held(2, "c"), 4.0)


def test_a_worker_gets_other_units_than_those_it_failed_at():
    table = Leases(range(3))
    assert table.take("a", 0.0) == 0
    assert table.lost(Held(0, "a")) == 1
    assert table.take("a", 1.0) == 1
    assert table.take("b", 1.0) == 0
    assert table.lost(Held(0, "b")) == 2
    table.forgive("a")
    assert table.tries(0) == 1
    assert table.take("a", 1.0) == 0


def test_a_worker_that_is_alone_tries_again():
    table = Leases(range(1))
    for tries in range(1, leases.TRIES + 1):
        assert table.take("a", 0.0) == 0
        assert table.lost(Held(0, "a")) == tries


@pytest.mark.parametrize("counts", [True, False])
def test_of_two_that_make_a_unit_one_may_be_lost(counts):
    table = Leases(range(2))
    table.take("a", 0.0)
    table.take("b", 0.0)
    table.made(Held(1, "b"), 1.0)
    assert table.take("b", 5.0) == 0
    assert table.lost(Held(0, "a"), counts=counts) == counts
    assert table.holders(0) == ["b"]
    assert table.take("a", 9.0) == 0
    assert table.made(Held(0, "b"), 9.0)


class Crew:
    """Workers that take units and make them, or do not."""

    def __init__(self, units):
        self.table, self.now = Leases(range(units), lease=5), 0.0
        self.has, self.made = dict[str, int](), list[int]()

    def step(self, name, what):
        """what: 0 to 2 makes its unit, 3 fails, 4 goes on, 5 hangs."""
        self.now += 1.0
        for held in self.table.expired(self.now):  # such a worker may still end
            self.table.lost(held)
        if name not in self.has:
            number = self.table.take(name, self.now)
            if number is not None:
                self.has[name] = number
        elif what == 4:
            self.table.sign(Held(self.has[name], name), self.now)
        elif what < 4:
            held = Held(self.has.pop(name), name)
            if what == 3:
                self.table.lost(held)
            elif self.table.made(held, self.now):
                self.made.append(held.number)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), max_size=80),
    st.integers(0, 12),
)
def test_whatever_happens_each_unit_is_made_exactly_once(steps, units):
    crew = Crew(units)
    for name, what in steps:
        crew.step(name, what)
    for _ in range(4 * (units + 4)):
        for name in "abcd":
            crew.step(name, 0)
    assert crew.table.all_made
    assert sorted(crew.made) == list(range(units))
