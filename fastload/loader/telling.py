"""What an epoch's end says of bad samples."""

import warnings

from fastload.errors import BadSamplesWarning
from fastload.plan.bad_samples import BadSamples
from fastload.state.progress import Progress

REASONS = 3  # that are said


def of_bad(bad: BadSamples, progress: Progress, done: str) -> None:
    """Warn of those that could not be read; done: what was done with its bad samples."""
    if progress.bad:
        warnings.warn(
            f"loader: {progress.bad} of {len(bad.source):,} samples could not be read in epoch "
            f"{progress.epoch} and were {done} ({_reasons(progress)}); {bad.path} lists them",
            BadSamplesWarning,
            stacklevel=5,  # of next(loader)
        )


def _reasons(progress: Progress) -> str:
    """The most frequent ones, with how often each was met; a resumed epoch knows its own part."""
    known = progress.bad_reasons.most_common()
    shown = [f"{count:,} times: {why}" if count > 1 else why for why, count in known[:REASONS]]
    rest = progress.bad - sum(count for _, count in known[:REASONS])
    return "; ".join([*shown, *([f"{rest:,} more"] if rest else [])])
