# Everything runs from .venv, which `make setup` fills from requirements.lock.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.ready
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) # one more than cores: many tests wait for a process, a browser or Java
# every process that a test starts would compile the sources anew
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test thorough mutants coverage lint types check docs bench lock figures screenshots clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "quiltwork needs Python 3.11 or newer, got %d.%d: set PYTHON=/path/to/python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/quiltwork compile
	touch $(STAMP)

setup: $(STAMP) ## create .venv from the lock file

demo: $(STAMP) ## a private histogram from the sample diary, and a report to open
	$(BIN)/quiltwork demo

test thorough: export OPENBLAS_NUM_THREADS = 1 # each worker has a core: more threads only wait for one another

test: $(STAMP) ## all tests
	$(BIN)/python tools/system_parts.py
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --durations 10

thorough: $(STAMP) ## all properties on ten times as many random cases
	QUILTWORK_EFFORT=10 $(BIN)/python -m pytest tests/property tests/audit --numprocesses auto --dist worksteal

mutants: $(STAMP) ## small changes to safety code, each of which a test must notice
	$(BIN)/python tools/mutants.py

coverage: $(STAMP) ## the share of lines that the unit and contract tests run, with a floor
	$(BIN)/python -m pytest tests/unit tests/contract/test_accounting.py tests/contract/test_beliefs.py \
	  --ignore tests/unit/test_project.py \
	  --numprocesses auto --dist worksteal --cov --cov-report=

lint: $(STAMP) ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## strict types
	$(BIN)/mypy

check: lint types ## lint and strict types

bench: $(STAMP) ## side-by-side benchmarks, written to bench/results.json
	$(BIN)/python bench/run.py

docs: $(STAMP) ## the site, in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

figures: $(STAMP) ## draw the pictures of the README again
	$(BIN)/python tools/figures.py

screenshots: $(STAMP) ## take the pictures of the pages again (needs Chromium)
	$(BIN)/python tools/screenshots.py

lock: ## pin every dependency again (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet \
	  --all-extras --group dev pyproject.toml --output-file requirements.lock

clean: ## remove .venv and caches
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis
