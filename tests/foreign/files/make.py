"""How the files in this folder were made, with tensorboard 2.21, torch 2.13 and transformers 5.24: `python make.py`.

`trainer` is what Hugging Face's Trainer left of 50 steps of a tiny model: its state, that of one checkpoint, what it
printed (stdout and stderr, with progress bars), and the event files of its TensorBoard callback. `tensorboard` has
values as tensors, as newer writers make them, and a text beside them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def train() -> None:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=1, n_head=2))
    rows = [torch.randint(0, 64, (16,)) for _ in range(200)]
    data = [{"input_ids": row, "labels": row} for row in rows]
    arguments = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        num_train_epochs=1,
        logging_steps=2,
        eval_strategy="steps",
        eval_steps=10,
        save_steps=20,
        report_to=["tensorboard"],
        use_cpu=True,
        learning_rate=1e-2,
        include_num_input_tokens_seen="all",
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:20])
    trainer.train()
    trainer.evaluate()
    trainer.save_state()


def write_tensors(folder: Path) -> None:
    import numpy as np
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util.tensor_util import make_tensor_proto

    shutil.rmtree(folder, ignore_errors=True)
    writer = EventFileWriter(str(folder))
    for step in range(1, 21):
        values = {"train/loss": np.float32(3 - step / 10), "lr": np.float64(1e-4), "global_step": np.int64(step)}
        for tag, value in values.items():
            summary = Summary(value=[Summary.Value(tag=tag, tensor=make_tensor_proto(value))])
            writer.add_event(Event(wall_time=1_700_000_000.0 + step, step=step, summary=summary))
        notes = Summary(value=[Summary.Value(tag="notes", tensor=make_tensor_proto([b"a", b"b"]))])
        writer.add_event(Event(wall_time=1_700_000_000.0 + step, step=step, summary=notes))
    writer.close()


if __name__ == "__main__":
    train() if "train" in sys.argv else write_tensors(HERE / "tensorboard")
