"""Watches the GPUs and the machine under a run: `gpu` and `host` events once a second. Imports no torch."""

from engine.monitor.cards import CardMemory, card_memory, pids_are_the_hosts, read_card
from engine.monitor.devices import Watched, visible_card_names, watched_cards
from engine.monitor.host import HostReader, MachineMemory, machine_memory
from engine.monitor.nvml import Card, Nvml, NvmlError, open_nvml
from engine.monitor.sampler import Sampler

__all__ = [
    "Card",
    "CardMemory",
    "HostReader",
    "MachineMemory",
    "Nvml",
    "NvmlError",
    "Sampler",
    "Watched",
    "card_memory",
    "machine_memory",
    "open_nvml",
    "pids_are_the_hosts",
    "read_card",
    "visible_card_names",
    "watched_cards",
]
