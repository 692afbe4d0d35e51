"""Whether a state is one that a loader gave, and this loader can go on with."""

from fastload import rng
from fastload.order import distributed, epochs
from fastload.state import fitting, packing
from fastload.state.progress import ResumableLoader
from fastload.state.stateful import State

VERSION = 1
NUMBERS = (
    "epoch", "step", "position", "batch", "world", "seed", "order_seed", "order_epoch", "bad",
    "length",
)  # fmt: skip
NEEDED = ("epoch", "step", "world", "bad")
TEXTS = ("sampler", "names")


def problems(state: object) -> list[str]:
    """What is no state of this version at all."""
    if not isinstance(state, dict) or "version" not in state:
        return [
            f"got {type(state).__name__} without 'version', want what DataLoader.state_dict() gave"
        ]
    if state["version"] != VERSION:
        return [
            (
                f"version is {state['version']!r}, want {VERSION}; use the fastload that wrote the "
                "state"
            )
        ]
    if missing := [name for name in (*NUMBERS, *TEXTS, "generator") if name not in state]:
        return [f"the state has no {', '.join(missing)}; want what DataLoader.state_dict() gave"]
    least = {"batch": 1, "world": 1}
    most = {"epoch": rng.MOST_EPOCH, "seed": (1 << 64) - 1, "order_epoch": rng.MOST_EPOCH}
    wrong = []
    for name in NUMBERS:
        value, top = state[name], most.get(name, (1 << 63) - 1)
        if value is None and name not in NEEDED:
            continue
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or not least.get(name, 0) <= value <= top
        ):
            wrong.append(
                f"{name} is {value!r}, want a whole number from {least.get(name, 0)} to {top}"
            )
    for name in TEXTS:
        if not isinstance(state[name], str):
            wrong.append(f"{name} is {state[name]!r}, want a text")
        elif not state[name].isprintable():
            wrong.append(f"{name} is {state[name]!r}, want one line")
    return wrong + packing.problems(state) + fitting.problems(state)


def misfits(loader: ResumableLoader, state: State) -> list[str]:
    """In what the state is another loader's."""
    batch, world = epochs.global_batch(loader, state["epoch"]), distributed.split(loader)[0]
    wrong = fitting.misfits(loader, state, batch) + _other_data(loader, state)
    if state["sampler"] != epochs.described(loader):
        wrong.append(
            f"the state's order is of {state['sampler']}, the loader's of "
            f"{epochs.described(loader)}; use the same sampler"
        )
    seed = loader._own.seed
    if seed is not None and state["seed"] != seed:
        wrong.append(
            f"the state has seed {state['seed']}, the loader {seed}; use the same seed, or "
            "leave it out"
        )
    if batch is None or state["batch"] is None or state["position"] is None:
        if (batch, world) != (state["batch"], state["world"]):
            mine, theirs = (
                f"{each or 'unknown'} samples on {ranks} ranks"
                for each, ranks in ((batch, world), (state["batch"], state["world"]))
            )
            wrong.append(
                f"a step of the state has {theirs}, of the loader {mine}; use the same batch "
                "sampler on as many ranks"
            )
    elif state["position"] % batch and state["step"] and not _over(loader, state):
        wrong.append(
            f"{state['position']} samples were taken, which is no multiple of {batch} (batches of "
            f"{batch // world} on {world} ranks); "
            f"use a batch size that divides, such as {state['batch'] // world or 1}"
        )
    return wrong


def _other_data(loader: ResumableLoader, state: State) -> list[str]:
    """In what the state is of another data set, as far as its samples tell."""
    length, mine = epochs.length(loader), names(loader)
    if state["length"] != length:
        samples = f"{state['length']} samples, this one has {length}"
        return [f"the state is of a data set of {samples}; use the same data set"]
    if mine and state["names"] and state["names"] != mine:
        hashes = f"(got {state['names']}, want {mine})"
        other = f"the state is of a data set with other names or labels {hashes}"
        return [f"{other}; use the same data set"]
    return []


def names(loader: ResumableLoader) -> str:
    """As `epochs.names`; "" of a data set that PyTorch's own engine runs."""
    return "" if loader._source is None else epochs.names(loader._source)


def _over(loader: ResumableLoader, state: State) -> bool:
    """Whether the state's epoch has given all its samples."""
    try:
        return bool(
            state["position"] >= len(epochs.sampler_of(loader)) * distributed.split(loader)[0]
        )
    except TypeError:
        return False
