"""Every difference between fastload.DataLoader and PyTorch's that is meant; docs/differences.md
shows this list.

own: data sets that PyTorch's engine runs; native: those that fastload's engine runs.
"""

from typing import NamedTuple

BOTH, OWN, NATIVE = ("own", "native"), ("own",), ("native",)


class Difference(NamedTuple):
    kinds: tuple[str, ...]
    torch: str
    fastload: str
    reason: str


DIFFERENCES = {
    "iterator class": Difference(
        BOTH,
        "`iter(loader)` is a `_SingleProcessDataLoaderIter` or a `_MultiProcessingDataLoaderIter`",
        "a subclass of it; natively a subclass of their base class `_BaseDataLoaderIter`",
        "`loader.stats()` counts there; natively there are no processes to manage",
    ),
    "pickling": Difference(
        BOTH,
        "a loader whose persistent workers are alive cannot be pickled or copied",
        "it can; the copy starts workers of its own",
        "nothing in a copy needs the original's workers",
    ),
    "auto": Difference(
        BOTH,
        '`num_workers="auto"` is a TypeError',
        "cores that the process may use",
        "asked for by many users",
    ),
    "fallback": Difference(
        OWN,
        "no warning",
        "`iter()` warns once per line of the program: `fastload.FallbackWarning`, a UserWarning, "
        "with the first reason",
        "most people change one import, and would not learn that nothing became faster",
    ),
    "no processes": Difference(
        NATIVE,
        "`num_workers` processes, listed in the iterator's `_workers`",
        "that many threads; `_workers` is empty, no tensor lies in shared memory, and no warning "
        "says that there are too many",
        "threads copy neither the data set nor the batches, and need no /dev/shm",
    ),
    "worker_init_fn": Difference(
        NATIVE,
        "is called in each worker",
        "one that only seeds (timm's, Lightning's, transformers') is not called, with a line in "
        "`explain()`; for any other the "
        "loader runs on PyTorch's engine",
        "there are no workers, and every draw is keyed by its sample",
    ),
    "in_order": Difference(
        NATIVE,
        "`in_order=False` hands out what is done first",
        "batches are in order",
        "threads share each batch, so none waits for another",
    ),
    "look-ahead": Difference(
        NATIVE,
        "the sampler is asked for `prefetch_factor * num_workers` batches ahead",
        "the same, up to 8; orders that run no code of yours are read further ahead",
        "all threads work on one batch after the other, so a few batches keep them busy",
    ),
    "change": Difference(
        NATIVE,
        "with `num_workers=0`, what is changed during an epoch (a data set, its transforms, a "
        "setting, library code) is seen at once",
        "at the next `iter()`, as with worker processes; pixels in memory (CIFAR's `data`) are "
        "read when their batch is made",
        "files are read ahead",
    ),
    "persistent": Difference(
        NATIVE,
        "persistent workers keep the data set of their first epoch, whatever is changed later",
        "a change is seen at the next `iter()`",
        "threads have no copy of it",
    ),
    "patches": Difference(
        NATIVE,
        "a patch of any library's code takes effect",
        "one of torchvision, timm, Pillow, or of how PyTorch fetches and collates is noticed, and "
        "PyTorch's engine runs it; "
        "not noticed are constants and default arguments that were changed before the loader was "
        "made, functions of torch and NumPy, "
        "and what drives a "
        "loader (`torch.utils.data.dataloader`)",
        "code is compared with the files of its library, and the files say what code is, not what "
        "values were",
    ),
    "warnings": Difference(
        NATIVE,
        "Pillow and transforms warn at each image, such as of an `antialias` that is ignored",
        "they do not run, and do not warn",
        "native code is in their place",
    ),
    "masks": Difference(
        NATIVE,
        "a mask may have another size than its image, where a Resize makes them equal",
        "`fastload.SampleError` with both sizes",
        "such pairs are mostly mistakes, and one record moves both",
    ),
    "random numbers": Difference(
        NATIVE,
        "transforms draw from the generators of the process that runs them",
        "draws are functions of (seed, epoch, sample, op), and move no generator of the program's",
        "the same pixels with any number of workers",
    ),
    "bad image": Difference(
        NATIVE,
        "PIL's exceptions, which do not name the file; from a worker their text holds a traceback",
        "`fastload.SampleError`, one line with the file, the index and the reason; it is also what "
        "PIL or Python raised "
        "(`FileNotFoundError` with its errno, `PIL.UnidentifiedImageError`, …), so that `except` "
        "clauses for those go on to work",
        "somebody has to find the file",
    ),
    "resizing": Difference(
        NATIVE,
        "the images' storage can be made larger (`resize_`, an `out=` of another size, "
        "`untyped_storage().resize_`)",
        "a RuntimeError, as of a tensor over a NumPy array, also after `share_memory_()`; take "
        "`images.clone()`. Labels can be resized",
        "the memory is lent, and used again when the last tensor over it is gone; all else that "
        "tensors do is the same",
    ),
    "bad index": Difference(
        NATIVE,
        "an IndexError with the data set's text",
        "an IndexError with the index, the length and what to do",
        "as above",
    ),
    "number": Difference(
        NATIVE,
        "a data set class that calculates with a sample's number gets negative ones of a sampler, "
        "and NumPy's of other types, and makes other names or values of them",
        "an IndexError, or a TypeError",
        "names and values are worked out for the numbers from 0 on, once",
    ),
}
