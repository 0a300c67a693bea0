"""`python -m locater` is the command `locater`."""

from locater.cli.process.start import main

main()
