"""WebDataset's samples in tar archives, with all the files beside their images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers.base import Choice
from fastload.conversion.readers.spans import SpanReader
from fastload.errors import SourceError, listed
from fastload.files import names as outer
from fastload.sources import labels as labelling
from fastload.sources.tar_members import Files, Span
from fastload.sources.tar_samples import Sample, classes_beside, samples


@dataclass
class _Listed:
    """What is known of the samples while the archives are gone through."""

    labelled: bool
    keys: list[str] = field(default_factory=list)
    images: list[Span] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of the labels
    more: list[tuple[Span, ...]] = field(default_factory=list)  # files beside the image

    def add(self, sample: Sample) -> str:
        """The next sample; or what is wrong with it."""
        if sample.problem:
            return sample.problem
        if sample.label is None and self.labelled:
            return (
                'has no label (want KEY.cls, or "label" in KEY.json); add it, or pass --labels none'
            )
        if wrong := next((name for name in sample.group if outer.suffix_problem(name)), ""):
            problem = f"{outer.shown(wrong)} {outer.suffix_problem(wrong)}"
            return f"has a file whose extension {problem}; rename it"
        self.keys.append(sample.key)
        self.texts.append(sample.label or "")
        self.images.append(sample.image)
        others = (name for name in sample.group if name not in (sample.extension, "cls"))
        self.more.append(tuple(sample.group[name]._replace(name=name) for name in others))
        return ""


def reader(
    where: str,
    files: Files,
    paths: Sequence[str],
    spans: Sequence[Span],
    stamp: int,
    choice: Choice,
) -> SpanReader:
    """The samples in `spans`, files of the archives `paths`.

    Raises SourceError with every problem.
    """
    found: Iterable[Sample] = samples(files, spans)
    labelled = choice.labelled
    if labelled and choice.optional:
        found = list(found)
        labelled = any(sample.label is not None for sample in found)
    known, problems = _Listed(labelled), list[str]()
    for sample in found:
        if problem := known.add(sample):
            problems.append(f"{paths[sample.archive]}: sample {sample.key!r} {problem}")
    if problems:
        raise SourceError(listed(problems))
    labels, classes = (
        labelling.numbered(where, known.texts, classes_beside(where))
        if labelled
        else labelling.none(len(known.keys))
    )
    return SpanReader(
        where,
        unique_keys(f"{key}.x" for key in known.keys),
        np.array([span.size for span in known.images], np.int64),
        labels,
        classes,
        stamp,
        files,
        known.images,
        {sample: spans for sample, spans in enumerate(known.more) if spans},
    )
