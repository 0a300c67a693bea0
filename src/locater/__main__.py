"""`python -m locater` is the command `locater`."""

from locater.cli.app import main

main()
