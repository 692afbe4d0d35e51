"""A forecast as text."""

import math
from collections.abc import Iterator

from fastload.forecast import model, options, words
from fastload.forecast.findings import Forecast, stretches
from fastload.forecast.model import BUSY
from fastload.forecast.options import Option
from fastload.forecast.published import IMAGENET
from fastload.forecast.run import OVERLAP, WORDS

ALIKE = 0.01  # a share of the images that makes no other data set
SAME = 0.001  # share of the time that is no change
FEW = 4  # sizes that are all named
MOST = 12  # stretches of the schedule that are shown


def headline(found: Forecast) -> str:
    """The answer in one line."""
    asked, cost = found.asked, found.cost
    gpus = "" if found.asked.gpu is None else f", {asked.machine.gpus} GPUs"
    gpus = gpus.replace("1 GPUs", "1 GPU")
    text = (
        f"{asked.recipe.name}, {len(asked.sizes)} epochs on {asked.machine.name}{gpus}: "
        f"{words.times(found.run.total)}"
    )
    return text + (f", cost {words.range_of(cost)}" if cost else "")


def accuracy(found: Forecast) -> str:
    """What was published for this length, or for which lengths something was."""
    recipe, epochs = found.asked.recipe.name, len(found.asked.sizes)
    if (one := found.top1) is not None:
        reached = ""
        if found.target is not None:
            does = "reaches" if one.top1 >= found.target else "does not reach"
            reached = f", which {does} {words.accuracy(found.target)}"
        return f"top-1 {words.accuracy(one.top1)}, published{reached} ({one.source})"
    others = [f"{words.accuracy(one.top1)} after {one.epochs}" for one in found.published]
    known = f" (published: {', '.join(others)} epochs)" if others else ""
    return f"top-1 is not known: nobody published {recipe}'s after {epochs} epochs{known}"


def whose(found: Forecast) -> str:
    """Whose accuracies they are, where the data are not that; empty where there are none."""
    any_known = found.top1 or any(one.top1 is not None for one in found.options)
    if not any_known or abs(found.asked.images / IMAGENET - 1) < ALIKE:
        return ""
    return (
        f"accuracies are of ImageNet's {IMAGENET:,} images, and an epoch here has "
        f"{found.asked.images:,}"
    )


def waiting(found: Forecast) -> str:
    """What the GPUs wait for."""
    busy = found.run.busy
    parts = [
        f"{words.share(share)} for {WORDS[cause]}" if cause != OVERLAP
        else f"{words.share(share)} because of {WORDS[cause]}"
        for cause, share in sorted(found.waiting.items(), key=lambda one: -one[1])
        if share >= 0.001
    ]  # fmt: skip
    who = "the step's share of the time is" if found.run.together else "GPUs work"
    text = f"{who} {words.share(busy.value)}"
    if busy.low < busy.high:
        text += f" ({words.share(busy.low)} to {words.share(busy.high)})"
    return text + (f"; they wait {', '.join(parts)}" if parts else "; they wait for nothing")


def cores(found: Forecast) -> str:
    """How many keep the GPUs busy; empty where the step runs on them."""
    if found.run.together is not None:
        return ""
    needed, machine = found.cores, found.asked.machine
    goal = f"GPUs work {words.share(BUSY)} of the time"
    if needed is None:
        return f"no number of cores lets {goal}: see what they wait for"
    each = needed.value / machine.gpus
    return (
        f"{goal} with {words.cores(needed)} cores, {words.number(each)} per GPU; there are "
        f"{machine.cores}"
    )


def reading(found: Forecast) -> str:
    first, later = model.read_bytes(found.asked)
    epochs = len(found.asked.sizes)
    whole = words.data(first + later * (epochs - 1))
    each = f"{words.data(first)} an epoch" if later else f"{words.data(first)} in the first epoch"
    memory = words.data(model.needed_memory(found.asked))
    return f"{whole} read in all, {each}; once with {memory} of memory, whose cache holds them"


def energy(found: Forecast) -> str:
    """Part by part, with what is not in it."""
    used, cost = found.energy, found.energy_cost
    if used.kwh is None:
        return f"energy is not known: {'; '.join(used.missing)}"
    parts = ", ".join(
        f"{part.upper()}s {words.number(kwh.value)}" for part, kwh in used.parts.items()
    )
    text = f"energy: {words.range_of(used.kwh)} kWh ({parts})"
    if cost is not None:
        text += f", cost {words.range_of(cost)} at {found.price_energy:g} per kWh"
    return text + (f"; not counted: {'; '.join(used.missing)}" if used.missing else "")


def sensitivity(found: Forecast) -> Iterator[str]:
    """What the run would take if something were different."""
    now = found.run.total.value
    for name, run in found.what_ifs.items():
        less = 1 - run.total.value / now
        change = f"{words.share(abs(less))} {'less' if less > 0 else 'more'}"
        if abs(less) < SAME:
            change = "which changes nothing"
        yield f"if {name}: {words.time(run.total.value)}, {change}"


def lines(found: Forecast) -> list[str]:
    """All of it but the tables; the first line is the answer."""
    out = [headline(found)]
    facts = (
        accuracy(found), whose(found), waiting(found), cores(found), reading(found), energy(found),
        *sensitivity(found),
    )  # fmt: skip
    out += [f"  {text}" for text in facts if text]
    out += ["", "where the rates come from"]
    out += [f"  {text}" for text in sources(found)]
    out += ["", "extrapolated", *(f"  {text}" for text in found.extrapolated)]
    return [*out, f"not included: {'; '.join(found.left_out)}"]


def sources(found: Forecast) -> tuple[str, ...]:
    measured = found.measured
    rates = [
        f"{sample.median:,.0f} images/s at {size} px" for size, sample in measured.loader.items()
    ]
    sizes = ", ".join(rates)
    if len(rates) > FEW:
        sizes = f"{rates[0]} to {rates[-1]}, {len(rates)} sizes"
    workers = f"{measured.workers} worker{'s' * (measured.workers != 1)}"
    where = f"{found.backend}, {workers}, {found.facts['cpu']}"
    return (f"loader: {sizes}; measured here with {where}", f"step: {found.step_said}")


EPOCHS = ("epochs", "px", "images/s", "time", "limited by", "waiting")


def epoch_rows(found: Forecast, most: int | None = MOST) -> list[tuple[str, ...]]:
    """The run, stretch by stretch; of many the middle ones are left out."""
    rows: list[tuple[str, ...]] = [
        (
            words.epochs(one.first, one.last), str(one.size),
            words.range_of(one.images_per_s), words.time(one.hours.value * words.HOUR),
            WORDS[one.limit], words.share(one.waits),
        )
        for one in stretches(found.run)
    ]  # fmt: skip
    if most is None or len(rows) <= most:
        return rows
    half = most // 2
    return [*rows[:half], ("…", "", "", "", "", ""), *rows[-half:]]


OPTIONS = ("", "time", "cost", "disk", "disk's cost", "top-1", "GPUs work", "cores needed", "note")


def option_rows(found: Forecast) -> list[tuple[str, ...]]:
    """The choices; an asterisk: on the Pareto front."""
    best, rows = found.front, list[tuple[str, ...]]()
    for one in found.options:
        mark = " *" if one in best else ""
        hours, cost = one.hours, one.cost
        rows.append(
            (
                one.name + mark,
                words.times(hours.times(options.HOUR)) if hours else "",
                words.range_of(cost) if cost else "",
                words.data(one.stored) if one.stored is not None else "",
                words.range_of(one.disk_cost) if one.disk_cost else "",
                words.accuracy(one.top1) if one.top1 is not None else "",
                words.share(one.run.busy.value) if one.run else "",
                words.cores(one.cores) if found.compared == "machines" else "",
                one.note,
            )
        )
    return rows


def chosen(found: Forecast) -> list[str]:
    """The cheapest of the choices."""
    out, spends = [], "cheapest" if any(one.cost for one in found.options) else "fastest"
    one = found.cheapest
    if found.target is not None:
        goal = words.accuracy(found.target)
        out.append(
            f"{spends} that reaches {goal}: {said(one)}"
            if one
            else f"none has a published top-1 of {goal} or more"
        )
    elif one and found.compared != "sizes":  # other sizes are other trainings
        out.append(f"{spends}: {said(one)}")
    if found.compared == "formats":
        out += pays(found)
    if found.compared == "machines":
        busy = options.cheapest_busy(found.options)
        goal = f"keeps its GPUs busy {words.share(BUSY)} of the time"
        out.append(f"{spends} that {goal}: {said(busy)}" if busy else f"none of them {goal}")
    return out


def pays(found: Forecast) -> Iterator[str]:
    """Up to which price of disk each format costs less than the data as they are."""
    now, *others = found.options
    for one in others:
        price = options.pays_below(one, now)
        if price is not None:
            cheap = f"while a TB costs less than {words.number(price)} a month"
            cheap = "at any price of disk" if math.isinf(price) else cheap
            yield f"{one.name}: cheaper than as the data are {cheap}"


def said(one: Option) -> str:
    cost = f", cost {words.range_of(one.cost)}" if one.cost else ""
    total = words.times(one.run.total) if one.run else ""
    return f"{one.name}: {total}{cost}"
