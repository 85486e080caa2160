"""Matrix products of the decoder's layers in float8, through torchao, on the GPUs that multiply in it."""

from __future__ import annotations

from engine.model.float8.available import float8_problem, require_float8
from engine.model.float8.convert import Float8Use, pays, use_float8

__all__ = ["Float8Use", "float8_problem", "pays", "require_float8", "use_float8"]
