"""One name means one thing in every verb: the table below, and the command line is held to it.

A new option goes into the table. One that is there already keeps its metavar, so that a verb
cannot call the same thing by another name or another thing by the same name.
"""

import pytest
import typer

from fastload import cli
from fastload.cli.verbs import help_record

SHARED = {  # options of several verbs, and what they take; "" is a switch
    "--apply-exif": "",
    "--assume": "GPU",
    "--batch-size": "N",
    "--boxes": "KIND[:FILES]",
    "--data": "PATH",
    "--epoch": "N",
    "--html": "FILE",
    "--images": "N",
    "--json": "FILE",
    "--labels": "FILE|none",
    "--layer": "seek|coefficients",
    "--masks": "DIR",
    "--max-side": "PX",
    "--model": "NAME",
    "--on": "processes[:N]|ray[://HEAD:PORT]|slurm[:N]",
    "--overwrite": "",
    "--quality": "1..100",
    "--quick": "",
    "--recipe": "NAME|FILE",
    "--root": "DIR",
    "--seconds": "SECONDS",
    "--seed": "SEED",
    "--seek-step": "N",
    "--split": "NAME",
    "--step-rate": "RATE",
    "--strip-metadata": "",
    "--workers": "N",
}
SEVERAL = {  # what they take differs from verb to verb: a folder or a file, one name or many
    "--backend": ("auto|native|torch|ffcv|dali|dali-own|all", "auto|native|torch|ffcv|dali",
                  "auto|native|torch|ffcv|dali|dali-own", "NAME,…"),
    "--compare": ("BEFORE.json AFTER.json", "recipes|machines|backends|workers|sizes|formats"),
    "--output": ("DIR", "FILE"),
}  # fmt: skip
OF_ONE = {  # option → its verb
    "--append": "convert", "--budget": "convert", "--delete": "convert", "--sheet": "convert",
    "--versions": "inspect", "--yes": "convert",
    "--allow-private": "convert", "--by-class": "split", "--caption-column": "convert",
    "--check": "convert", "--checksum-column": "convert", "--cold": "profile",
    "--connections": "convert", "--cpu-step": "plan", "--cuts": "profile", "--device": "profile",
    "--dry-run": "convert", "--epochs": "plan", "--extras": "convert", "--fail-above": "parity",
    "--fail-if": "profile", "--failed": "convert", "--field": "convert", "--from": "convert",
    "--gpus": "plan", "--headers": "inspect", "--histograms": "inspect",
    "--host-connections": "convert", "--host-rate": "convert", "--ladder": "profile",
    "--machine": "plan", "--max-area": "convert", "--max-aspect": "convert",
    "--max-bytes": "convert", "--min-side": "convert", "--mode": "convert", "--no-seek": "convert",
    "--on-error": "convert", "--opt-out": "convert", "--parts": "split",
    "--price": "plan", "--price-disk": "plan", "--price-energy": "plan", "--rank": "show",
    "--rates": "plan", "--redirects": "convert", "--resume": "convert",
    "--retries": "convert", "--retry-failed": "convert", "--robots-txt": "convert",
    "--rows-per-shard": "convert", "--sample": "replay", "--schedule": "profile",
    "--scratch": "convert",
    "--shard-size": "convert", "--shuffle": "convert", "--step": "show", "--steps": "profile",
    "--subset": "convert", "--sweep": "profile", "--target": "plan", "--timeout": "convert",
    "--to": "convert", "--trace": "profile", "--transcode": "convert", "--unique": "filter",
    "--url-column": "convert", "--user-agent": "convert", "--verify": "profile",
    "--where": "filter", "--whole": "profile",
}  # fmt: skip
SHORT = {"-o": "--output"}
OLD = {("demo", "--out"): "--output", ("inspect", "--png"): "--output"}
ARGUMENTS = {"PATH", "SRC", "DST", "SRC… DST", "NAME|FILE", "PATH | -- COMMAND ..."}
READ_ONE = ("index", "inspect", "verify", "repair", "parity", "show", "replay")


def verbs(command=None, name=""):
    """Every verb that does something, by its name: "recipes list"."""
    command = command or typer.main.get_command(cli.build())
    below = getattr(command, "commands", {})
    if not below:
        yield name, command
    for verb, child in below.items():
        yield from verbs(child, f"{name} {verb}".strip())


def options():
    """(verb, option, what it takes) of every option that help shows."""
    for verb, command in verbs():
        for each in command.params:
            if each.param_type_name == "option" and not each.hidden:
                assert sum(form.startswith("--") for form in each.opts) == 1, (verb, each.opts)
                long = next(form for form in each.opts if form.startswith("--"))
                assert {SHORT.get(form, form) for form in each.opts} == {long}, (verb, each.opts)
                yield verb, long, "" if each.is_flag else each.metavar


def test_every_option_is_of_the_table():
    seen = {}
    for verb, option, takes in options():
        seen.setdefault(option, []).append((verb, takes))
    assert set(seen) == {*SHARED, *SEVERAL, *OF_ONE}
    for option, uses in seen.items():
        if option in OF_ONE:
            assert [verb for verb, _ in uses] == [OF_ONE[option]], option
        elif option in SEVERAL:
            assert {takes for _, takes in uses} == set(SEVERAL[option]), option
        else:
            assert {takes for _, takes in uses} == {SHARED[option]}, option
            assert len(uses) > 1, option


def test_every_option_that_takes_a_value_says_what():
    assert [use for use in options() if use[2] is None] == []


def test_every_verb_writes_json():
    assert {verb for verb, option, _ in options() if option == "--json"} == dict(verbs()).keys()


def test_arguments_are_plain_words():
    for verb, command in verbs():
        context = typer.Context(command, info_name=verb)
        usage = " ".join(command.collect_usage_pieces(context))
        assert not set(usage) & set("{}<>"), usage
        given = [each for each in command.params if each.param_type_name == "argument"]
        assert {each.metavar for each in given} <= ARGUMENTS, verb
        for each in given:
            assert help_record(each, context)[0].strip("[]") == each.metavar
        if verb in READ_ONE:
            assert given[0].metavar == "PATH", verb


@pytest.mark.parametrize(("verb", "old"), OLD)
def test_old_names_still_work_and_are_not_shown(verb, old, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["fastload", verb, old])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert f"'{OLD[verb, old]}' requires an argument" in capsys.readouterr().err
    command = dict(verbs())[verb]
    assert old not in command.get_help(typer.Context(command, info_name=verb)).split()
