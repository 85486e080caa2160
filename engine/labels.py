"""The label of a token without loss; it stands apart since data must not import torch."""

IGNORED_LABEL = -100
"""As in `torch.nn.functional.cross_entropy`."""
