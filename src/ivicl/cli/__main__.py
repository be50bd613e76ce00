"""`python -m ivicl.cli`, for torchrun."""

from ivicl.cli import main

if __name__ == "__main__":
    main()
