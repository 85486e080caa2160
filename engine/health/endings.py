"""How a run ends, or a save of it: alerts with a meaning of their own, whose remedies stand here."""

from __future__ import annotations

from engine.health.memory_remedies import LESS_MEMORY
from engine.health.remedies import GO_ON, TENTH_OF_THE_RATE
from engine.health.symptom import Facts, NewValue, Remedy, Settings, Symptom, Unchanged, following, times, to


def _other_attention(key: str, settings: Settings, facts: Facts) -> NewValue:
    return Unchanged.LEFT_OUT if settings.get(key) == "sdpa" else "sdpa"


FEWER_FILES = Remedy("train.keep_checkpoints", to(1), "older checkpoints are deleted as soon as a new one stands")
SAVES_LESS_OFTEN = Remedy("train.save_steps", times(2.0), "saves half as often")

SYMPTOMS = {
    "OUT_OF_MEMORY": Symptom(
        "critical", "the GPU, or the machine, has no memory left for this step: {reason}", LESS_MEMORY
    ),
    "DISK_FULL": Symptom(
        "critical",
        "there is no space for a checkpoint or a file of the run: {reason}",
        (FEWER_FILES, SAVES_LESS_OFTEN, GO_ON),
        beyond="free space on the disk that holds train.output_dir",
    ),
    "LOG_DISK_FULL": Symptom(
        "warning",
        "the disk was full and events of the run could not be written: {reason}",
        (FEWER_FILES, SAVES_LESS_OFTEN, GO_ON),
        beyond="free space on the disk that holds train.output_dir; the training itself goes on",
    ),
    "SAVE_FAILED": Symptom(
        "critical",
        "a checkpoint could not be written: {reason}",
        (GO_ON, SAVES_LESS_OFTEN),
        beyond="look at the disk that holds train.output_dir; the run tries again at the next save",
    ),
    "BEST_NOT_MARKED": Symptom(
        "critical",
        "the best checkpoint stands, but the link to it could not be made: {reason}",
        (),
        beyond="look at the disk that holds train.output_dir",
    ),
    "WEIGHTS_NOT_FINITE": Symptom(
        "critical",
        "the weights hold NaN or infinity and are not saved: {reason}",
        (TENTH_OF_THE_RATE, GO_ON),
    ),
    "KERNEL_REFUSED": Symptom(
        "critical",
        "a library's kernels do not run on this machine: {reason}",
        (
            Remedy("model.attn_implementation", _other_attention, "attention by torch's own kernels"),
            Remedy(
                "train.optimizer",
                following({"adamw8bit": "adamw", "lion8bit": "lion"}),
                "without the kernels of bitsandbytes, at the price of a larger optimizer state",
            ),
            Remedy("model.compile", to(False), "without the compiler's kernels, at the price of slower steps"),
        ),
        beyond="`pgs doctor` tries each kind of kernel on this machine",
    ),
    "UNEXPECTED_ERROR": Symptom(
        "critical",
        "the run ended with an error that nothing here explains: {reason}",
        (GO_ON,),
        beyond="the traceback stands in the run's console.log",
    ),
    "RUN_FAILED": Symptom("critical", "the run could not go on, and says why: {reason}", (GO_ON,)),
    "RUN_LOCKED": Symptom(
        "critical",
        "another engine is at work in the run's folder, and this one has not begun: {reason}",
        (),
        beyond="wait until it has ended, or stop it; `pgs monitor RUN` says how it stands",
    ),
    "BAD_CONFIG": Symptom(
        "critical",
        "the config was refused: {reason}",
        (),
        beyond="`pgs validate --config CONFIG` names the line and what is allowed there",
    ),
}
