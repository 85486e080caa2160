"""The rules that tie several keys together: what is refused, and what is only remarked on.

Each rule is one function over the whole config. A finding names in `key` the key it stands at, and the rule is left
out when one of the keys it looks at could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from engine.config.errors import Note, Problem
from engine.config.not_yet import find_not_available, value_of
from engine.config.rounding import check_updates
from engine.config.schema import DEFAULT_SPLIT, Config, Train
from engine.config.wording import short_number, yaml_text
from engine.datasets_named import KINDS_OF_DATA, has_data_suffix

# Sign steps are several times larger than AdamW's at the same rate; for fine-tuning 1e-5 to 3e-5 is usual with AdamW,
# so a Lion rate above that range was almost surely meant for AdamW.
LION_USUAL_LIMIT = 3e-5

TRAINING_DATA_KEYS = ("data.dataset", "data.dataset_split", "data.sources")
EVAL_DATA_KEYS = ("data.eval_dataset", "data.eval_split")


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and the keys that it looks at, the one it stands at first."""

    keys: tuple[str, ...]
    check: Callable[[Config], Problem | Note | None]


def check_config(config: Config, unreadable: Collection[str] = ()) -> tuple[list[Problem], list[Note]]:
    """Applies every rule; `unreadable` are keys that hold no real value because theirs was refused."""
    problems = [problem for problem in find_not_available(config) if problem.key not in unreadable]
    notes: list[Note] = []
    for rule in RULES:
        if not any(key in unreadable for key in rule.keys):
            finding = rule.check(config)
            if isinstance(finding, Problem):
                problems.append(finding)
            elif finding:
                notes.append(finding)
    if config.model.torch_dtype == "bfloat16" and not set(unreadable) & {"train.learning_rate", "train.weight_decay"}:
        notes += check_updates(config.train, "bfloat16")
    notes += (note for note in _settings_without_effect(config) if note.key not in unreadable)
    return problems, notes


def check_schedule(train: Train, total_steps: int) -> Problem | None:
    """Whether the warm-up ends within the run.

    To be called when the number of optimizer steps is known; a ratio always fits, a number of steps may not.
    """
    warmup = train.warmup_steps
    if warmup is None or warmup <= total_steps:
        return None
    share = total_steps / warmup
    reason = (
        f"the warm-up of {warmup} steps is longer than the run of {total_steps} optimizer steps: the highest rate"
        f" reached is {short_number(train.learning_rate * share)} ({share:.0%} of {short_number(train.learning_rate)})"
    )
    advice = f"set warmup_steps well below {total_steps}, or train.warmup_ratio: 0.03 instead"
    return Problem("train.warmup_steps", reason, found=str(warmup), allowed=f"at most {total_steps}", advice=advice)


def _dataset_is_required(config: Config) -> Problem | None:
    if config.data.dataset or config.data.sources:
        return None
    return Problem("data.dataset", "this key is required", allowed=f"{KINDS_OF_DATA}, or a list of such names")


def _one_way_to_name_the_data(config: Config) -> Problem | None:
    if not (config.data.dataset and config.data.sources):
        return None
    reason = "dataset and sources are both given, and they say the same thing in two ways"
    return Problem("data.sources", reason, advice="move what stands in dataset into sources, as items with a path")


def _files_have_no_splits(config: Config) -> Problem | None:
    """Only the names in a folder, or the hub, tell what belongs to a split."""
    data = config.data
    named = [("data.dataset_split", path, data.dataset_split) for path in data.dataset]
    named += [("data.sources", source.path, source.split) for source in data.sources]
    named = [(key, path, split) for key, path, split in named if split != DEFAULT_SPLIT]
    if isinstance(data.eval_split, str):
        paths = [*data.dataset, *(source.path for source in data.sources)]
        named += [("data.eval_split", path, data.eval_split) for path in paths]
    for key, path, split in named:
        if has_data_suffix(path):
            advice = "name the file of each split"
            if key == "data.eval_split":
                advice = "give a share of the rows such as 0.1, or name the file to evaluate on in data.eval_dataset"
            reason = f"{split} is the name of a split, but {path} is a single file and has none"
            return Problem(key, reason, found=split, allowed="the splits of a folder or of a hub name", advice=advice)
    return None


def _one_warmup(config: Config) -> Problem | None:
    train = config.train
    if train.warmup_steps is None or train.warmup_ratio is None:
        return None
    reason = (
        f"warmup_steps ({train.warmup_steps}) and warmup_ratio ({train.warmup_ratio:g}) are both given,"
        " and they say the same thing in two ways"
    )
    return Problem("train.warmup_steps", reason, advice="delete one of them, or set it to null")


def _rates_in_order(config: Config) -> Problem | None:
    train = config.train
    if train.min_learning_rate <= train.learning_rate:
        return None
    lowest, highest = short_number(train.min_learning_rate), short_number(train.learning_rate)
    reason = f"{lowest} is above learning_rate ({highest}), so the rate would rise instead of fall"
    return Problem("train.min_learning_rate", reason, found=lowest, allowed=f"at most {highest}")


def _one_source_of_eval_data(config: Config) -> Problem | None:
    data = config.data
    if data.eval_dataset is None or data.eval_split is None:
        return None
    reason = "eval_split and eval_dataset are both given, and only one can be evaluated on"
    return Problem("data.eval_split", reason, advice="delete one of them, or set it to null")


def _flash_attention_needs_bfloat16(config: Config) -> Problem | None:
    model = config.model
    if model.attn_implementation != "flash_attention_2" or model.torch_dtype != "float32":
        return None
    reason = "flash_attention_2 does not work with torch_dtype float32"
    return Problem(
        "model.attn_implementation", reason, advice="set torch_dtype: bfloat16, or attn_implementation: sdpa"
    )


def _offload_needs_recomputation(config: Config) -> Problem | None:
    if not config.memory.offload_activations or config.train.gradient_checkpointing != "none":
        return None
    reason = "it is the inputs of recomputed layers that go to main memory, and gradient_checkpointing is none"
    advice = "set train.gradient_checkpointing: full, mixers or selective, or memory.offload_activations: false"
    return Problem("memory.offload_activations", reason, found="true", allowed="false", advice=advice)


def _slices_need_recomputation(config: Config) -> Problem | None:
    slices = config.memory.layer_slices
    if slices == 1 or config.train.gradient_checkpointing != "none":
        return None
    reason = "it is recomputed layers that take a batch in slices, and gradient_checkpointing is none"
    advice = "set train.gradient_checkpointing: full, mixers or selective, or memory.layer_slices: 1"
    return Problem("memory.layer_slices", reason, found=str(slices), allowed="1", advice=advice)


def _slices_are_lines(config: Config) -> Problem | None:
    slices, lines = config.memory.layer_slices, config.train.per_device_batch_size
    if slices <= lines:
        return None
    reason = f"a slice is one line of a batch at least, and train.per_device_batch_size is {lines}"
    advice = f"set memory.layer_slices: {lines}, or a larger train.per_device_batch_size"
    return Problem("memory.layer_slices", reason, found=str(slices), allowed=f"at most {lines}", advice=advice)


def _float8_stands_in_for_bfloat16(config: Config) -> Problem | None:
    if not config.memory.float8_training or config.model.torch_dtype != "float32":
        return None
    reason = "float8 stands in for bfloat16 and does not work with model.torch_dtype float32"
    advice = "set model.torch_dtype: bfloat16, or memory.float8_training: false"
    return Problem("memory.float8_training", reason, found="true", allowed="false with float32 weights", advice=advice)


def _float8_pays_when_compiled(config: Config) -> Note | None:
    if not config.memory.float8_training or config.model.compile:
        return None
    text = (
        "true without model.compile: each cast to float8 is several passes over memory then, which costs more than the"
        " faster products save; advice: set model.compile: true, or memory.float8_training: false"
    )
    return Note("memory.float8_training", text)


def _release_knows_no_norm_to_clip_by(config: Config) -> Problem | None:
    limit = config.train.max_grad_norm
    if not config.memory.gradient_release or limit is None:
        return None
    reason = (
        "memory.gradient_release moves each weight inside the backward pass, and the norm over all gradients, by which"
        " they would be clipped, is known only after that"
    )
    advice = (
        "set max_grad_norm: null (spikes of the loss are caught before any weight moves, see train.spike_detection),"
        " or memory.gradient_release: false"
    )
    return Problem("train.max_grad_norm", reason, found=short_number(limit), allowed="null", advice=advice)


def _release_takes_one_pass_a_step(config: Config) -> Problem | None:
    passes = config.train.gradient_accumulation_steps
    if not config.memory.gradient_release or passes == 1:
        return None
    reason = (
        "memory.gradient_release frees each gradient in the pass that makes it, so the gradients of several passes"
        " cannot be added up"
    )
    advice = "set gradient_accumulation_steps: 1 and raise per_device_batch_size, or memory.gradient_release: false"
    return Problem("train.gradient_accumulation_steps", reason, found=str(passes), allowed="1", advice=advice)


def _tiles_move_at_once(config: Config) -> Problem | None:
    if not config.memory.tiled_head or config.memory.gradient_release:
        return None
    reason = "each tile of the head moves as soon as its gradient is there, and gradient_release is false"
    advice = "set memory.gradient_release: true, or memory.tiled_head: false"
    return Problem("memory.tiled_head", reason, found="true", allowed="false", advice=advice)


def _tiles_come_from_the_chunked_loss(config: Config) -> Problem | None:
    if not config.memory.tiled_head or config.memory.chunked_loss:
        return None
    reason = "the gradient of a tile is made from what the chunked loss keeps, and chunked_loss is false"
    advice = "set memory.chunked_loss: true, or memory.tiled_head: false"
    return Problem("memory.tiled_head", reason, found="true", allowed="false", advice=advice)


def _decay_off_the_sphere(config: Config) -> Note | None:
    train = config.train
    if not train.hyperball or train.weight_decay == 0:
        return None
    text = (
        f"{short_number(train.weight_decay)} has no effect on the matrices that hyperball keeps at their norm,"
        " only on the other weights that decay"
    )
    return Note("train.weight_decay", text)


def _schedule_fits(config: Config) -> Problem | None:
    train = config.train
    if train.lr_scheduler != "wsd" or train.warmup_ratio is None or train.warmup_ratio + train.wsd_decay_ratio <= 1:
        return None
    reason = f"warmup_ratio ({train.warmup_ratio:g}) and wsd_decay_ratio ({train.wsd_decay_ratio:g}) add up to over 1"
    key = "train.wsd_decay_ratio" if "wsd_decay_ratio" in train.model_fields_set else "train.warmup_ratio"
    return Problem(key, reason, allowed="at most 1 together")


def _warmup_fits_into_max_steps(config: Config) -> Problem | None:
    max_steps = config.train.max_steps
    return check_schedule(config.train, max_steps) if max_steps else None


def _lion_needs_a_smaller_rate(config: Config) -> Note | None:
    train = config.train
    if not train.optimizer.startswith("lion") or config.model.init == "random":
        return None
    if train.learning_rate <= LION_USUAL_LIMIT:
        return None
    text = (
        f"{train.optimizer} with a rate of {short_number(train.learning_rate)}: every step of lion has the full size of"
        " the rate, and a rate meant for AdamW makes the run explode after a good start; advice: divide an AdamW rate"
        " by 3 to 10 and raise weight_decay by the same factor"
    )
    return Note("train.learning_rate", text)


def _evaluates_on_training_data(config: Config) -> Note | None:
    data = config.data
    trained = {(path, data.dataset_split) for path in data.dataset}
    trained |= {(source.path, source.split) for source in data.sources}
    shared = {path for path, _ in trained if has_data_suffix(path)} & set(data.eval_dataset or ())
    if isinstance(data.eval_split, str):
        shared = {path for path, split in trained if split == data.eval_split}
    if not shared:
        return None
    key = "data.eval_split" if data.eval_dataset is None else "data.eval_dataset"
    return Note(key, f"the model is evaluated on data that it is trained on: {', '.join(sorted(shared))}")


def _code_of_the_model_runs(config: Config) -> Note | None:
    if not config.model.trust_remote_code:
        return None
    text = f"Python code that comes with {config.model.name_or_path} runs on this machine, with all that you may do"
    return Note("model.trust_remote_code", text)


RULES = (
    Rule(("data.dataset", "data.sources"), _dataset_is_required),
    Rule(("data.sources", "data.dataset"), _one_way_to_name_the_data),
    Rule(("data.eval_split", *TRAINING_DATA_KEYS), _files_have_no_splits),
    Rule(("train.warmup_steps", "train.warmup_ratio"), _one_warmup),
    Rule(("train.min_learning_rate", "train.learning_rate"), _rates_in_order),
    Rule(("data.eval_split", "data.eval_dataset"), _one_source_of_eval_data),
    Rule(("model.trust_remote_code", "model.name_or_path"), _code_of_the_model_runs),
    Rule(("model.attn_implementation", "model.torch_dtype"), _flash_attention_needs_bfloat16),
    Rule(("memory.offload_activations", "train.gradient_checkpointing"), _offload_needs_recomputation),
    Rule(("memory.layer_slices", "train.gradient_checkpointing"), _slices_need_recomputation),
    Rule(("memory.layer_slices", "train.per_device_batch_size"), _slices_are_lines),
    Rule(("memory.float8_training", "model.torch_dtype"), _float8_stands_in_for_bfloat16),
    Rule(("memory.float8_training", "model.compile"), _float8_pays_when_compiled),
    Rule(("train.max_grad_norm", "memory.gradient_release"), _release_knows_no_norm_to_clip_by),
    Rule(("train.gradient_accumulation_steps", "memory.gradient_release"), _release_takes_one_pass_a_step),
    Rule(("memory.tiled_head", "memory.gradient_release"), _tiles_move_at_once),
    Rule(("memory.tiled_head", "memory.chunked_loss"), _tiles_come_from_the_chunked_loss),
    Rule(("train.weight_decay", "train.hyperball"), _decay_off_the_sphere),
    Rule(("train.wsd_decay_ratio", "train.warmup_ratio", "train.lr_scheduler"), _schedule_fits),
    Rule(("train.warmup_steps", "train.max_steps", "train.learning_rate"), _warmup_fits_into_max_steps),
    Rule(("train.learning_rate", "train.optimizer", "model.init"), _lion_needs_a_smaller_rate),
    Rule((*EVAL_DATA_KEYS, *TRAINING_DATA_KEYS), _evaluates_on_training_data),
)


def _settings_without_effect(config: Config) -> Iterator[Note]:
    """A note for each key that was changed while another setting keeps it from mattering."""
    train, data, memory = config.train, config.data, config.memory
    no_eval_data = "neither data.eval_dataset nor data.eval_split is given"
    switched_off = (
        ("train.power_decay_gamma", train.lr_scheduler != "power_decay", f"lr_scheduler is {train.lr_scheduler}"),
        ("train.wsd_decay_ratio", train.lr_scheduler != "wsd", f"lr_scheduler is {train.lr_scheduler}"),
        ("train.min_learning_rate", train.lr_scheduler == "constant", "lr_scheduler is constant"),
        ("train.spike_z_threshold", not train.spike_detection, "spike_detection is false"),
        ("train.hyperball_lr", not train.hyperball, "hyperball is false"),
        ("train.epochs", train.max_steps is not None, f"max_steps is {train.max_steps} and decides"),
        ("memory.loss_chunk_tokens", not memory.chunked_loss, "chunked_loss is false"),
        ("memory.tiled_head", train.freeze_non_attention, "freeze_non_attention leaves the head as it is"),
        ("data.dataset_split", bool(data.sources), "each of data.sources has a split of its own"),
        ("data.eval_every", not data.has_eval_data, no_eval_data),
        ("data.eval_samples", not data.has_eval_data, no_eval_data),
    )
    for key, off, reason in switched_off:
        section, _, name = key.partition(".")
        default = type(getattr(config, section)).model_fields[name].default
        value = value_of(config, key)
        if off and value != default:
            yield Note(key, f"{yaml_text(value)} has no effect: {reason}")
