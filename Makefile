# `make reproduce` and `make test` need only Python (3.11 or newer), pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INPUTS := pyproject.toml constraints.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

FRESH := MinAtar/Breakout-v1 --seeds 3 --steps 10_000 --evaluate-every 2_000 --episodes 30

.DEFAULT_GOAL := help
.PHONY: help reproduce quick test check format bench soak torture docs site clean

help:
	@echo "make reproduce   set up, compute and draw everything into out/, write out/report.html"
	@echo "make quick       set up, then run the tests that take no time: about a minute"
	@echo "make test        set up, then run all tests"
	@echo "make check       lint, format and type checks"
	@echo "make bench       time the tabular sweep against plain NumPy"
	@echo "make soak        compare a million steps of each MinAtar game with the original"
	@echo "make torture     kill, damage, fill and crowd for an hour; figures in docs/reliability.md"
	@echo "make docs        write the tables and pictures of the documentation anew, from results/"
	@echo "make site        set up, then build the documentation into site/, tutorials executed"
	@echo "make clean       remove .venv and caches (results stay)"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "qduet needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made $(INPUTS)
	@echo "installing qduet into $(VENV) (once)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the test tools into $(VENV) (once)"
	@$(PIP) --editable '.[dev]'
	@touch $@

reproduce: $(VENV)/.installed
	@$(BIN)/qduet reproduce --out out
	@$(BIN)/qduet theory --out out/theory
	@if ls results/figure6/*/config.json >/dev/null 2>&1; then \
	  $(BIN)/qduet certify results/figure6 --reproduced out --markdown out/certificate.md \
	  || [ $$? -eq 1 ]; fi  # 1: something differs, and the certificate says what
	@echo "a short training, to see agents learn on this machine"
	@$(BIN)/qduet train rdq dueling_dqn dqn $(FRESH) --out out/fresh/breakout
	@$(BIN)/qduet watch out/fresh/breakout --agent rdq --out out/fresh/play
	@$(BIN)/qduet report -o out/report.html

quick: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

test: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: $(VENV)/.installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.installed-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.installed
	@$(BIN)/qduet bench

soak: $(VENV)/.installed-dev
	@PYTHONPATH=tests $(BIN)/python -m parity --steps 1000000

torture: $(VENV)/.installed-dev
	@PYTHONPATH=tools $(BIN)/python -m torture $(TORTURE)

docs: $(VENV)/.installed
	@PYTHONPATH=tools $(BIN)/python -m docs_tables

site: $(VENV)/.installed-dev
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=tools $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html"

clean:
	rm -rf $(VENV) site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
