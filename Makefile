# Each target does all its own set-up: a virtual environment, the package, everything.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test proof fuzz mutants audit docs
demo: .venv/installed
	$(BIN)/python -m locater demo --out demo --force

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 --dist worksteal --durations=8

# The long proofs, of which `make test` runs a slice: minutes to hours.
proof: .venv/installed-dev
	$(BIN)/pytest -m proof

# Readers of files and texts against damaged ones, for as long as one likes: make fuzz SECONDS=600
SECONDS ?= 60
fuzz: .venv/installed-dev
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

# Bugs put in one at a time: each must make a test fail.
mutants: .venv/installed-dev
	$(BIN)/python -m tests.mutants --jobs 2

# Everything that is installed, looked up among known vulnerabilities; needs the network. Not in `.venv`: it needs much
# itself. The service is OSV because it fails when it cannot be reached: the other one skips, and finds nothing.
audit: .venv/installed-dev
	$(PYTHON) -m venv build/audit
	build/audit/bin/pip install --quiet pip-audit
	build/audit/bin/pip-audit --vulnerability-service osv --path "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')"

# The documentation site, every link and anchor in it checked: build/site/index.html.
docs: .venv/installed-docs
	$(BIN)/mkdocs build --strict

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[dev]"
	touch $@ .venv/installed

.venv/installed-docs: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@ .venv/installed
