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


def problems(given: object) -> list[str]:
    """What is no state of this version at all."""
    if not isinstance(given, dict) or "version" not in given:
        return [
            f"got {type(given).__name__} without 'version', want what DataLoader.state_dict() gave"
        ]
    if given["version"] != VERSION:
        return [
            (
                f"version is {given['version']!r}, want {VERSION}; use the fastload that wrote the "
                "state"
            )
        ]
    if missing := [name for name in (*NUMBERS, *TEXTS, "generator") if name not in given]:
        return [f"the state has no {', '.join(missing)}; want what DataLoader.state_dict() gave"]
    least = {"batch": 1, "world": 1}
    most = {"epoch": rng.MOST_EPOCH, "seed": (1 << 64) - 1, "order_epoch": rng.MOST_EPOCH}
    found = []
    for name in NUMBERS:
        value, top = given[name], most.get(name, (1 << 63) - 1)
        if value is None and name not in NEEDED:
            continue
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or not least.get(name, 0) <= value <= top
        ):
            found.append(
                f"{name} is {value!r}, want a whole number from {least.get(name, 0)} to {top}"
            )
    for name in TEXTS:
        if not isinstance(given[name], str):
            found.append(f"{name} is {given[name]!r}, want a text")
        elif not given[name].isprintable():
            found.append(f"{name} is {given[name]!r}, want one line")
    return found + packing.problems(given) + fitting.problems(given)


def misfits(loader: ResumableLoader, given: State) -> list[str]:
    """In what the state is another loader's."""
    batch, world = epochs.global_batch(loader, given["epoch"]), distributed.split(loader)[0]
    found = fitting.misfits(loader, given, batch) + _other_data(loader, given)
    if given["sampler"] != epochs.described(loader):
        found.append(
            f"the state's order is of {given['sampler']}, the loader's of "
            f"{epochs.described(loader)}; use the same sampler"
        )
    if loader.seed is not None and given["seed"] != loader.seed:
        found.append(
            f"the state has seed {given['seed']}, the loader {loader.seed}; use the same seed, or "
            "leave it out"
        )
    if batch is None or given["batch"] is None or given["position"] is None:
        if (batch, world) != (given["batch"], given["world"]):
            mine, theirs = (
                f"{each or 'unknown'} samples on {ranks} ranks"
                for each, ranks in ((batch, world), (given["batch"], given["world"]))
            )
            found.append(
                f"a step of the state has {theirs}, of the loader {mine}; use the same batch "
                "sampler on as many ranks"
            )
    elif given["position"] % batch and given["step"] and not _over(loader, given):
        found.append(
            f"{given['position']} samples were taken, which is no multiple of {batch} (batches of "
            f"{batch // world} on {world} ranks); "
            f"use a batch size that divides, such as {given['batch'] // world or 1}"
        )
    return found


def _other_data(loader: ResumableLoader, given: State) -> list[str]:
    """In what the state is of another data set, as far as its samples tell."""
    length, mine = epochs.length(loader), names(loader)
    if given["length"] != length:
        samples = f"{given['length']} samples, this one has {length}"
        return [f"the state is of a data set of {samples}; use the same data set"]
    if mine and given["names"] and given["names"] != mine:
        hashes = f"(got {given['names']}, want {mine})"
        other = f"the state is of a data set with other names or labels {hashes}"
        return [f"{other}; use the same data set"]
    return []


def names(loader: ResumableLoader) -> str:
    """As `epochs.names`; "" of a data set that PyTorch's own engine runs."""
    return "" if loader._source is None else epochs.names(loader._source)


def _over(loader: ResumableLoader, given: State) -> bool:
    """Whether the state's epoch has given all its samples."""
    try:
        return bool(
            given["position"] >= len(epochs.sampler_of(loader)) * distributed.split(loader)[0]
        )
    except TypeError:
        return False
