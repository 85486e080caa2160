"""Cross-entropy of a language-model head without its full logits.

`chunked.py` is what callers use. `passes.py` has the two passes over a head: over chunks of tokens (losses, gradient of
the hidden states) and over tiles of the vocabulary (gradient of the weight). Softmax and its gradient are one kernel on
an NVIDIA GPU (`softmax_kernel.py`), torch elsewhere (`softmax_torch.py`).
"""

from engine.loss.chunked import chunked_cross_entropy, cross_entropy_and_tokens, token_losses
from engine.loss.passes import HeadTokens, tiles_of

__all__ = ["HeadTokens", "chunked_cross_entropy", "cross_entropy_and_tokens", "tiles_of", "token_losses"]
