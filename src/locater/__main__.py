"""`python -m locater` is the command `locater`."""

from locater.cli import main

main()
