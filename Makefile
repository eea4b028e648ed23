# Two commands do everything on a fresh machine with make and Python >= 3.11:
#   make demo    set up, then release tables from a bundled data set
#   make test    set up, then run the tests
#   make quick   the same without those that are marked slow: about a minute
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test quick check shape bench bench-peers bench-grid bench-spark soak docs site clean

demo: $(VENV)/.ready-run
	@$(BIN)/margrave demo

test: $(VENV)/.ready-test .venv-spark/.ready check
	@$(BIN)/python -m pytest -n 2
	@.venv-spark/bin/python -m pytest tests/measure/spark

quick: $(VENV)/.ready-test
	@$(BIN)/python -m pytest -m "not slow"

check: $(VENV)/.ready-test
	@$(BIN)/ruff check src tests benchmarks tools
	@$(BIN)/ruff format --check src tests benchmarks tools
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

# A mirror, not a gate: how large files and functions are, how imports run, what is written twice.
shape: $(VENV)/.ready-run
	@$(BIN)/python tools/shape.py

bench: $(VENV)/.ready-test
	@$(BIN)/python benchmarks/run.py

# Peers have dependencies of their own, so they get an environment of their own.
bench-peers: .venv-peers/.ready
	@.venv-peers/bin/python benchmarks/peers.py
	@.venv-peers/bin/python benchmarks/peers_questions.py
	@.venv-peers/bin/python benchmarks/peers_local.py

# The table of docs/peers.md: what is missing of it is measured, for so many seconds. FILES: a folder with adult.csv and so on.
FILES ?= .
SECONDS ?= 3600
bench-grid: .venv-peers/.ready
	@.venv-peers/bin/python benchmarks/peers_grid.py all --files $(FILES) --seconds $(SECONDS)

.venv-peers/.ready: benchmarks/peers.txt pyproject.toml
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --editable . --requirement benchmarks/peers.txt
	@touch $@

# Spark is large, and its tests and benchmark get an environment of their own. It needs Java 17 or newer.
.venv-spark/.ready: pyproject.toml constraints.txt $(VENV)/.ready-run
	@echo "Installing Spark for its tests (.venv-spark) ..."
	@test -x .venv-spark/bin/python || $(PYTHON) -m venv .venv-spark
	@.venv-spark/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --editable '.[spark]' hypothesis pytest
	@$(PYTHON) tools/java.py || $(MAKE) --no-print-directory java
	@touch $@

.PHONY: java
java:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless >/dev/null; \
	else echo "The tests of Spark need Java 17 or newer (Debian: apt-get install default-jre-headless)."; fi

bench-spark: .venv-spark/.ready
	@.venv-spark/bin/python benchmarks/spark.py --sets

# Less than half an hour on two quiet cores; make soak PART=0.1 for a tenth of it.
PART ?= 1
soak: $(VENV)/.ready-test
	@MARGRAVE_SOAK=$(PART) $(BIN)/python -m pytest -n 2 --dist worksteal tests/ledger tests/measure/questions tests/session/test_crash.py tests/files tests/facts/test_known.py tests/publish/explorer tests/publish/test_report_browser.py tests/planning/test_target.py tests/serve

# The page of commands and every picture; about a minute of processor time.
docs: $(VENV)/.ready-test
	@$(BIN)/python docs/generate.py

# The documentation as a site that needs no network, in site/.
site: $(VENV)/.ready-test
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -W ignore -m mkdocs build --strict --quiet
	@echo "Open site/index.html. Its search needs a web server: $(BIN)/python -m http.server --directory site"

clean:
	rm -rf $(VENV) .venv-peers .venv-spark build dist site out demo-release*

$(VENV)/.ready-run: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Margrave needs Python 3.11 or newer. Name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "This Python has no venv module. Install it (Debian and Ubuntu: apt-get install python3-venv), then run make again."; exit 1; }
	@test -x $(BIN)/python || { echo "Setting up $(VENV) ..."; $(PYTHON) -m venv $(VENV); }
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready-run
	@echo "Installing what the tests need ..."
	@$(PIP) install --constraint constraints.txt --editable '.[test]'
	@command -v chromium >/dev/null && command -v node >/dev/null || $(MAKE) --no-print-directory browser
	@touch $@

# The page for respondents is tested in a browser, and its encoder by node; without them those tests are skipped.
.PHONY: browser
browser:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium nodejs >/dev/null; \
	else echo "The tests of the page need Chromium and node (Debian: apt-get install chromium nodejs)."; fi
