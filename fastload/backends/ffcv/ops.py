"""fastload's ops in a pipeline of FFCV's own: the native engine's arithmetic, called by address
from FFCV's compiled loop.

    from fastload.backends.ffcv import ops
    "image": [RandomResizedCropRGBImageDecoder((224, 224)),
              ops.RandAugment(2, 9, seed=7), ops.ColOut(), ToTensor(), …]

They take what FFCV's decoders give, uint8 [N, H, W, 3], and leave [N, H, W, 3]. Each draws its own
numbers, a pure function of (seed, epoch, sample, how often the sample came since `set_epoch`, op):
the same with any number of workers. Epochs count from 0 and are told by `set_epoch`; without it,
all is epoch 0, and later passes are later occurrences.
"""

import ctypes
import threading
import traceback
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native, rng, transforms
from fastload.backends.ffcv import imports
from fastload.backends.native import runner as native
from fastload.backends.native.picture import Picture
from fastload.errors import PipelineError, UsageError
from fastload.plan.plan import Plan
from fastload.plan.steps import Step, infer_specs
from fastload.sources import ArraySource
from fastload.spec import Longs, Stage, Work
from fastload.transforms import CenterCrop, Op, ToImage

imports.load()

from ffcv.pipeline.allocation_query import AllocationQuery  # noqa: E402
from ffcv.pipeline.compiler import Compiler  # noqa: E402
from ffcv.pipeline.operation import Operation  # noqa: E402
from ffcv.pipeline.state import State  # noqa: E402

__all__ = [
    "Apply",
    "AugMix",
    "AutoAugment",
    "ColOut",
    "RandAugment",
    "RandomErasing",
    "RandomHorizontalFlip",
    "TrivialAugmentWide",
]

NUMBERS = range(1, rng.KEYED_OP - 256)  # of ops, in the random keys
GIVE_PIXELS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64)(
    _native.CALLS["give_pixels"]
)
PREPARE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64
)
# Plans have a source. This one is never read.
NOWHERE = ArraySource("", np.zeros((1, 1, 1, 3), np.uint8), np.zeros(1, np.int64), ())
FLOAT16 = np.dtype(np.int16)  # as FFCV hands float16 on; its ToTorchImage turns it back


class Apply(Operation):  # type: ignore[misc]
    """Ops of AUGMENT and STORE, and flips, in their order: Apply(op, …, seed=0).

    number: of the first op in the random keys; by default from what the ops are, so that equal ops
        of one pipeline need their own.
    Raises PipelineError, when FFCV's Loader is made, for ops that do not go with the images.
    """

    def __init__(self, *ops: Op, seed: int = 0, number: int | None = None) -> None:
        super().__init__()
        if not ops or not all(isinstance(op, Op) for op in ops):
            raise UsageError(
                f"ops.Apply: got {ops!r}, want ops of fastload.transforms; give at least one"
            )
        if number is not None and number not in NUMBERS:
            raise UsageError(f"ops.Apply: number is {number!r}, want {NUMBERS[0]} to {NUMBERS[-1]}")
        self.ops, self.seed = ops, seed
        self.number = (
            zlib.crc32(repr(ops).encode()) % len(NUMBERS) + 1 if number is None else number
        )
        self.pool, self.jobs = _native.Pool(0), dict[int, _native.Job]()
        self.picture: Picture | None = None
        self.prepare = PREPARE(self._prepared)  # kept: its address is compiled in
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Before FFCV's Loader is iterated. Raises UsageError."""
        self.epoch = rng.checked_epoch("ops.set_epoch", epoch)
        self.step = 0
        self.seen = np.zeros(0, np.int64)

    def declare_state_and_memory(self, previous_state: State) -> tuple[State, AllocationQuery]:
        if (
            not previous_state.jit_mode
            or previous_state.dtype != np.uint8
            or len(previous_state.shape or ()) != 3
        ):
            got = f"{previous_state.dtype} {previous_state.shape}"
            where = f"ops.{type(self).__name__}"
            problem = (
                f"{where}: images are {got}, want uint8 (H, W, 3) arrays; put it behind the "
                "decoder, before ToTensor"
            )
            raise PipelineError([problem])
        picture = self.picture = self._made(*map(int, previous_state.shape[:2]))
        dtype = FLOAT16 if picture.host_dtype == np.float16 else picture.host_dtype
        shape = picture.host_shape(1)[1:]
        return replace(previous_state, shape=shape, dtype=dtype), AllocationQuery(shape, dtype)

    def generate_code(self) -> Callable[..., Any]:
        prepare, give, iterate = self.prepare, GIVE_PIXELS, Compiler.get_iterator()

        def run(images: Any, out: Any, indices: Any) -> Any:
            job = prepare(indices.ctypes.data, indices.itemsize, len(indices), out.ctypes.data)
            failed = 0
            for n in iterate(len(indices)):
                failed += give(job, n, images.ctypes.data + n * images.strides[0])
            if failed:
                raise RuntimeError(
                    "fastload: an op failed on a batch; what it printed above says why"
                )
            return out[: len(indices)]

        run.is_parallel = run.with_indices = True  # type: ignore[attr-defined]
        return run

    def _made(self, height: int, width: int) -> Picture:
        """The native engine's picture of images that have this size already."""
        try:
            steps, out = infer_specs((CenterCrop((height, width)), *_with_tensor(self.ops)))
        except PipelineError as error:
            raise PipelineError(
                f"ops.{type(self).__name__}: {problem}" for problem in error.problems
            ) from None
        plan = Plan(
            NOWHERE, _numbered(steps, self.ops, self.number), replace(out, channels_last=True)
        )
        problems = native.unsupported(plan)
        if out.dtype == "bfloat16":
            problems.append("dtype is bfloat16, which NumPy does not have; use float16 or float32")
        if problems:
            raise PipelineError(f"ops.{type(self).__name__}: {problem}" for problem in problems)
        return native.compile(plan, "cpu").pictures[0]

    def _prepared(self, *batch: int) -> int:
        """`_prepare`. What that raises is printed, and 0 makes every sample of the batch fail."""
        try:
            return self._prepare(*batch)
        except Exception:  # noqa: BLE001  nothing goes through compiled code
            traceback.print_exc()
            return 0

    def _prepare(self, indices: int, itemsize: int, count: int, out: int) -> int:
        """Draw the records of a batch; the address of its job.

        Called by the compiled loop, in FFCV's thread.
        """
        picture = self.picture
        if picture is None:  # cannot be: the state was declared before
            return 0
        samples = _at(indices, (count,), np.dtype(f"i{itemsize}")).astype(np.int64)
        work = Work(samples, self._occurrences(samples), self.seed, self.epoch, self.step)
        self.step += 1
        sizes = np.tile(np.array([[picture.height, picture.width]], np.int32), (count, 1))
        job = self.pool.lend(sizes)
        job.run(
            [
                picture.draw(work, sizes).work(
                    _at(out, picture.host_shape(count), picture.host_dtype)
                )
            ]
        )
        self.jobs[threading.get_ident()] = job  # until the same thread's next batch
        return job.address

    def _occurrences(self, samples: Longs) -> Longs:
        """How often each sample came before, since set_epoch."""
        if len(samples) and samples.max() >= len(self.seen):
            self.seen = np.append(self.seen, np.zeros(int(samples.max()) + 1, np.int64))
        out = np.zeros_like(samples)
        for position, sample in enumerate(samples.tolist()):
            out[position] = self.seen[sample]
            self.seen[sample] += 1
        return out


def _with_tensor(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """The ops with ToImage before the first one that wants tensors, where it is left out."""
    first = next((number for number, op in enumerate(ops) if op.stage is Stage.STORE), len(ops))
    has = any(isinstance(op, ToImage) for op in ops)
    return ops if has else (*ops[:first], ToImage(channels_last=True), *ops[first:])


def _numbered(steps: tuple[Step, ...], ops: tuple[Op, ...], number: int) -> tuple[Step, ...]:
    """The steps with the numbers of the user's ops, from `number` on; those that were added draw
    nothing.
    """
    out, used = [], 0
    for step in steps:
        is_users = used < len(ops) and step.op is ops[used]
        out.append(replace(step, number=number + used if is_users else 0))
        used += is_users
    return tuple(out)


def _at(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array at an address."""
    nbytes = int(np.prod(shape)) * dtype.itemsize
    memory: Any = (ctypes.c_uint8 * nbytes).from_address(address)
    out: NDArray[Any] = np.frombuffer(memory, dtype).reshape(shape)
    return out


def _named(kind: type[Op]) -> type[Apply]:
    """A class that takes an op's own arguments, and seed and number."""

    def init(
        self: Apply, *args: Any, seed: int = 0, number: int | None = None, **kwargs: Any
    ) -> None:
        Apply.__init__(self, kind(*args, **kwargs), seed=seed, number=number)

    return type(
        kind.__name__,
        (Apply,),
        {
            "__init__": init,
            "__doc__": f"`transforms.{kind.__name__}` in FFCV's pipeline; see Apply.",
        },
    )


AugMix = _named(transforms.AugMix)
AutoAugment = _named(transforms.AutoAugment)
ColOut = _named(transforms.ColOut)
RandAugment = _named(transforms.RandAugment)
RandomErasing = _named(transforms.RandomErasing)
RandomHorizontalFlip = _named(transforms.RandomHorizontalFlip)
TrivialAugmentWide = _named(transforms.TrivialAugmentWide)
