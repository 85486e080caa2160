"""A layer that takes the lines of a batch in slices (`engine.model.slices`), from what it holds of one slice."""

from __future__ import annotations

from engine.memory.estimate.layers.sizes import Held, HoldsByBatch
from engine.model.slices.forward import even_sizes


def held_in_slices(sizes: HoldsByBatch, lines: int, length: int, slices: int) -> Held:
    """What a layer holds with a batch [lines, length] in so many slices.

    Slices go forward one after another and back in reverse. The outputs of all are put together, and so are the
    gradients of their inputs; the gradients of weights of the slices before wait beside those of the one that runs.
    """
    if (slices := min(slices, lines)) == 1:
        return sizes.held(lines, length)
    parts = [(sizes.held(size, length), sizes.input_bytes(size, length)) for size in even_sizes(lines, slices)]
    whole = sizes.input_bytes(lines, length)
    kept = done = forward = 0
    for held, of_input in parts:
        forward = max(forward, kept + done + held.forward)
        kept, done = kept + held.kept, done + of_input
    gradients = parts[0][0].gradients
    behind = backward = 0
    for number, (held, of_input) in enumerate(reversed(parts)):
        waiting = gradients if number else 0
        backward = max(backward, whole - of_input + waiting + behind + held.backward)
        behind += of_input
    together = 2 * whole
    return Held(kept, max(forward, kept + together), max(backward, together + gradients), gradients)
