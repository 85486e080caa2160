"""`python -m engine` is the command `pgs`."""

from engine.cli import main

raise SystemExit(main())
