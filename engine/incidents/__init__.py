"""What the alerts of a run, and the audit of its data, come to: its incidents. Standard library only."""

from engine.incidents.fold import MOST, Change, Incidents
from engine.incidents.incident import Incident, Touch

__all__ = ["MOST", "Change", "Incident", "Incidents", "Touch"]
