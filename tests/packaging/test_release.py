"""What `.ci/release` ticks off: each check says nothing where all is well, and else what is not."""

import importlib.util
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.conftest import TREE, needs_checkout

CHECKS = TREE / ".ci" / "check_release.py"
_spec = importlib.util.spec_from_file_location("check_release", CHECKS)
release = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(release)

CHANGES = "# Changelog\n\n## 1.2.3 (2027-01-31)\n\n- New.\n\n## 1.2.2 (2026-12-01)\n\n- Old.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "fastload").mkdir(parents=True)
    (root / "fastload" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (root / "pyproject.toml").write_text('[project]\ndynamic = ["version"]\n')
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\ntitle: fastload\n")
    (root / "CHANGELOG.md").write_text(CHANGES)
    return root


def packed(tree: Path, out: Path) -> None:
    out.mkdir()
    with tarfile.open(out / "fastload_torch-1.2.3.tar.gz", "w:gz") as archive:
        for name in ("fastload/__init__.py", "pyproject.toml"):
            archive.add(tree / name, f"fastload_torch-1.2.3/{name}")


@needs_checkout
def test_this_checkouts_version_stands_in_one_place():
    assert release.version_stands_once(TREE) == ""
    assert release.version(TREE)


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("pyproject.toml", 'version = "1.2.3"\n', "pyproject.toml has a version of its own"),
        ("CITATION.cff", "version: 1.2.3\n", "CITATION.cff has a version of its own"),
        (
            "fastload/__init__.py",
            "",
            "fastload/__init__.py: no version (want one line __version__ = …)",
        ),
    ],
)
def test_a_second_version_is_named(tree, file, text, why):
    assert release.version_stands_once(tree) == ""
    (tree / file).write_text(text)
    assert release.version_stands_once(tree) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CHANGES, ""),
        (CHANGES.replace("- New.\n\n", ""), "CHANGELOG.md: nothing under '1.2.3 (2027-01-31)'"),
        (
            CHANGES.replace("(2027-01-31)", "(unreleased)"),
            "CHANGELOG.md: first section (got '1.2.3 (unreleased)', want '1.2.3 (YEAR-MONTH-DAY)')",
        ),
        (
            CHANGES.replace("1.2.3", "1.2.4"),
            "CHANGELOG.md: first section (got '1.2.4 (2027-01-31)', want '1.2.3 (YEAR-MONTH-DAY)')",
        ),
    ],
)
def test_the_changelog_begins_with_this_version(tree, text, why):
    (tree / "CHANGELOG.md").write_text(text)
    assert release.changelog_has_it(tree) == why


def test_missing_wheels_are_named(tmp_path):
    names = [
        f"fastload_torch-1.2.3-{tag}-manylinux_2_28_{machine}.whl"
        for tag in release.TAGS
        for machine in release.MACHINES
    ]
    for name in names:
        (tmp_path / name).touch()
    assert release.wheels_are_there(tmp_path, "1.2.3") == ""
    (tmp_path / names[5]).unlink()
    assert (
        release.wheels_are_there(tmp_path, "1.2.3")
        == f"{tmp_path}: no wheel (or several) of 1.2.3 for cp312-abi3-aarch64"
    )


def test_a_source_distribution_of_another_tree_is_named(tree, tmp_path):
    out = tmp_path / "out"
    assert (
        release.source_is_the_trees(tree, out, "1.2.3")
        == f"{out}/fastload_torch-1.2.3.tar.gz: not there"
    )
    packed(tree, out)
    assert release.source_is_the_trees(tree, out, "1.2.3") == ""
    (tree / "pyproject.toml").write_text("")
    assert (
        release.source_is_the_trees(tree, out, "1.2.3")
        == "fastload_torch-1.2.3.tar.gz: pyproject.toml is not the checkout's"
    )
    (tree / "pyproject.toml").unlink()
    assert (
        release.source_is_the_trees(tree, out, "1.2.3")
        == "fastload_torch-1.2.3.tar.gz: pyproject.toml is not in the checkout"
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_git_does_not_know_is_named(tree, tmp_path):
    release.subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    assert release.tree_is_clean(tree).startswith("git: 4 files, such as ")
    (tree / ".gitignore").write_text("*\n")
    assert release.tree_is_clean(tree) == ""
