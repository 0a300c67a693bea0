"""The human check of a built set: a web page on this machine, where people accept and reject its pairs."""
