"""TRL's SFTTrainer on the rows and the shape of `train_4b.py`: its speed and memory, as one line of JSON.

    PYTHONPATH=. python tests/bench/trl_sft.py --rows 2 --length 2048 [--optim lion_8bit] [--checkpointing full]
        [--liger] [--compile] [--shape tiny]

All weights in bfloat16, rows of full length that are tokenized already, no packing, no evaluation, nothing saved or
reported, no clipping. The loss is TRL's own in tiles, its default from 1.16 on. The trainer is not made to wait for the
device between steps; only the window of the settled steps begins and ends with a wait.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from engine.units import GIB
from tests.bench.training.runner import WARM, WARM_UP
from tests.bench.training.workload import QWEN3_5_4B, SHAPES, token_rows, write_model

CHECKPOINTING: dict[str, dict[str, Any]] = {
    "none": {"gradient_checkpointing": False},
    "full": {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
    "selective": {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"selective": True}},
}


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(options, Path(folder))), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default=QWEN3_5_4B)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--optim", default="lion_8bit")
    parser.add_argument("--checkpointing", choices=CHECKPOINTING, default="full")
    parser.add_argument("--liger", action="store_true", help="Liger's kernels for norms and the MLP")
    parser.add_argument("--compile", action="store_true", help="torch_compile")
    parser.add_argument("--wait-for", type=Path, metavar="FILE", help="after the warm-up wait until it is there")
    return parser.parse_args()


class Watch(TrainerCallback):  # type: ignore[misc]
    """Notes the moments at which steps end; waits for the device only around the settled ones."""

    def __init__(self, wait_for: Path | None) -> None:
        self.ends: list[float] = []
        self._wait_for = wait_for

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        if state.global_step in (WARM_UP, state.max_steps):
            synchronize()
        if state.global_step == WARM_UP and self._wait_for is not None:
            print(WARM, flush=True)
            while not self._wait_for.exists():
                time.sleep(0.05)
        self.ends.append(time.perf_counter())
        return control


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train for so many steps; the figures in the words of `figures.py`."""
    watch = Watch(options.wait_for)
    trainer = make_trainer(options, folder, watch)
    result = trainer.train()
    settled = watch.ends[WARM_UP - 1 :]
    lengths = [after - before for before, after in itertools.pairwise(settled)]
    tokens = options.rows * options.length
    on_gpu = torch.cuda.is_available()
    return {
        "optim": options.optim,
        "checkpointing": options.checkpointing,
        "liger": options.liger,
        "compile": options.compile,
        "rows": options.rows,
        "length": options.length,
        "steps": len(watch.ends),
        "settled_steps": len(lengths),
        "tok_s": tokens / statistics.median(lengths),
        "tok_s_over_all": tokens * len(lengths) / (settled[-1] - settled[0]),
        "dt": statistics.median(lengths),
        "dt_range": [min(lengths), max(lengths)],
        "peak": torch.cuda.max_memory_allocated() / GIB if on_gpu else None,
        "reserved": torch.cuda.max_memory_reserved() / GIB if on_gpu else None,
        "loss": result.training_loss,
        "trained": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
    }


def make_trainer(options: argparse.Namespace, folder: Path, watch: Watch) -> SFTTrainer:
    model_folder = write_model(folder, options.shape)
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model_folder), dtype=torch.bfloat16)
    rows = list(token_rows(options.rows, options.length))
    config = SFTConfig(
        output_dir=str(folder / "out"),
        max_steps=options.steps,
        per_device_train_batch_size=options.rows,
        max_length=options.length,
        dataset_kwargs={"skip_prepare_dataset": True},
        optim=options.optim,
        learning_rate=3e-6,
        lr_scheduler_type="constant",
        max_grad_norm=0.0,
        bf16=True,
        use_cpu=not torch.cuda.is_available(),
        use_liger_kernel=options.liger,
        torch_compile=options.compile,
        packing=False,
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
        seed=0,
        **CHECKPOINTING[options.checkpointing],
    )
    return SFTTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows}),
        processing_class=AutoTokenizer.from_pretrained(model_folder),
        callbacks=[watch],
    )


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
