"""`fastload recipes list|show|diff`: the training recipes that come with fastload, and your own."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli import output
from fastload.cli.verbs import RECIPES, Verb, Verbs
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.recipes import Recipe

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", autocompletion=RECIPES)]


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(
        help="Training recipes: list, show, diff.",
        no_args_is_help=True,
        rich_markup_mode=None,
        cls=Verbs,
    )
    verbs.command("list", cls=Verb)(list_)
    verbs.command("show", cls=Verb)(show)
    verbs.command("diff", cls=Verb)(diff)
    app.add_typer(verbs, name="recipes")


def list_(json_to: output.JsonTo = None) -> None:
    """List the recipes that come with fastload."""
    from fastload import recipes

    shipped = [recipes.load(name) for name in recipes.names()]
    rows = [("recipe", "train px", "eval px", "epochs", "hash", "what")]
    rows += [
        (r.name, _size(r, True), _size(r, False), str(r.training.epochs), r.hash, r.title)
        for r in shipped
    ]
    lines = [
        f"{name:16}{train:>8}{evaluation:>9}{epochs:>8}  {mark:16}  {title}"
        for name, train, evaluation, epochs, mark, title in rows
    ]
    output.emit({"recipes": [_document(r) for r in shipped]}, json_to, Text("\n".join(lines)))


def show(recipe: Name, json_to: output.JsonTo = None) -> None:
    """Show a recipe: its data path and its training step."""
    from fastload import recipes

    loaded = recipes.load(recipe)
    lines = [
        f"{loaded.name}: {loaded.title}",
        f"source: {loaded.source}",
        f"file: {loaded.where}",
        f"hash: {loaded.hash}",
    ]
    for ops, count in loaded.views:
        lines += [
            "",
            f"data, training, {count} view{'s' * (count != 1)}:",
            *(f"  {op}" for op in ops),
        ]
    for train in (False,) if loaded.views else (True, False):
        what = "training" if train else "evaluation"
        lines += [
            "",
            f"data, {what} ({_size(loaded, train)} px):",
            *(f"  {op}" for op in loaded.ops(train)),
        ]
    lines += [
        "",
        "training step (fastload.recipes.step runs it):",
        *(f"  {key} = {value}" for key, value in _flat(_training(loaded)).items()),
    ]
    output.emit(_document(loaded), json_to, Text("\n".join(lines)))


def diff(a: Name, b: Name, json_to: output.JsonTo = None) -> None:
    """Show where two recipes differ."""
    from fastload import recipes

    one, other = _flat(_document(recipes.load(a))), _flat(_document(recipes.load(b)))
    for key in ("name", "title", "source", "file", "hash"):
        one.pop(key), other.pop(key)
    keys = [
        key
        for key in [*one, *(key for key in other if key not in one)]
        if one.get(key) != other.get(key)
    ]
    result = {
        "a": a,
        "b": b,
        "differences": [{"key": key, "a": one.get(key), "b": other.get(key)} for key in keys],
    }
    width = max(map(len, keys), default=0)
    lines = [f"{key:{width}}  {_shown(one.get(key))}  ->  {_shown(other.get(key))}" for key in keys]
    output.emit(
        result, json_to, Text("\n".join([f"{a} -> {b}", *lines] if keys else ["no difference"]))
    )


def _size(recipe: "Recipe", train: bool) -> str:
    spec = recipe.spec(train)
    return str(spec.width) if spec.width == spec.height else f"{spec.height}x{spec.width}"


def _training(recipe: "Recipe") -> Json:
    """The training step as nested tables, without what it does not have."""
    return {key: value for key, value in asdict(recipe.training).items() if value is not None}


def _document(recipe: "Recipe") -> Json:
    data: Json = {
        name: [str(op) for op in recipe.ops(name == "train")] for name in ("train", "eval")
    }
    if recipe.views:
        data["train"] = {
            f"view{number}": [str(op) for op in ops]
            for number, ops in enumerate(recipe.transform().each, start=1)
        }
    sizes = {"train_px": list(recipe.sizes())}
    head = {
        "name": recipe.name,
        "title": recipe.title,
        "source": recipe.source,
        "file": recipe.where,
        "hash": recipe.hash,
    }
    return {**head, "data": data, "sizes": sizes, "training": _training(recipe)}


def _flat(value: Any, prefix: str = "") -> Json:
    """Nested tables as one with dotted keys; lists of ops by their names, so that one more op does
    not shift the rest.
    """
    out: Json = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict):
            out |= _flat(inner, f"{name}.")
        elif inner and isinstance(inner, list) and isinstance(inner[0], str):
            out |= {f"{name}.{op.split('(')[0]}": op for op in inner}
        else:
            out[name] = inner
    return out


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return (
            f"{len(value)} sizes, {value[0]} to {value[-1]} px"
            if len(value) > 1
            else f"{value[0]} px"
        )
    return "(none)" if value is None else str(value)
