"""What a run finds before its first step: alerts with a meaning of their own, whose remedies stand here."""

from __future__ import annotations

from engine.health.symptom import Remedy, Symptom, times, to

SYMPTOMS = {
    "PACKING_OFF": Symptom(
        "warning",
        "data.packing is asked for but off, since this model would not keep the chats of a pack apart",
        (
            Remedy("data.packing", to(False), "says what happens anyway, and the run is silent about it"),
            Remedy("train.per_device_batch_size", times(2.0), "more chats in a step, as packs would have held"),
        ),
    ),
    "NO_GRADIENT": Symptom(
        "warning",
        "weights that are to be trained get no gradient, or one of zero, on the longest batch",
        (
            Remedy("train.freeze_non_attention", to(False), "trains all weights"),
            Remedy("train.gradient_checkpointing", to("none"), "keeps all activations, at the price of memory"),
        ),
        beyond="`pgs inspect --config CONFIG` shows the rows of that batch and what of them has loss",
    ),
    "GPU_NOT_USED": Symptom(
        "warning",
        "the training runs on the CPU although this machine has a GPU",
        (),
        beyond="install a build of torch for this GPU's driver; `pgs doctor` says what torch sees",
    ),
}
