"""The keys of a config: names, types, defaults, ranges and what each one does.

This module knows nothing of YAML or of files. A `Config` built here in Python obeys the types and the ranges; the rules
that tie several keys together live in `engine.config.checks`, and `engine.config.load_config` applies everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

LARGEST_SEED = 2**32 - 1
LARGEST_WEIGHT = 1000
DEFAULT_SPLIT = "train"
DEFAULT_WARMUP_RATIO = 0.03
DEFAULT_BETAS: dict[str, tuple[float, float]] = {
    "adamw": (0.9, 0.95),
    "adamw8bit": (0.9, 0.95),
    "lion": (0.9, 0.99),
    "lion8bit": (0.9, 0.99),
}


def _as_tuple(value: object) -> object:
    """One text is a list of one; a list becomes a tuple, so that a config stays immutable."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _infinity_as_none(value: object) -> object:
    """A clipping limit of infinity is the same as none, and null is the one way to write it."""
    return None if value == float("inf") else value


INFINITY_IS_NONE = BeforeValidator(_infinity_as_none)
Betas = Annotated[
    tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]], BeforeValidator(_as_tuple)
]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]
PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class Section(BaseModel):
    """A group of keys: immutable, no unknown keys, no silent conversions between types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Model(Section):
    """Which model is trained and how it is loaded."""

    name_or_path: Text = Field(
        description="A name on the Hugging Face hub, or a local folder (relative to the config file)."
    )
    torch_dtype: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="Type of the weights; auto is bfloat16 on a GPU and float32 on the CPU."
    )
    attn_implementation: Literal["auto", "eager", "sdpa", "flash_attention_2"] = Field(
        default="auto",
        description="Which attention code runs; auto takes the quickest that the model and the device allow.",
    )
    compile: bool = Field(
        default=False,
        description="Compile each kind of decoder layer with torch.compile: quicker steps, after a start of seconds to"
        " minutes; needs Triton on a GPU and a C++ compiler on the CPU.",
    )
    trust_remote_code: bool = Field(default=False, description="Run Python code that comes with the model's files.")
    init: Literal["pretrained", "random"] = Field(
        default="pretrained", description="Start from the stored weights, or from random ones of the same shape."
    )


class Source(Section):
    """One of several data sets to train on."""

    path: Text = Field(
        description="A file, a folder of files (relative to the config file), or a hub name: owner/name."
    )
    split: Text = Field(default=DEFAULT_SPLIT, description="Name of the split, of a folder or a hub name.")
    weight: Annotated[float, Field(gt=0, le=LARGEST_WEIGHT)] = Field(
        default=1.0, description="How often an epoch draws its rows: 1 is each once, 2 each twice, 0.5 half of them."
    )


class Data(Section):
    """What is trained on and how a chat becomes tokens."""

    dataset: Texts = Field(
        default=(),
        description="One data set or a list of them: a JSONL, JSON or parquet file, a folder of such files (relative to"
        " the config file), or a hub name: owner/name, owner/name:subset.",
    )
    dataset_split: Text = Field(
        default=DEFAULT_SPLIT, description="Name of the split to train on, for a folder or a hub name."
    )
    messages_field: Text = Field(default="messages", description="The field of a row that holds its list of messages.")
    max_seq_length: Annotated[int, Field(ge=2)] = Field(
        default=2048, description="Longest sample in tokens; what lies behind is cut off."
    )
    packing: bool = Field(
        default=False,
        description="Fill lines of max_seq_length tokens with several chats that do not see each other; a batch then"
        " counts lines.",
    )
    num_workers: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Steps whose batches a thread prepares ahead while the model trains; 0 prepares each step's when it"
        " is due, which takes a few milliseconds.",
    )
    eval_dataset: Texts | None = Field(
        default=None,
        description="Data sets to evaluate on, named as in dataset; of a folder or a hub name it takes the split"
        " validation, or else test, or else what is there.",
    )
    eval_split: Share | Text | None = Field(
        default=None,
        description="A share of the training rows to hold out for evaluation, or the name of a split of the same data.",
    )
    eval_samples: PositiveInt | None = Field(
        default=None, description="Evaluate on this many samples at most; null is all."
    )
    eval_every: PositiveInt | None = Field(
        default=None, description="Evaluate after each so many steps; null is at the end only."
    )
    seed: Seed = Field(default=0, description="Decides the order of the rows and which of them are held out.")
    on_bad_row: Literal["stop", "skip"] = Field(
        default="stop", description="What to do with a row that cannot be read or is not a chat."
    )
    sources: Annotated[tuple[Source, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), description="Several data sets with splits and weights of their own, in place of dataset."
    )
    train_on_reasoning: bool = Field(default=True, description="Put loss on the reasoning part of an answer.")
    train_on_template_text: bool = Field(
        default=False, description="Put loss on text which the chat template itself adds to an answer."
    )
    last_turn_only: bool = Field(default=False, description="Put loss on the last answer of a chat alone.")

    @property
    def has_eval_data(self) -> bool:
        """Whether there is anything to evaluate on."""
        return self.eval_dataset is not None or self.eval_split is not None


class Train(Section):
    """How the weights are moved."""

    output_dir: Text = Field(
        default="runs", description="Folder that takes the folders of the runs (relative to the working directory)."
    )
    private: bool = Field(
        default=True,
        description="Keep the run's folder and all files in it to its owner; false leaves that to the umask.",
    )
    epochs: PositiveFloat = Field(
        default=1.0, description="Passes over the data, parts of one too; max_steps, when given, decides instead."
    )
    max_steps: PositiveInt | None = Field(
        default=None, description="Number of optimizer steps; null lets epochs decide."
    )
    per_device_batch_size: PositiveInt = Field(
        default=1, description="Samples in one forward and backward pass on each device."
    )
    gradient_accumulation_steps: PositiveInt = Field(
        default=1, description="Passes whose gradients are added up for one optimizer step."
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1e-5, description="Highest learning rate, reached at the end of the warm-up."
    )
    min_learning_rate: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Learning rate at the end of the schedule."
    )
    betas: Betas | None = Field(
        default=None,
        description="The optimizer's two decay rates; null is its own default: 0.9, 0.95 (AdamW), 0.9, 0.99 (Lion).",
    )
    weight_decay: Annotated[float, Field(ge=0, le=1)] = Field(default=0.0, description="Decoupled weight decay.")
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Warm-up as a share of all steps; 0.03 when neither this nor warmup_steps is given."
    )
    warmup_steps: Annotated[int, Field(ge=0)] | None = Field(default=None, description="Warm-up in steps; 0 is none.")
    lr_scheduler: Literal["cosine", "constant", "linear", "wsd", "power_decay"] = Field(
        default="cosine", description="Course of the learning rate after the warm-up."
    )
    power_decay_gamma: PositiveFloat = Field(default=4.0, description="Exponent of the power_decay schedule.")
    wsd_decay_ratio: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.2, description="Share of all steps, at the end, in which the wsd schedule goes down."
    )
    optimizer: Literal["adamw", "adamw8bit", "lion", "lion8bit"] = Field(
        default="adamw8bit", description="The optimizer; those with 8bit keep their state in 8 bits."
    )
    max_grad_norm: Annotated[PositiveFloat | None, INFINITY_IS_NONE] = Field(
        default=1.0,
        description="Gradients with a larger norm are scaled down to it; null is no clipping, and the default with"
        " memory.gradient_release.",
    )
    spike_detection: bool = Field(
        default=True,
        description="Skip the step when the loss, its gradient at the last hidden state or, with clipping, the norm of"
        " all gradients jumps far out of its usual range.",
    )
    spike_z_threshold: PositiveFloat = Field(
        default=6.0, description="How many standard deviations out count as a spike."
    )
    max_skipped_in_a_row: PositiveInt = Field(
        default=20, description="The run stops as failed after this many skipped steps in a row."
    )
    gradient_checkpointing: Literal["none", "selective", "mixers", "full"] = Field(
        default="none", description="Recompute activations in the backward pass to save memory."
    )
    freeze_non_attention: bool = Field(
        default=False, description="Train the attention and linear-attention layers alone."
    )
    stochastic_rounding: bool = Field(
        default=True,
        description="Round bfloat16 weights at random, so that small updates count on average; float32 needs none.",
    )
    hyperball: bool = Field(default=False, description="Keep each weight matrix on a sphere of its starting norm.")
    hyperball_lr: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0,
        description="Highest angle of a step on the sphere, in radians; 0 lets each matrix begin with a step of the"
        " size that the optimizer takes without the sphere.",
    )
    save_steps: PositiveInt | None = Field(
        default=None, description="Save a checkpoint after each so many steps; null is at the end and on a stop only."
    )
    keep_checkpoints: PositiveInt = Field(
        default=2, description="How many of the newest checkpoints are kept; the best one stays besides."
    )
    logging_steps: PositiveInt = Field(
        default=10, description="Print a console line after each so many steps; the events hold every step."
    )
    resume_from: Text | None = Field(
        default=None,
        description="auto continues the newest unfinished run of this config; a path starts a new run from it.",
    )
    seed: Seed = Field(default=0, description="Seed of everything random in training but the order of the data.")

    @model_validator(mode="before")
    @classmethod
    def _write_out_the_warmup(cls, values: Any) -> Any:
        """Without any warm-up key the ratio is the default one, so that a written config shows it."""
        if not isinstance(values, dict):
            return values
        if values.get("warmup_ratio") is None and values.get("warmup_steps") is None:
            return values | {"warmup_ratio": DEFAULT_WARMUP_RATIO}
        return values

    @property
    def effective_betas(self) -> tuple[float, float]:
        """The two decay rates in use: those given, or the optimizer's own default."""
        return self.betas or DEFAULT_BETAS[self.optimizer]


class Memory(Section):
    """What is traded for memory."""

    gradient_release: bool = Field(
        default=False, description="Update each weight as soon as its gradient is there, then free the gradient."
    )
    chunked_loss: bool = Field(
        default=True, description="Compute the loss in chunks of tokens, so that the full logits never exist."
    )
    loss_chunk_tokens: PositiveInt = Field(default=512, description="Tokens in one chunk of the loss.")
    tiled_head: bool = Field(
        default=False,
        description="Make the gradient of the output head in tiles of the vocabulary, each of which moves its weights"
        " at once; needs gradient_release and chunked_loss.",
    )
    float8_training: bool = Field(
        default=False,
        description="Multiply the layers' large matrices in float8 while training, with torchao, on GPUs of compute"
        " capability 8.9 and newer; weights stay bfloat16. Pays with model.compile alone.",
    )
    offload_activations: bool = Field(
        default=False,
        description="Keep the inputs of the layers in main memory between forward and backward pass; needs"
        " train.gradient_checkpointing: full, mixers or selective.",
    )
    layer_slices: PositiveInt = Field(
        default=1,
        description="Slices of the batch that a recomputed layer takes one after another, at most"
        " train.per_device_batch_size; needs recomputed layers.",
    )


class Parallel(Section):
    """How the work is spread over several GPUs."""

    fsdp: bool = Field(default=False, description="Shard weights, gradients and optimizer state over the GPUs.")


class Logging(Section):
    """Where metrics go besides the run's own folder."""

    trackers: Texts = Field(default=(), description="Texts of experiment trackers.")


class Config(Section):
    """A whole config."""

    model: Model = Field(description="Which model is trained and how it is loaded.")
    data: Data = Field(default=Data(), description="What is trained on and how a chat becomes tokens.")
    train: Train = Field(default=Train(), description="How the weights are moved.")
    memory: Memory = Field(default=Memory(), description="What is traded for memory.")
    parallel: Parallel = Field(default=Parallel(), description="How the work is spread over several GPUs.")
    logging: Logging = Field(default=Logging(), description="Where metrics go besides the run's own folder.")

    @model_validator(mode="after")
    def _no_clipping_under_release(self) -> Config:
        """The default limit belongs to runs that know the norm before they move; one that was given is judged later."""
        if self.memory.gradient_release and "max_grad_norm" not in self.train.model_fields_set:
            object.__setattr__(self, "train", self.train.model_copy(update={"max_grad_norm": None}))
        return self


SECTIONS: dict[str, type[Section]] = {
    "model": Model,
    "data": Data,
    "train": Train,
    "memory": Memory,
    "parallel": Parallel,
    "logging": Logging,
}
