"""The bytes that a token stands for; see `engine.data.rendering.token_bytes`."""

from engine.data.rendering.token_bytes import TokenBytes

__all__ = ["TokenBytes"]
