"""Chats to samples: sources, conversations, rendered text, tokens with a loss mask, and the order of training.

`collate` lives in `engine.data.feeding.batches`, the only file here that imports torch.
"""

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.places import Place
from engine.data.audit.report import Report
from engine.data.errors import BadRow, DataError
from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.samples import Sample
from engine.data.prepare import PreparedData, prepare

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
