"""The bytes of one decoder layer of each kind, from its graph: a layer runs forward and backward on the meta device,
with the engine's operators, frozen weights and recomputation in it, and everything it holds is counted.

`kinds` takes one layer of each kind out of a model, `recipe` makes it ready as a run would, `trace` runs it and `tape`
records that (`outputs` remembers what operators return); `imagined`, `attention` and `product` are what only a GPU's
kernels would do. `lives` says what is there together, eager or compiled, `sizes` how that grows with the batch, and
`slices` what comes of taking it in slices.
"""

from __future__ import annotations

from engine.memory.estimate.layers.layer_bytes import LayerBytes, layer_bytes, layers_by_kind, traced_beforehand

__all__ = ["LayerBytes", "layer_bytes", "layers_by_kind", "traced_beforehand"]
