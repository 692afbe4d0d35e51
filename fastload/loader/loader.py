"""`DataLoader`, the drop-in:

PyTorch's class, with the native engine inside for what fastload recognises.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload import progressive, rng
from fastload.backends.base import WorkOrError
from fastload.engine.stacks import Stacks
from fastload.loader import arguments, explaining, iterators, lazy_images, native, routing, sizes
from fastload.loader.base import BaseLoader, T_co
from fastload.loader.options import LoaderOptions
from fastload.loader.works import works
from fastload.order import epochs, ranks, shuffling
from fastload.plan.plan import Plan
from fastload.spec import Json
from fastload.state import resume as state
from fastload.state.keeping import follows
from fastload.state.progress import Progress
from fastload.state.stateful import State, has_state
from fastload.system import devices, notebook, room
from fastload.system.meter import Meter
from fastload.system.opening import Opening
from fastload.transforms.mix import as_mix


class DataLoader(BaseLoader[T_co]):
    """PyTorch's DataLoader, with a native engine for what it recognises.

    It takes every argument of `torch.utils.data.DataLoader`; fastload's own are
    keyword-only. FASTLOAD_STRICT=1 makes an error of what could not run
    natively. Several threads may iterate one loader, each with its own
    iterator. docs/differences.md: what differs from PyTorch's.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> ops = [T.RandomResizedCrop(64), T.ToImage()]
        >>> train = fastload.open("train", ops)
        >>> loader = fastload.DataLoader(
        ...     train, batch_size=4, shuffle=True, num_workers=2, seed=0
        ... )
        >>> for images, labels in loader:
        ...     print(images.dtype, images.shape, labels.dtype)
        torch.uint8 torch.Size([4, 3, 64, 64]) torch.int64
        torch.uint8 torch.Size([4, 3, 64, 64]) torch.int64

    Args:
        dataset: As PyTorch's; what `fastload.open` returns; or torchvision's,
            such as ImageFolder.
        batch_size: As PyTorch's: samples per batch; None: no batches.
        shuffle: As PyTorch's; with `seed`, each epoch's order follows from seed
            and epoch.
        sampler: As PyTorch's: the order of the samples.
        batch_sampler: As PyTorch's: the samples of each batch.
        num_workers: Threads natively, else processes; 0: the caller's thread;
            "auto": the cores that this process may use.
        collate_fn: As PyTorch's: makes a batch of a list of samples.
        pin_memory: As PyTorch's: batches lie in page-locked memory.
        drop_last: As PyTorch's: leave out a last batch that is not full.
        timeout: As PyTorch's: how long to wait for a batch, s; 0: for ever.
        worker_init_fn: As PyTorch's: called in each worker process.
        multiprocessing_context: As PyTorch's: how worker processes start.
        generator: As PyTorch's: source of the order and of the base seed.
        prefetch_factor: As PyTorch's: batches that each worker makes ahead.
        persistent_workers: As PyTorch's: worker processes outlive an epoch.
        pin_memory_device: As PyTorch's, which no longer uses it.
        in_order: As PyTorch's (2.6 or newer): False allows batches out of
            order.

        backend: "auto" (native where it can, else PyTorch's own engine; of
            those with the same pixels the fastest, once `fastload profile
            --backend all` has measured them), "native", "torch" (the
            reference), "ffcv" (FFCV's loop over a .beton file), "dali" (NVIDIA
            DALI, the same draws) or "dali-own" (DALI's own draws). All but
            "auto" raise where they cannot.
        device: None or "cpu"; "cuda" fills batches on the current GPU,
            normalised there; "cuda:1" on that one.
        decode: Where JPEGs are decoded and cropped: "cpu", or with
            device="cuda" "gpu"; the pixels are the same. "auto" tries what is
            possible in the first batches of each size, and stays with what
            leaves training fastest.
        augment: Where AUGMENT runs, with the same choices as `decode`.

        seed: Fixes order and augmentation for good, 0 to 2**64 - 1; None draws
            one from `generator` at each iter(), as PyTorch does.
        seed_samples: True seeds Python, NumPy and torch before each sample of a
            data set that PyTorch's own engine runs: its augmentation does not
            depend on the worker count.
        lazy_images: Where PyTorch's own engine runs the data set, JPEGs that it
            opens by `PIL.Image.open` are decoded natively, and only where they
            are seen; those that torchvision.io or OpenCV decode, natively and
            whole. The pixels are the same. docs/images.md. False, or
            FASTLOAD_LAZY_IMAGES=0 in the environment: by these libraries.
        mix: `transforms.MixUp`, `CutMix`, `LabelSmoothing` or `RandomChoice` of
            them; labels become float32 [N, classes].
        size_schedule: Images of another size, px, batch by batch:
            `ProgressiveResize`, `progressive.Ramp`, a list of sizes per epoch
            (the last stays) or a function of the epoch, which counts from 0.

        seek_index: "auto" uses the index of where JPEG decoding can begin, and
            collects in the first epoch what is missing of a folder's, of tars'
            and other shards', and of JPEGs that the data set opens by itself,
            in the user's cache; "use"
            only uses what is there; "off" decodes from each image's first tile.
        decode_scale: "exact"; "fast" decodes a JPEG at 1/2, 1/4 or 1/8 of its
            size where the crop's box is at least that much larger than what it
            is resized to. Faster, and the pixels differ a little from
            torchvision's.

        on_error: Of an image that cannot be read or decoded: "raise";
            "substitute" puts another sample with its own label in its place;
            "skip" returns a shorter batch.
        max_bad: How many of an epoch's samples may be bad: a share, rounded up,
            or a count.
        bad_samples: A file for the list of them, one line of JSON each; None:
            in the user's cache. docs/bad-images.md.
        snapshot_every_n_steps: How often worker processes send a data set's own
            state; other states cost nothing. docs/resume.md.

    Raises:
        PipelineError: The pipeline of `dataset` cannot work.
        BackendError: `backend` cannot run it.
        DeviceError: There is no such device.
        UsageError: An argument of fastload's own makes no sense. Others raise
            what PyTorch raises.
    """

    def __init__(
        self,
        dataset: torch.utils.data.Dataset[T_co],
        batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int | str = 0, collate_fn: Any = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Any = None, multiprocessing_context: Any = None, generator: Any = None,
        *,
        prefetch_factor: int | None = None, persistent_workers: bool = False,
        pin_memory_device: str = "", in_order: bool = True,
        backend: str = "auto", device: str | None = None, seed: int | None = None,
        seek_index: str = "auto", decode_scale: str = "exact", size_schedule: Any = None,
        mix: Any = None, decode: str = "auto", augment: str = "auto", seed_samples: bool = False,
        lazy_images: bool = True,
        on_error: str = "raise", max_bad: float = 0.01, bad_samples: Any = None,
        snapshot_every_n_steps: int | None = 1,
    ) -> None:  # fmt: skip
        room.check("a loader")
        arguments.check_dataset(dataset)
        options = LoaderOptions(
            backend=backend, device=devices.parsed(device), seed=ranks.plain(seed),
            seek_index=seek_index, decode_scale=decode_scale,
            size_schedule=progressive.schedule(size_schedule), mix=as_mix(mix), decode=decode,
            augment=augment, seed_samples=seed_samples, lazy_images=lazy_images,
            on_error=on_error, max_bad=max_bad, snapshot_every_n_steps=snapshot_every_n_steps,
            bad_samples=arguments.file_name("bad_samples", bad_samples),
        )  # fmt: skip
        options.check(dataset)
        streams = isinstance(dataset, torch.utils.data.IterableDataset)
        if sampler is None and batch_sampler is None and not streams:
            sampler = shuffling.sampler_of(dataset, options.seed, generator, shuffle=bool(shuffle))
            shuffle = None if sampler else shuffle
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler,
            arguments.worker_count(num_workers), collate_fn, pin_memory, drop_last, timeout,
            worker_init_fn, multiprocessing_context, generator,
            prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            **arguments.of_version(in_order=in_order, pin_memory_device=pin_memory_device),
        )  # fmt: skip
        self._set_up(options)

    def _set_up(self, options: LoaderOptions) -> None:
        vars(self).update(vars(options))
        self._own = options
        self._epoch, self._progress = 0, Progress(0, done=True)
        self._pending = self._early = self._engine = None
        self._meter, self._opening, self._stacks = Meter(), Opening(), Stacks()
        self._sizes, self._steps = set(), sizes.count_steps(self)
        self._route = routing.find(self)
        self.check_worker_number_rationality()

    def __iter__(self) -> _BaseDataLoaderIter:
        with self._opening.alone():
            self._look_again()
            lazily = not self._route.backend and not lazy_images.why_not(
                wanted=self._own.lazy_images
            )
            routing.warn(self._route, lazily=lazily)
            early, self._early = self._early, None
            if early is not None and self._progress.epoch == self._epoch - 1:
                return early
            self._progress, self._pending = state.opened(self, self._pending), None
            self._epoch = self._progress.epoch + 1
            with self._progress.replaying():
                return super().__iter__()

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self._route.backend is not None:
            return native.Native(self)
        self.check_worker_number_rationality()
        return iterators.opened(self)

    def _works(self, plan: Plan, seed: int, epoch: int) -> Iterator[WorkOrError]:
        """An epoch's batches in order, for who looks at them without running them."""
        return works(self, plan, Progress(epoch), seed, None)

    def check_worker_number_rationality(self) -> None:
        """torch's warning about too many worker processes, where there are any: native workers are
        threads.
        """
        route = self.__dict__.get("_route")
        if route is not None and route.backend in (None, "torch"):
            super().check_worker_number_rationality()

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is epoch `epoch`, from 0: reaches the random keys, the samplers and
        the data set. Raises UsageError.
        """
        self._epoch = rng.checked_epoch("DataLoader.set_epoch", epoch)
        epochs.set_epoch(self, self._epoch)

    def state_dict(self) -> State:
        """Where the consumer is, in numbers and texts: up to 1 KiB, 8 KiB with a generator.

        See docs/resume.md.
        """
        begun = (
            self._pending is not None
            or self._engine is not None
            or self._progress.keeper is not None
        )
        if self.num_workers and not begun and follows(self) and has_state(self.dataset):
            self._early = iter(self)  # the first state is the workers'
        return state.state_dict(self, self._progress, self._pending)

    def load_state_dict(self, state_dict: State) -> None:
        """The next iter() goes on after the last batch that the state knows.

        Raises UsageError for a state that is not this loader's.
        """
        self._look_again()
        self._pending, self._early = state.load(self, state_dict), None
        self._iterator = None  # its workers know another state

    def explain(self) -> explaining.Explanation:
        """Who runs this loader, and why what is not native is not: one line each."""
        return explaining.Explanation("\n".join(explaining.lines(self)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {explaining.summary(self)}>"

    def _repr_html_(self) -> str:
        return notebook.lines(repr(self), explaining.lines(self))

    def stats(self) -> Json:
        """Counted since the loader was made, over all epochs.

        Returns:
            images and batches handed out, images_per_s (the consumer's own time included),
            possible_images_per_s (of the native threads, while they worked; None where others make
            the batches), elapsed_s, wait_s (inside next()), queue_depth (batches that were done
            when one was asked for, mean), bad_samples (errors raised), fallbacks (why not natively)
            and stages, of native threads: samples, wall_s and cpu_s of each. Of a data set in a
            store also store: its URL, requests, retries, bytes, waited_s and more.
        """
        return explaining.stats(self)

    def decodes(self) -> dict[str, int]:
        """How images were decoded since the loader was made. JPEGs: "indexed" (only the tiles under
        the crop), "whole" (from the first tile on; progressive ones too), "library"
        (libjpeg-turbo). Besides: "refused" counts seek indexes that did not fit their file,
        "scaled" images that decode_scale="fast" decoded at less than their size. "png": by the own
        decoder of PNGs. "webp": by libwebp. Pillow's are not here.
        """
        return self._engine.ways() if self._engine else {}

    def __getstate__(self) -> dict[str, object]:
        # Threads stay here; a copy starts its own.
        gone = dict.fromkeys(("_engine", "_iterator", "_early"))
        fresh = {"_meter": Meter(), "_opening": Opening(), "_stacks": Stacks()}
        return {**self.__dict__, **gone, **fresh}

    def _look_again(self) -> None:
        """Find the route anew if what it was found for has changed."""
        if self._route.marks.fit(self._watched()):
            return
        before, self._route = self._route, routing.find(self)
        self._engine, self._sizes, self._steps = None, set(), sizes.count_steps(self)
        if before.backend is not None or self._route.backend is not None:
            self._iterator = None  # PyTorch's persistent workers stay, as they do in PyTorch
