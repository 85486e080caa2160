"""Finds the key or the word that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from engine.config.kinds import kinds
from engine.config.schema import SECTIONS

_SAME_SECTION_LIKENESS = 0.6
_OTHER_SECTION_LIKENESS = 0.75
_SECTION_LIKENESS = 0.7

# What other training tools call the same thing.
KEYS_ELSEWHERE = {
    "lr": "train.learning_rate",
    "min_lr": "train.min_learning_rate",
    "lr_scheduler_type": "train.lr_scheduler",
    "scheduler": "train.lr_scheduler",
    "batch_size": "train.per_device_batch_size",
    "micro_batch_size": "train.per_device_batch_size",
    "per_device_train_batch_size": "train.per_device_batch_size",
    "grad_accum": "train.gradient_accumulation_steps",
    "gradient_accumulation": "train.gradient_accumulation_steps",
    "num_epochs": "train.epochs",
    "num_train_epochs": "train.epochs",
    "steps": "train.max_steps",
    "warmup": "train.warmup_steps",
    "optim": "train.optimizer",
    "clip_grad_norm": "train.max_grad_norm",
    "gradient_clipping": "train.max_grad_norm",
    "grad_clip": "train.max_grad_norm",
    "eval_steps": "data.eval_every",
    "val_split": "data.eval_split",
    "val_set_size": "data.eval_split",
    "datasets": "data.dataset",
    "train_dataset": "data.dataset",
    "max_length": "data.max_seq_length",
    "max_seq_len": "data.max_seq_length",
    "seq_len": "data.max_seq_length",
    "sequence_len": "data.max_seq_length",
    "base_model": "model.name_or_path",
    "model_name_or_path": "model.name_or_path",
    "dtype": "model.torch_dtype",
    "report_to": "logging.trackers",
    "save_total_limit": "train.keep_checkpoints",
    "resume_from_checkpoint": "train.resume_from",
}


def nearest_key(path: str) -> str | None:
    """The valid key (or section) closest to an unknown one, as a full path."""
    section, _, name = path.rpartition(".")
    name = name.lower().replace("-", "_")
    section = section.lower()
    same_section = {key.partition(".")[2]: key for key in kinds() if key.startswith(f"{section}.")}
    everywhere = {key.partition(".")[2]: key for key in kinds()}
    for exact in (same_section, KEYS_ELSEWHERE, everywhere):
        if name in exact:
            return exact[name]
    if not section and (close := nearest_word(name, SECTIONS, _SECTION_LIKENESS)):
        return close
    if section and section not in SECTIONS and (close := nearest_word(section, SECTIONS, _SECTION_LIKENESS)):
        return nearest_key(f"{close}.{name}")
    if close := nearest_word(name, same_section):
        return same_section[close]
    close = nearest_word(name, everywhere, _OTHER_SECTION_LIKENESS)
    return everywhere[close] if close else None


def nearest_word(word: str, words: Iterable[str], likeness: float = _SAME_SECTION_LIKENESS) -> str | None:
    """The closest of the words, or None when none is close."""
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=likeness)
    return close[0] if close else None
