# Every target sets up what it needs: `make run` and `make test` work on a fresh machine with Python 3.11, pip and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ALONE := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --no-skips tests

.PHONY: run test long coverage first-hour browser cluster cluster-test kills torture load fuzz crash load-serve crash-serve safety-serve lock mutants lint package reproduce beyond bench docs clean help

help:                ## Show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[cli,dev]'
	@touch $@

run: $(READY)        ## The paper's algorithm and the default on embedded data, by what they are told: a table, three sentences, a report
	OPENBLAS_NUM_THREADS=1 $(BIN)/banditboost reproduce story --jobs 2 --report reports

test: $(READY)       ## The tests, doctests included, but those with targets of their own
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --quiet -n 2 --dist worksteal
	@echo "Not among these: the tests of make long, make browser, make cluster, make cluster-test, make kills and make load."

long: $(READY)       ## Tests that compile many loops of their own, or play long
	$(ALONE) -n 2 --dist worksteal -m long

coverage: $(READY)   ## The tests of make test and make long together, and which lines and branches they reach
	@rm -f .coverage .coverage.*
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest --quiet -n 2 --dist worksteal \
		-m 'not cluster and not ray and not torture and not load and not browser'
	@$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

cluster: $(READY)    ## Tests that start a cluster of worker processes
	$(ALONE) -m cluster

cluster-test: $(READY) ## The service on a local cluster of Ray, with shards that are killed; installs the extra 'ray'
	$(BIN)/python -m pip install --quiet --editable '.[cli,serve,ray]'
	$(ALONE) -m ray

kills: $(READY)      ## Tests that kill processes, spoil files and try thousands of sequences of calls
	$(ALONE) -n 2 --dist worksteal -m torture

torture: kills       ## The same, then the default through everything that goes wrong (some 20 minutes), written into docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/banditboost reproduce torture --jobs 2 --json results/torture.json --report reports
	$(BIN)/python tools/write_results.py

first-hour: $(READY) ## Tables as people have them: read right, or refused in a sentence that says what to write instead
	$(ALONE)/first_hour

load: $(READY)       ## Tests that read and play so much that memory shows
	$(ALONE) -m load

package: $(READY)    ## The wheel and the sdist, checked as the index would; the wheel runs the README's first lines in an environment of its own
	rm -rf dist build/wheel
	$(BIN)/python -m build --quiet --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet dist/*.whl
	cd build/wheel && env -u BANDITBOOST_DATA bin/python -I ../../tools/first_block.py ../../README.md
	build/wheel/bin/python -m pip install --quiet "$$(ls dist/*.whl)[cli,serve]"
	PATH="$$PWD/build/wheel/bin:$$PATH" build/wheel/bin/python -I tools/five_minutes.py docs/serve.md

lock: $(READY)       ## Write down the exact versions that tests are run with
	@grep '^#' requirements/test.lock > requirements/test.lock.new
	$(BIN)/python -m pip freeze --exclude-editable >> requirements/test.lock.new
	@mv requirements/test.lock.new requirements/test.lock

mutants: $(READY)    ## Change the code in 300 places, one at a time, and see whether tests notice
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/mutate.py --mutants 300 --json results/mutants.json

fuzz: $(READY)       ## 200,000 spoiled files against everything that reads files
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --files 200000

lint: $(READY)       ## Style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

reproduce: $(READY)  ## The paper's tables and bounds in full, written into README and docs
	$(BIN)/banditboost reproduce table1 --jobs 2 --json results/table1.json --report reports
	$(BIN)/banditboost reproduce table2 --datasets abalone,adult,census,letter --runs 20 --jobs 2 --json results/table2.json --report reports
	$(BIN)/banditboost reproduce bounds --jobs 2 --json results/bounds.json --report reports
	$(BIN)/banditboost reproduce bands --datasets abalone,adult,census,letter,further,held-out --jobs 2 --json results/bands.json --report reports
	$(BIN)/banditboost reproduce alarms --jobs 2 --json results/alarms.json --report reports
	$(BIN)/banditboost reproduce guards --jobs 2 --json results/guards.json --report reports
	$(BIN)/banditboost reproduce feedback --datasets abalone,adult,census,letter --jobs 2 --json results/feedback.json --report reports
	$(BIN)/python tools/write_results.py

beyond: $(READY)  ## The default against peers, which are installed first (CapyMOA needs Java); written into README and docs
	$(BIN)/pip install -q -e ".[bench]"
	$(BIN)/banditboost reproduce fair --datasets abalone,adult,census,letter,further --jobs 2 --json results/fair.json --report reports
	$(BIN)/banditboost reproduce fair --datasets held-out --jobs 2 --json results/held_out.json
	$(BIN)/banditboost reproduce memory --jobs 2 --json results/memory.json --report reports
	$(BIN)/banditboost reproduce warm --jobs 2 --json results/warm.json --report reports
	$(BIN)/banditboost reproduce small --jobs 2 --json results/small.json --report reports
	$(BIN)/banditboost reproduce drift --jobs 2 --resume .banditboost-cache/drift --json results/drift.json --report reports
	$(BIN)/banditboost reproduce drift --stationary --jobs 2 --json results/drift_stationary.json --report reports
	$(BIN)/banditboost reproduce beyond --datasets abalone,adult,census,letter --json results/beyond.json --report reports
	$(BIN)/banditboost reproduce classes --json results/classes.json --report reports
	$(BIN)/banditboost reproduce paid --json results/paid.json --report reports
	$(BIN)/banditboost reproduce hidden --json results/hidden.json --report reports
	$(BIN)/python tools/write_results.py

bench: $(READY)      ## Times beside peers, which are installed first (CapyMOA needs Java), as ratios measured in one run
	$(BIN)/pip install -q -e ".[bench]"
	$(BIN)/python -m benchmarks
	$(BIN)/python tools/write_results.py

crash: $(READY)      ## A journalled run killed at 500 points, and reopened every time
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/crash.py --json results/crash.json

load-serve: $(READY) ## How fast the service answers, beside the bare library and an empty route; loopback only; written into docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/load_serve.py --json results/serve.json
	$(BIN)/python tools/write_results.py

crash-serve: $(READY) ## The service killed 500 times under load, and started again every time; written into docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/crash_serve.py --json results/serve_crash.json
	$(BIN)/python tools/write_results.py

safety-serve: $(READY) ## What should not work against the service, and 10,000 random bodies; written into docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.serve.attempts --json results/serve_safety.json
	$(BIN)/python tools/write_results.py

docs: $(READY)       ## The documentation site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going docs docs/_build/html
	$(BIN)/python tools/check_links.py docs/_build/html

browser: docs        ## The live page, the site and the reports in a browser: Debian's chromium, or the one that CHROMIUM names
	$(ALONE) -m browser

clean:               ## Remove the virtual environment and all that was built
	rm -rf $(VENV) build dist docs/_build docs/generated docs/reference reports .pytest_cache .mypy_cache .ruff_cache
