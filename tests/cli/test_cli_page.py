"""docs/cli.md is what its generator prints, and leaves no verb and no option out."""

import re

import pytest

cli = pytest.importorskip("benchmarks.pages.cli")  # not in an installed package


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_is_what_its_generator_prints(tree):
    page = (tree / "docs" / "cli.md").read_text()
    assert page == cli.page(), "run `python -m benchmarks cli > docs/cli.md`"


def test_every_verb_and_option_stands_there(tree):
    parts = sections((tree / "docs" / "cli.md").read_text())
    verbs = dict(cli.commands())
    assert list(parts) == list(verbs)
    assert len(verbs) > 15
    assert {"fastload convert", "fastload recipes diff"} <= set(verbs)
    for name, command in verbs.items():
        rows = [line for line in parts[name].splitlines() if line.startswith("| `")]
        assert len(rows) == len(cli.visible(command)), name
        for each in cli.visible(command):
            if each.param_type_name == "option":
                for form in (*each.opts, *each.secondary_opts):
                    assert any(form in row.split(" | ")[0] for row in rows), (name, form)


def test_a_new_option_appears_by_itself(monkeypatch):
    import typer

    def build():
        app = typer.Typer()

        @app.callback()
        def top() -> None:
            """Everything."""

        @app.command()
        def count(
            path: str = typer.Argument(..., metavar="PATH"),
            most: int = typer.Option(7, "--most", "-m", metavar="N|all", help="At *most*."),
        ) -> None:
            """Count. And more."""

        return app

    monkeypatch.setattr(cli.cli, "build", build)
    page = cli.page()
    assert "- [`fastload count`](#fastload-count): Count.\n" in page
    assert "| `PATH` | required |  |\n" in page
    assert "| `-m, --most` `N\\|all` | `7` | At \\*most\\*. |\n" in page
