"""docs/errors.md is what its generator prints, and leaves no error of fastload/ out."""

import re

import pytest

from tests.conftest import needs_checkout

errors = pytest.importorskip("benchmarks.pages.errors")  # not in an installed package
error_texts = pytest.importorskip("benchmarks.pages.error_texts")
error_topics = pytest.importorskip("benchmarks.pages.error_topics")


@needs_checkout
def test_the_page_is_what_its_generator_prints(tree):
    page = (tree / "docs" / "errors.md").read_text()
    assert page == errors.page(), "run `python -m benchmarks errors > docs/errors.md`"


def test_every_module_that_raises_has_a_cause_and_a_cure():
    modules = {*error_texts.raising(), *(text.module for text in error_texts.texts())}
    assert len(modules) > 100
    for module in modules:
        topic = error_topics.of(module)
        assert topic.cause.endswith(".")
        assert topic.cure.endswith(".")


def test_a_new_module_with_errors_has_to_be_described():
    with pytest.raises(LookupError) as caught:
        error_topics.of("new/module.py")
    assert str(caught.value) == (
        "fastload/new/module.py has error texts; put it into a topic of this file"
    )


def test_every_class_is_a_part_of_the_page():
    titles = re.findall(r"^## (\w+)$", errors.page(), re.MULTILINE)
    assert set(error_texts.CLASSES) <= set(titles)
    assert {topic.kind for topic in error_topics.TOPICS} <= set(titles)


def test_every_text_stands_once_in_its_class():
    texts = error_texts.texts()
    page = errors.page()
    assert len(texts) > 500
    assert [text for text in texts if errors._code(text.what) not in page] == []


@pytest.mark.parametrize(
    ("template", "what", "remedy"),
    [
        ("{path}: is gone; restore it", "{path}: is gone", "restore it"),
        ("size is {size}, want 1 or more", "size is {size}, want 1 or more", ""),
        ("{path}: cannot be read (a; b)", "{path}: cannot be read (a; b)", ""),
        ("a: b (want c; d); do e, or f", "a: b (want c; d)", "do e, or f"),
    ],
)
def test_a_text_says_what_happened_and_what_to_do(template, what, remedy):
    text = error_texts.Text("", "", 1, template)
    assert (text.what, text.remedy) == (what, remedy)
