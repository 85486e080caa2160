"""Loads the model as the config says, and explains what stands in the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from engine.config.schema import Model as ModelConfig
from engine.errors import UserError
from engine.model.decoder import decoder_of
from engine.model.explain import explained
from engine.model.quiet import quiet_import
from engine.model.trainable import refuse_encoder, refuse_quantized

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_SPARE_POSITIONS = 2
"""Rows that some tables of positions (OPT's) have before the first one."""


def pick_device() -> torch.device:
    """The first GPU that is visible to this process, else the CPU."""
    return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def weights_dtype(config: ModelConfig, device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 on a GPU and float32 on the CPU."""
    if config.torch_dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[config.torch_dtype]


def load_model(folder: Path, config: ModelConfig, device: torch.device) -> PreTrainedModel:
    """The causal language model in training mode on `device`, its weights in `weights_dtype`.

    With `init: random` the weights are drawn from the global generator. Raises UserError.
    """
    with quiet_import():
        import transformers.modeling_utils  # noqa: F401
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    if device.type == "cpu":
        logging.set_verbosity_error()  # it would advise kernels that only a GPU can run
    options: dict[str, Any] = {
        "dtype": weights_dtype(config, device),
        "trust_remote_code": config.trust_remote_code,
    }
    if config.attn_implementation != "auto":
        options["attn_implementation"] = config.attn_implementation
    lacking = None
    with explained(folder, config, "model"):
        shape = AutoConfig.from_pretrained(folder, trust_remote_code=config.trust_remote_code)
    refuse_quantized(shape, config.name_or_path)
    with explained(folder, config, "model"):
        if config.init == "random":
            with torch.device(device):
                model: PreTrainedModel = AutoModelForCausalLM.from_config(shape, **options)
        else:
            model, found = AutoModelForCausalLM.from_pretrained(
                folder,
                local_files_only=True,
                device_map={"": device},
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **options,
            )
            lacking = _lacking(found)
    if lacking is not None:
        raise UserError(f"model.name_or_path: the weights in {folder} do not fit its config.json: {lacking}.")
    refuse_encoder(model, config.name_or_path)
    model.to(device)
    model.train()
    return model


def check_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise UserError when the tokenizer can produce ids that the model has no embedding for."""
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise UserError(
            f"model.name_or_path: the tokenizer has {len(tokenizer):,} tokens but the model only {rows:,} embeddings; "
            "they do not belong together."
        )


def check_positions(model: PreTrainedModel, longest: int) -> None:
    """Raise UserError when lines of `longest` tokens have more positions than the model has a table of.

    Positions that are computed (rotary ones) have no end; looked up, the first one too many is an error on the device.
    """
    known = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if not isinstance(known, int) or longest <= known:
        return
    words = model.get_input_embeddings()
    tables = [module for module in decoder_of(model).modules() if isinstance(module, nn.Embedding)]
    if any(table is not words and known <= table.num_embeddings <= known + _SPARE_POSITIONS for table in tables):
        raise UserError(
            f"data.max_seq_length: {type(model).__name__} knows {known:,} positions, and a line of this run has "
            f"{longest:,} tokens; set data.max_seq_length: {known}."
        )


def _lacking(found: dict[str, Any]) -> str | None:
    """Why the weights are not all of the model's; the library would draw the rest at random. None when they are."""
    missing, mismatched = sorted(found["missing_keys"]), sorted(found["mismatched_keys"])
    if missing:
        return f"{len(missing):,} of the model's tensors are not there, the first: {missing[0]}"
    if mismatched:
        name, stored, wanted = mismatched[0]
        shapes = f"{name} is {list(stored)} instead of {list(wanted)}"
        return f"{len(mismatched):,} tensors have another shape, the first: {shapes}"
    return None
