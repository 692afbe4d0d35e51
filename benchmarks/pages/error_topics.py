"""What error texts are about: the cause and the cure of each group, which no text can say alone."""

from functools import cache

from benchmarks.pages import error_topics_data
from benchmarks.pages.error_topics_data import Topic

# The first lines of a class's part, besides its docstring.
CLASS_NOTES = {
    "PipelineError": "All problems of a pipeline come at once, one line each, in `.problems`.",
    "SampleError": (
        "`.where` is the path, `.index` the sample's number, `.reason` the text below. An error "
        "that Pillow or Python raised is also of that class: a missing file is a `SampleError` and "
        "a `FileNotFoundError`. The epoch goes on after it. [bad-images.md](bad-images.md) has the "
        "policies."
    ),
    "BackendError": (
        "With `FASTLOAD_STRICT=1`, all that would run on PyTorch's engine raises this error when "
        "the loader is made. Else the same reasons are in `loader.explain()` and in "
        "`FallbackWarning`."
    ),
    "UsageError": "The command line prints it as one line, and ends with exit code 1 or 2.",
    "SourceError": "Nothing was read but names, indexes and headers.",
    "ConversionError": (
        "What was there before is untouched, or goes on with `--resume`. [convert.md](convert.md) "
        "has the details."
    ),
    "FallbackWarning": (
        "It is a warning, given once for each line of a program. [pipelines.md](pipelines.md) "
        "lists what runs natively, and `loader.explain()` tells every reason."
    ),
    "RuntimeWarning": "Python's own class of warnings.",
}

TOPICS = (
    *error_topics_data.TOPICS,
    Topic(
        "Names and cache folders", "SourceError", ("files/",),
        "A name from outside would leave its folder or cannot be a file's name; or the cache "
        "belongs to somebody else.",
        "Rename it, or set `XDG_CACHE_HOME` to a folder of your own.",
    ),
    Topic(
        "Limits of sizes", "SourceError", ("system/limits",),
        "A length in a file says more than the file can hold. Memory is not taken for it.",
        "Restore the file. If it is whole, its makers use sizes beyond what fastload reads.",
    ),
    Topic(
        "An image cannot be read or decoded", "SampleError",
        ("backends/mending", "backends/torch", "backends/foreign", "transforms/pil", "dataset",
         "transforms/reference/decoding", "conversion/samples", "conversion/making"),
        "The file is damaged, empty, gone, unreadable, too large, or no image.",
        "Mend or remove the file, or choose `on_error='substitute'` or `'skip'`.",
    ),
    Topic(
        "Too many bad samples", "BadSamplesError",
        ("plan/bad_samples", "loader/native", "loader/telling"),
        "More images are bad than `max_bad` allows: often a disk or a mount is gone, and not the "
        "images.",
        "Look at the list that the text names. Raise `max_bad` only when those images are really "
        "bad.",
    ),
    Topic(
        "Arguments of DataLoader", "UsageError",
        ("loader/", "progressive", "rng", "order/", "lowering/__init__", "mixes"),
        "An argument has another type or range than the text says.",
        "Give a value of the range in the text. `help(fastload.DataLoader)` lists all arguments.",
    ),
    Topic(
        "Single images", "UsageError", ("image/",),
        "An argument of `fastload.image.decode` is of another type or shape, or its region leaves "
        "the image.",
        "Change the argument that the line names. [images.md](images.md) has what each means.",
    ),
    Topic(
        "Resume", "UsageError", ("state/",),
        "The state is of another data set, order, seed or batch size, or it was changed.",
        "Load it into a loader that is made with the same arguments. [resume.md](resume.md) says "
        "what may differ.",
    ),
    Topic(
        "A data set or transform is not recognised", "FallbackWarning",
        ("loader/routing", "lowering/"),
        "The data set or its transform has a part that only Python can run.",
        "Replace that part, or write it as an own op ([custom-ops.md](custom-ops.md)). Or leave "
        "it: PyTorch's engine runs it unchanged.",
    ),
    Topic(
        "Arguments of ops", "PipelineError", ("transforms/", "backends/ffcv/ops"),
        "An op got a value outside of its range, or it stands where its input has another type.",
        "Give a value of the range in the text. [ops.md](ops.md) has each op's arguments.",
    ),
    Topic(
        "Functions of your own", "OpError", ("transforms/functions",),
        "A function that `@custom` marks failed on an image, or has a form that cannot run in "
        "threads.",
        "Call the function on one array yourself to see the failure. "
        "[custom-ops.md](custom-ops.md) has the rules.",
    ),
    Topic(
        "MixUp, CutMix and labels", "PipelineError",
        ("transforms/mix", "plan/checks"),
        "The number of classes is not known, or labels and classes do not fit.",
        "Give `num_classes`. [mixing.md](mixing.md) has the rest.",
    ),
    Topic(
        "The order of a pipeline", "PipelineError",
        ("plan/plan", "plan/steps", "plan/resizing", "plan/patches", "plan/pipeline"),
        "Ops stand in an order that cannot work, or images would have different sizes in a batch.",
        "Order the ops: crop, augment, then tensor, type and normalisation.",
    ),
    Topic(
        "Recipes", "PipelineError", ("recipes/parse", "recipes/__init__"),
        "A key of the recipe's TOML file is missing, misspelt or out of range.",
        "Compare with `fastload recipes show`. [recipes.md](recipes.md) has every key.",
    ),
    Topic(
        "Training steps of recipes", "UsageError", ("recipes/",),
        "The model is unknown, its library is not installed, or a state is of another recipe.",
        "Install `fastload-torch[recipes]`, and name a model of torchvision or timm.",
    ),
    Topic(
        "Placement on CPU and GPU", "PipelineError", ("plan/placement",),
        "`decode`, `augment` and `device` contradict each other.",
        "Leave `decode` and `augment` out, or give `device='cuda'`. [gpu.md](gpu.md) has the "
        "placements.",
    ),
    Topic(
        "The GPU", "DeviceError", ("system/devices", "engine/streams"),
        "torch sees no GPU, another GPU, or one that the kernels were not built for.",
        "Run `fastload doctor`, which says what is missing. Without `device` all runs on the CPU.",
    ),
    Topic(
        "Memory and limits of the process", "HostMemoryError",
        ("system/room", "plan/preflight", "engine/epoch", "engine/feeding", "engine/joint",
         "engine/pools", "engine/torch"),
        "The process, its container or `/dev/shm` has no room for more threads or batches.",
        "Take fewer workers or smaller batches, or raise the limit that the text names.",
    ),
    Topic(
        "A loader that stands still", "FastloadError", ("engine/waits",),
        "A read does not return (a dead mount), or a process of PyTorch's engine died.",
        "Look at the stage that the text names: reading waits for the disk, decoding for the CPU.",
    ),
    Topic(
        "Choosing a backend", "BackendError",
        ("backends/choosing", "backends/table", "engine/make"),
        "The backend is unknown, not installed, or cannot run an op of the plan.",
        "Leave `backend` out: 'auto' takes one that can. [backends.md](backends.md) has the table.",
    ),
    Topic(
        "The native backend", "BackendError", ("backends/native/",),
        "The plan has a form that the native engine does not run.",
        "Change what the text names, or keep it: the torch backend runs it with the same pixels.",
    ),
    Topic(
        "No native engine", "BackendError", ("_native",),
        "This installation was built without the extension, since its machine has no compiler of "
        "C++20; or a package is missing that stands in for a part of it.",
        "Use `backend='torch'`, which gives the same pixels and is slow. Or build fastload as "
        "[building.md](building.md) says.",
    ),
    Topic(
        "DALI", "BackendError", ("backends/dali/",),
        "DALI is missing or too old, or has no operator for an op.",
        "Use `backend='native'`, or install DALI as [dali.md](dali.md) says.",
    ),
    Topic(
        "FFCV", "BackendError", ("backends/ffcv/",),
        "FFCV is missing, cannot be loaded, or would read other data than one `.beton` file.",
        "Use `backend='native'`, or see [migrate/ffcv.md](migrate/ffcv.md).",
    ),
    Topic(
        "Packages that extend fastload", "UsageError",
        ("system/extensions", "transforms/registry", "transforms/reference/pixels"),
        "An installed package registers something that does not fit this fastload.",
        "Update or uninstall that package. [extending.md](extending.md) is for its authors.",
    ),
    Topic(
        "Targets of a conversion", "ConversionError",
        ("conversion/target", "conversion/stag", "conversion/parents", "conversion/job",
         "conversion/preparing",
         "conversion/store_target", "conversion/store_writer",
         "conversion/journal", "conversion/finished", "conversion/beton_writer",
         "conversion/folder_writer", "conversion/parquet_writer", "conversion/beton_samples",
         "conversion/boxed", "conversion/parquet_objects",
         "conversion/filtering", "conversion/doubles"),
        "The target holds something already, cannot be written, or has no room; or samples are "
        "bad.",
        "Give an empty folder, `--overwrite` or `--resume`. For bad samples: mend them, or "
        "`--on-error skip`.",
    ),
    Topic(
        "Options of a conversion", "UsageError",
        ("conversion/options", "conversion/editing", "conversion/units", "conversion/where",
         "conversion/seek_writer", "conversion/subset_columns", "conversion/budget"),
        "An option of `convert`, `filter`, `split` or `merge` has a value that makes no sense.",
        "Give a value of the form in the text. [convert.md](convert.md) has examples.",
    ),
    Topic(
        "Conversions on many machines", "ConversionError",
        ("conversion/cluster/", "conversion/spread/", "conversion/distributed",
         "conversion/store_units", "cli/convert_on"),
        "A worker cannot see the same folders, has other versions, or ends again and again; or the "
        "engine of `--on` is missing or does not answer.",
        "Mend what the line names, and go on with `--resume`. "
        "[guides/cluster.md](guides/cluster.md) says what workers need.",
    ),
    Topic(
        "Data sets that grow", "ConversionError", ("conversion/versions/",),
        "Somebody else changes the data set, a key is not there, or the new samples do not fit it.",
        "Wait for the other one, or give what the line asks for. "
        "[guides/growing.md](guides/growing.md) says who may do what at once.",
    ),
    Topic(
        "Verify and repair", "ConversionError",
        ("conversion/verify", "conversion/repair", "conversion/mending"),
        "Files of a converted data set differ from what its index says.",
        "Run `fastload repair` with the source of the conversion, or `fastload index` where only "
        "the index is damaged.",
    ),
    Topic(
        "The profiler", "UsageError", ("profiler/", "cli/profile", "cli/attached"),
        "Options exclude each other, or the program gave too few batches to say anything.",
        "Give the command after `--`, and let it run longer. [profiler.md](profiler.md) has "
        "examples.",
    ),
    Topic(
        "Metrics", "MetricsError", ("metrics/",),
        "The tool that metrics go to is not installed, or its port is taken; or an argument is no "
        "loader of fastload's.",
        "Install what the text names, or give another port. [metrics.md](metrics.md) has each "
        "tool.",
    ),
    Topic(
        "Forecasts", "UsageError", ("forecast/", "system/energy", "cli/plan"),
        "Options of `fastload plan` exclude each other, or a file of machines is not as it should "
        "be.",
        "Give one option of those that the text names. [planning.md](planning.md) has the form of "
        "the file.",
    ),
    Topic(
        "Other verbs of the command line", "UsageError", ("cli/", "sheets/", "parity/"),
        "An option is out of range, or a file cannot be written.",
        "Run the verb with `--help`.",
    ),
    Topic(
        "Generated images", "UsageError", ("demo_images/",),
        "The folder holds other images than were asked for, or cannot be written.",
        "Give a folder that does not exist.",
    ),
)  # fmt: skip


@cache
def of(module: str) -> Topic:
    """The topic of a module: the longest beginning that fits. Raises LookupError."""
    fits = [
        (len(start), topic)
        for topic in TOPICS
        for start in topic.modules
        if module.startswith(start)
    ]
    if not fits:
        raise LookupError(f"fastload/{module} has error texts; put it into a topic of this file")
    return max(fits, key=lambda one: one[0])[1]
