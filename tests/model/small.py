"""Sizes of the small models that the tests of layers build: enough heads and widths to tell one from another."""

from typing import Any

WIDTHS: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
TWO_LAYERS: dict[str, Any] = {**WIDTHS, "num_hidden_layers": 2}
HYBRID: dict[str, Any] = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
ONE_VALUE_HEAD_A_KEY: dict[str, Any] = HYBRID | {"linear_num_value_heads": 2}
