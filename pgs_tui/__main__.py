"""`python -m pgs_tui` is `pgs-tui`."""

import sys

from pgs_tui.cli import main

sys.exit(main())
