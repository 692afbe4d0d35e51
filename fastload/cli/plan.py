"""`fastload plan`: what a whole training will take, in time and money, before it begins."""

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from fastload.cli import attached, output
from fastload.cli import plan_options as o
from fastload.cli.verbs import Verb
from fastload.errors import misused

if TYPE_CHECKING:
    from fastload.forecast.findings import Forecast
    from fastload.forecast.machines import Machine

HELP = (
    "Forecast a whole training: its time, what it waits for, and its cost.\n\n"
    "The loader is measured here, at sizes of the recipe's schedule. The step is measured on a "
    "GPU, or taken from --assume, --step-rate or a file of machines. Prices are yours: nothing is "
    "looked up."
)


def register(app: typer.Typer) -> None:
    app.command("plan", cls=Verb, help=HELP)(plan)


def plan(
    recipe: o.Recipe = "hot",
    data: o.Data = None,
    epochs: o.Epochs = None,
    images: o.Images = None,
    machine: o.Machine = None,
    assume: o.Assume = None,
    step_rate: o.StepRate = None,
    cpu_step: o.CpuStep = False,
    gpus: o.Gpus = 1,
    price: o.Price = None,
    price_energy: o.PriceEnergy = None,
    price_disk: o.PriceDisk = None,
    target: o.Target = None,
    rates: o.Rates = None,
    compare: o.Compare = None,
    backend: o.Backend = "auto",
    workers: o.Workers = None,
    batch_size: o.BatchSize = None,
    seconds: o.Seconds = 40.0,
    model: o.Model = None,
    json_to: output.JsonTo = None,
    html: o.Html = None,
) -> None:
    """Measure, forecast, and print it."""
    given: dict[str, Any] = {
        "recipe": recipe, "data": data, "epochs": epochs, "images": images, "machine": machine,
        "assume": assume, "step_rate": step_rate, "cpu_step": cpu_step, "gpus": gpus,
        "price": price, "price_energy": price_energy, "price_disk": price_disk, "target": target,
        "rates": rates, "compare": compare, "backend": backend, "workers": workers,
        "batch_size": batch_size, "seconds": seconds, "model": model,
    }  # fmt: skip
    o.check(given)
    outputs = attached.Outputs(json_to, html, verb="plan")
    if rates is not None:
        o.check_rates(given)
    elif data is None:
        raise misused(
            "plan: no data set given; give --data DIR, or run fastload demo, which makes one"
        )
    _print(_forecast(given), outputs)


def _forecast(given: dict[str, Any]) -> "Forecast":
    """Raises FastloadError."""
    from fastload import recipes  # imports torch, which usage errors need not wait for
    from fastload.forecast import compare, job, kept, machines, prices, published

    price = None if given["price"] is None else prices.per_hour(given["price"])
    per_kwh = None if given["price_energy"] is None else prices.per_kwh(given["price_energy"])
    disk = None if given["price_disk"] is None else prices.per_tb_month(given["price_disk"])
    recipe, where = recipes.load(given["recipe"]), None
    others: tuple[Machine, ...] = ()
    if given["epochs"] is not None:
        recipe = published.lasting(recipe, given["epochs"])
    if given["compare"] == "machines":
        others = machines.load(given["machine"])
        where = others[0]
    elif given["machine"] is not None:
        where = machines.one(given["machine"])
    taken = ("images", "assume", "step_rate", "cpu_step", "gpus", "target", "backend", "workers",
             "batch_size", "seconds", "model")  # fmt: skip
    asked = job.Job(
        recipe, given["data"] or "", machine=where, price=price, price_energy=per_kwh,
        price_disk=disk,
        command=o.command(given, o.DEFAULTS), **{name: given[name] for name in taken},
    )  # fmt: skip
    if given["rates"] is not None:
        found = kept.forecast(kept.load(given["rates"]), asked)
        bench = job.Bench(asked, lambda: None)
        return (
            compare.compare(given["compare"], found, bench, others) if given["compare"] else found
        )
    with output.progress("measuring", None, "runs") as advance:
        found, bench = job.run(asked, advance), job.Bench(asked, advance)
        return (
            compare.compare(given["compare"], found, bench, others) if given["compare"] else found
        )


def _print(found: "Forecast", to: attached.Outputs) -> None:
    from fastload.forecast import document, lines, page

    if to.html:
        attached.save(to.html, page.write(found), "html", "plan")
    first, *rest = lines.lines(found)
    cut = rest.index("")
    shown: list[Any] = [
        Text.assemble((first, "bold"), "\n", "\n".join(rest[:cut])),
        "",
        output.table(lines.EPOCHS, lines.epoch_rows(found)),
    ]
    if found.options:
        shown += ["", output.table(lines.OPTIONS, lines.option_rows(found))]
        shown += [Text("\n".join(lines.chosen(found)))]
    output.emit(document.document(found), to.json, *shown, Text("\n".join(rest[cut:])))
