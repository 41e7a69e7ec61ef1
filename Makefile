# Everything a developer needs: `make help` lists it. Needs Python 3.11 or newer, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements-dev.lock
# What running needs, without what developing needs.
READY := $(VENV)/.ready
RUN_LOCK := requirements.lock
SOURCES := $(wildcard src tests bench)
# Twice as many as processors: many tests wait for leases, restarts and answers.
WORKERS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))

# Without its cache of bytecode every process that a test starts compiles the whole of Sexton first, for a second.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install up test compile lint test-servers search chaos docs console console-types screenshots check format bench bench-engines lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

install: $(STAMP) ## make .venv with the locked development environment and the product in it

# A virtual environment of a Python that is new enough.
define make_venv
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: no $(PYTHON) here: install Python 3.11 or newer, or name one: make install PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $$($(PYTHON) --version) is too old: Sexton needs Python 3.11 or newer; name one: make install PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "make: $(PYTHON) cannot make virtual environments: install its venv package (on Debian: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Making $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv --clear $(VENV); }
endef

# pip shows nothing of what a build prints.
define say_console
	@test -e src/sexton/api/static/console/index.html || { \
	  echo "make: the console was not built, so the api shows a plain page; everything else works" >&2; \
	  echo "make: is there a way to npm's registry? make console tries again, and says what is wrong" >&2; }
endef

PIP := $(BIN)/python -m pip install --disable-pip-version-check

$(STAMP): pyproject.toml $(LOCK)
	$(make_venv)
	$(PIP) --require-hashes -r $(LOCK)
	$(PIP) --no-deps --no-build-isolation -e .
	$(say_console)
	@touch $(READY) $@

$(READY): pyproject.toml $(RUN_LOCK)
	$(make_venv)
	@echo "Installing what Sexton needs to run into $(VENV), once; this takes a minute or two"
	$(PIP) --require-hashes -r $(RUN_LOCK)
	$(PIP) --quiet --no-deps --no-build-isolation -e .
	$(say_console)
	@touch $@

up: $(READY) ## start Sexton on this machine
	@$(BIN)/sexton up

test: $(STAMP) ## check, then all tests
	@$(MAKE) --no-print-directory -j 2 lint compile
	$(BIN)/python -m tests.second_try -n $(WORKERS) --dist worksteal

# Read every test once, beside the check of the types: else each worker compiles all of them for itself.
compile: $(STAMP)
	@$(BIN)/python -m pytest --collect-only -q -p no:cacheprovider >/dev/null || $(BIN)/python -m pytest --collect-only -q

test-servers: $(STAMP) ## the tests that need Redis and others, which it installs and starts (ARGS="--only redis")
	$(BIN)/python -m tests.servers $(ARGS)

search: $(STAMP) ## look for faults in schedules with many new random examples (TIMES=20)
	HYPOTHESIS_PROFILE=deep HYPOTHESIS_TIMES=$(or $(TIMES),5) $(BIN)/python -m pytest -n auto --dist worksteal \
	  tests/schedules

chaos: $(STAMP) ## kill, stop, cut and restart for 25 minutes, and check the books (ARGS="leader_killed")
	$(BIN)/python -m tests.faults.chaos $(ARGS)

console: $(READY) ## build the web console into the package, if its source has changed
	$(BIN)/python hatch_build.py

console-types: $(STAMP) ## write the types of the console's API client from the OpenAPI document
	$(BIN)/python -m tests.console_types

screenshots: $(STAMP) ## pictures of the console in docs/images, of a running `sexton demo` (URL=http://127.0.0.1:7390)
	$(BIN)/python -m tests.console.screenshots $(URL)

docs: $(STAMP) ## write docs/python.md from the docstrings
	$(BIN)/python -m tests.python_reference

check: lint ## format, lint, types and import rules
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_imports.py

lint: $(STAMP)
	$(BIN)/python -m ruff format --check $(SOURCES)
	$(BIN)/python -m ruff check $(SOURCES)
	$(BIN)/python -m mypy $(SOURCES)

format: $(STAMP) ## rewrite the sources in the house format
	$(BIN)/python -m ruff format $(SOURCES)
	$(BIN)/python -m ruff check --fix $(SOURCES)

bench: $(STAMP) ## measure the schedule engine, and the scheduler beside its PostgreSQL
	$(BIN)/python bench/schedules.py
	$(BIN)/sexton bench hot-second --jobs 500000 --repeat 3
	$(BIN)/sexton bench steady --rate 2800 --seconds 30
	$(BIN)/sexton bench size --jobs 1000000

bench-engines: $(STAMP) ## the same hot second for other schedulers, installed into a cache of their own
	$(BIN)/python bench/engines/run.py

COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/uv pip compile --quiet --upgrade --universal --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --python-version 3.11 pyproject.toml

lock: ## renew requirements-dev.lock and requirements.lock from pyproject.toml
	@test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv; }
	$(COMPILE) --extra dev -o $(LOCK)
	$(COMPILE) --extra build --constraint $(LOCK) -o $(RUN_LOCK)
	@! grep -nE '(https?|file)://' $(LOCK) $(RUN_LOCK) || { echo "make: the lock names a host" >&2; exit 1; }

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) console/node_modules src/sexton/api/static/console .venv-lock .servers .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
