"""States that belong to another loader, that are none, or that are restored where it makes no
sense.
"""

import pytest

import fastload

from .resume_cases import OPS, maker


def refused(loader, state):
    with pytest.raises(fastload.UsageError) as caught:
        loader.load_state_dict(state)
    return str(caught.value)


def test_states_that_are_another_loaders(folder, tmp_path, bad_folder):
    make = maker(folder)
    loader = make()
    next(iter(loader))
    state = loader.state_dict()
    where = "DataLoader.load_state_dict: "
    assert refused(make(batch_size=5), state) == (
        where
        + "3 samples were taken, which is no multiple of 5 (batches of 5 on 1 ranks); use a batch "
        "size that divides, such as 3"
    )
    assert refused(make(seed=9), state) == (
        where + "the state's order is of ShuffleSampler(seed=4), the loader's of "
                "ShuffleSampler(seed=9); use the same sampler\n"
        + where + "the state has seed 4, the loader 9; use the same seed, or leave it out"
    )  # fmt: skip
    other = fastload.open(bad_folder({}), OPS)
    assert (
        refused(make(data=other), state)
        == where + "the state is of a data set of 40 samples, this one has 1; use the same data set"
    )
    names = {**state, "names": "0" * 16}
    assert refused(make(), names) == (
        where + f"the state is of a data set with other names or labels (got {'0' * 16}, want "
        f"{state['names']}); use the same data set"
    )
    batches = [[0, 1, 2]] * 3
    lines = (
        "a step of the state has 3 samples on 1 ranks, of the loader unknown samples on 1 ranks",
        "use the same batch sampler on as many ranks",
    )
    assert refused(make(batch_size=1, shuffle=None, batch_sampler=batches), state).splitlines()[
        1
    ] == where + "; ".join(lines)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, "version is 2, want 1; use the fastload that wrote the state"),
        ({"step": -1}, "step is -1, want a whole number from 0 to 9223372036854775807"),
        ({"epoch": "1"}, "epoch is '1', want a whole number from 0 to 4294967295"),
        ({"world": None}, "world is None, want a whole number from 1 to 9223372036854775807"),
        ({"generator": "AAAA"}, "generator is no state of a torch.Generator on the CPU"),
        ({"generator": 7}, "generator is no state of a torch.Generator on the CPU"),
        ({"names": 5}, "names is 5, want a text"),
    ],
)
def test_states_that_are_none(folder, change, text):
    make = maker(folder)
    assert (
        refused(make(), {**make().state_dict(), **change}) == f"DataLoader.load_state_dict: {text}"
    )


def test_what_is_no_state_at_all(folder):
    loader = maker(folder)()
    for given, kind in (({}, "dict"), (None, "NoneType"), ([1], "list")):
        want = (
            f"DataLoader.load_state_dict: got {kind} without 'version', want what "
            "DataLoader.state_dict() gave"
        )
        assert refused(loader, given) == want
    state = loader.state_dict()
    del state["bad"], state["names"]
    assert (
        refused(loader, state)
        == "DataLoader.load_state_dict: the state has no bad, names; want what "
        "DataLoader.state_dict() gave"
    )


def test_a_state_is_made_without_the_data(folder):
    """Its time does not grow with the data set: names are read once, of 64 samples."""
    loader = maker(folder)()
    iterator = iter(loader)
    loader.state_dict()
    source, asked = loader._route.plan.source, []
    object.__setattr__(source, "name", asked.append)
    next(iterator)
    loader.state_dict()
    assert asked == []


def test_other_weights_are_another_order(folder):
    data = fastload.open(folder, OPS)

    def make(weights):
        sampler = fastload.DistributedSampler(data, 1, 0, weights=weights)
        return fastload.DataLoader(data, 4, sampler=sampler, seed=1)

    loader = make([1.0] * 40)
    next(iter(loader))
    state = loader.state_dict()
    make([1.0] * 40).load_state_dict(state)
    text = refused(make([1.0] * 39 + [2.0]), state)
    assert text.count("weights=") == 2
    assert text.endswith("use the same sampler")
