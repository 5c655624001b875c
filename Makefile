# Everything runs from .venv: `make setup` fills it from requirements.lock, and whatever tests or builds adds
# requirements-dev.lock.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
RUN := .venv/.run
DEV := .venv/.dev
# Python compiles each module when it is first imported: compiling all of them here would take longer than the demo
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) # one more than cores: many tests wait for a process, a browser or Java
# every process that a test starts would compile the sources anew
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test thorough mutants coverage lint types check wheel docs bench lock figures screenshots clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(RUN): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "quiltwork needs Python 3.11 or newer, got %d.%d: set PYTHON=/path/to/python3.11" % sys.version_info[:2])'
	@echo "1 of 3: making a Python environment in .venv ..."
	@$(PYTHON) -m venv .venv
	@echo "2 of 3: installing the packages that quiltwork needs (about 260 MB to download) ..."
	@$(INSTALL) --require-hashes --requirement requirements.lock
	@echo "3 of 3: installing quiltwork ..."
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools # venv of Python 3.11 brings it, and nothing here needs it
	@touch $(RUN)

$(DEV): $(RUN) requirements-dev.lock
	@echo "Adding what develops and tests quiltwork (about 700 MB to download) ..."
	@$(INSTALL) --require-hashes --requirement requirements-dev.lock
	@$(BIN)/quiltwork compile
	@touch $(DEV)

setup: $(RUN) ## create .venv from the lock file

demo: $(RUN) ## a private histogram from the sample diary, and a report to open
	@$(BIN)/quiltwork demo

test thorough: export OPENBLAS_NUM_THREADS = 1 # each worker has a core: more threads only wait for one another

test: $(DEV) ## all tests
	$(BIN)/python tools/system_parts.py
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --durations 10

thorough: $(DEV) ## all properties on ten times as many random cases
	QUILTWORK_EFFORT=10 $(BIN)/python -m pytest tests/property tests/audit --numprocesses auto --dist worksteal

mutants: $(DEV) ## small changes to safety code, each of which a test must notice
	$(BIN)/python tools/mutants.py

coverage: $(DEV) ## the share of lines that the unit and contract tests run, with a floor
	$(BIN)/python -m pytest tests/unit tests/contract/test_accounting.py tests/contract/test_beliefs.py \
	  --ignore tests/unit/test_project.py \
	  --numprocesses auto --dist worksteal --cov --cov-report=

lint: $(DEV) ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV) ## strict types
	$(BIN)/mypy

check: lint types ## lint and strict types

bench: $(DEV) ## side-by-side benchmarks, written to bench/results.json
	$(BIN)/python bench/run.py

wheel: $(DEV) ## build the wheel, and use it in bare environments
	$(BIN)/python tools/wheel.py

docs: $(DEV) ## the site, in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

figures: $(DEV) ## draw the pictures of the README again
	$(BIN)/python tools/figures.py

screenshots: $(DEV) ## take the pictures of the pages again (needs Chromium)
	$(BIN)/python tools/screenshots.py

COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet
lock: ## pin every dependency again (needs uv): what runs, and what develops
	$(COMPILE) --extra web --group build pyproject.toml --output-file requirements.lock
	$(COMPILE) --all-extras --group dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock

clean: ## remove .venv and caches
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis
