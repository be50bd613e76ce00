"""`python -m ivicl`: the command line."""

from __future__ import annotations

from ivicl.cli import main

if __name__ == "__main__":
    main()
