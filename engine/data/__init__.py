"""Chats to samples: sources, conversations, rendered text, tokens with a loss mask, and the order of training.

`collate` lives in `engine.data.batches`, the only file here that imports torch.
"""

from engine.data.errors import BadRow, DataError
from engine.data.flags import AuditFlag, Severity
from engine.data.prepare import prepare
from engine.data.sampler import EpochSampler
from engine.data.samples import Place, PreparedData, Report, Sample

__all__ = [
    "AuditFlag",
    "BadRow",
    "DataError",
    "EpochSampler",
    "Place",
    "PreparedData",
    "Report",
    "Sample",
    "Severity",
    "prepare",
]
