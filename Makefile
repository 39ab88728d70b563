# Two commands do everything on a machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet -c constraints.txt

# What is installed grows with what is asked for: what the demo needs, then the package with all that it needs, then what
# developers need, then the documentation's tools. The demo solves no semidefinite programme and generates no test, and
# does without what does. Nothing is compiled that is not used: that halves the time. Tests start hundreds of processes,
# so that for them all is, also where Python may not write what it compiles.
UNUSED := ("clarabel", "hypothesis")
READ := import tomllib; needs = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]
DEMO := $(VENV)/.demo
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs

# The build of torch for processors alone: elsewhere than on Linux that is the plain one; there a plain request would
# bring gigabytes for graphics cards, so where this build is not to be had, torch is left out.
TORCH := torch
ifeq ($(shell uname -s),Linux)
TORCH := --retries 1 --timeout 20 --extra-index-url https://download.pytorch.org/whl/cpu \
	"$(shell grep '^torch==' constraints.txt)+cpu"
endif

.PHONY: demo test certificates fuzz browser kernel lint types docs bench release-check clean setup

setup: $(DEV)

$(DEMO): pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -c '$(READ); print("\n".join(n for n in needs if not n.startswith($(UNUSED))))' > $(VENV)/demo.txt
	$(PIP) --no-compile -r $(VENV)/demo.txt
	$(PIP) --no-deps -e .
	touch $@

$(BASE): $(DEMO)
	$(PIP) -e .
	touch $@

$(DEV): $(BASE)
	$(PIP) -e ".[frames]" --group dev
	$(PIP) $(TORCH) || echo "Without torch: no build for processors alone is offered here; make test names what it leaves out."
	-$(BIN)/python -m compileall -q -j 0 $(VENV)/lib fedbounds derivations >/dev/null 2>&1
	touch $@

$(DOCS): $(DEV)
	$(PIP) --group docs
	touch $@

demo: $(DEMO)
	$(BIN)/fedbounds check --out demo-out

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Every stored certificate, by two checkers that share no line: some twenty seconds.
certificates: $(BASE)
	$(BIN)/fedbounds verify-certificate derivations/certificates/*.jsonl >/dev/null
	$(BIN)/python -m validate.second_checker derivations/certificates/*.jsonl

# A minute of damaged files, every format that is read.
fuzz: $(DEV)
	$(BIN)/python -m validate.robustness.formats --seconds 60

browser: $(DEV)
	$(BIN)/python tests/browser/check_report.py

kernel: $(BASE)
	$(BIN)/fedbounds kernel --quiet
	$(BIN)/fedbounds kernel --certificates --quiet

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(DEV)
	$(BIN)/mypy

docs: $(DOCS)
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs docs/_build/html

# The source distribution and the wheel: built, checked, installed where nothing else is, and used there.
release-check: $(BASE)
	$(PIP) --group release
	$(BIN)/python -m validate.release_evidence
	$(BIN)/python -m validate.release

bench: $(DEV)
	$(BIN)/python -m validate.benchmarks

clean:
	rm -rf $(VENV) demo-out build dist docs/_build docs/auto_gallery
