"""Several documents in one line of tokens, and a model that keeps them apart: in attention and in recurrent layers."""
