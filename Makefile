# gradir's commands: `make` lists them. A fresh clone needs python3, make and git, nothing else:
# the first command makes a virtual environment in .venv with gradir and its tools in it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
INSTALLED := $(VENV)/.installed
PEERS := $(VENV)/.installed-peers
SITE := $(VENV)/.installed-site
BENCHMARKS := mlp matmul convolution black_scholes control_flow remat busy sparse_update optimizer_step caffe2_net call_overhead new_sizes first_calls interop imported custom_op long_chain
PYTEST := $(RUN) -m pytest --quiet --numprocesses auto --dist worksteal
# Errors are shown, progress is not.
PIP_INSTALL := $(RUN) -m pip install --quiet --quiet --disable-pip-version-check

# Options of `make fuzz`, each one optional.
FUZZ_OPTIONS = $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
  $(if $(PROGRAMS),--programs $(PROGRAMS)) $(if $(MUTANTS),--mutants $(MUTANTS)) \
  $(if $(LEVEL),--level $(LEVEL)) $(if $(CASE),--case $(CASE)) $(if $(JOBS),--jobs $(JOBS))

# The tests start hundreds of processes, each of which would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test all-tests test-peers check fast-tests durations lint fuzz bench docs site release-check format clean

help: ## List the commands
	@echo "usage: make COMMAND"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## Train a digits classifier, then show and run the same program as text
	$(RUN) examples/digits.py
	$(BIN)/gradir-opt examples/digits_mlp.mlir -p 'gradir-gradient{function=main mode=split}'
	$(BIN)/gradir-run examples/digits_mlp.mlir --function main --random-inputs 0

# Style and types are checked beside the tests. Either one that fails makes the command fail.
test: $(INSTALLED) ## Run every check: style, types, all tests
	@$(MAKE) --no-print-directory --jobs=2 lint all-tests

all-tests: $(INSTALLED)
	$(PYTEST)

test-peers: $(PEERS) ## Compare every op and optimizer with PyTorch, JAX and optax, and test interop (installs them)
	$(PYTEST) tests/peers
	$(PYTEST) tests/whole/test_readme.py tests/whole/test_examples.py -k "interop or jax or torch or onnx"

check: $(INSTALLED) ## Run the fast checks, under 60 seconds: style, types, the tests that are not slow
	@$(MAKE) --no-print-directory --jobs=2 lint fast-tests

fast-tests: $(INSTALLED)
	$(PYTEST) -m "not slow"

durations: $(INSTALLED) ## Measure how long tests take, or TESTS= of some files: `make check` leaves out the slow ones
	$(PYTEST) --write-durations $(TESTS)

lint: $(INSTALLED) ## Check style and types
	$(RUN) -m ruff check --quiet
	$(RUN) -m ruff format --check --quiet
	@said=$$($(RUN) -m pyrefly check --summary=none 2>&1) || { echo "$$said"; exit 1; }

fuzz: $(INSTALLED) ## Look for faults with random programs: MINUTES=10 SEED=0 PROGRAMS= MUTANTS= LEVEL= CASE= JOBS=
	PYTHONPATH=tests $(RUN) -m fuzz $(strip $(FUZZ_OPTIONS))

bench: $(PEERS) ## Time gradir against JAX, PyTorch and Numba (installs them): QUICK=1 for the table alone, in minutes
	@status=0; $(RUN) benchmarks/bench.py --write $(if $(QUICK),--quick) || status=1; \
	for name in $(if $(QUICK),,$(BENCHMARKS)); do \
	  echo; echo "$(RUN) benchmarks/$$name.py"; \
	  $(RUN) benchmarks/$$name.py || status=1; \
	done; exit $$status

docs: $(INSTALLED) ## Write the op reference anew and run the code in README.md and docs/
	$(RUN) -m gradir.tools.gen_op_reference
	$(RUN) -m gradir.tools.gen_numpy_page
	$(RUN) -m gradir.tools.gen_stubs
	$(RUN) -m gradir.tools.gen_loops_page
	$(RUN) -m gradir.tools.gen_imported_pages
	$(RUN) -m gradir.tools.gen_stablehlo_page
	$(RUN) -m gradir.tools.gen_proofs_page
	$(RUN) -m gradir.tools.gen_decisions_index
	$(RUN) -m gradir.tools.gen_house_map
	$(RUN) -m gradir.tools.gen_reading_page
	$(RUN) -m pytest --quiet tests/whole/test_readme.py

format: $(INSTALLED) ## Format the code and mend what ruff can mend
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

site: $(SITE) ## Build the documentation site in build/site; a broken link or heading is an error
	$(RUN) -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -b html -c docs/site . build/site
	@echo "the site is in build/site/docs/site/index.html"

release-check: $(INSTALLED) ## Build both archives, install and run them on each Python: PYTHONS="3.11 3.12" TESTS=
	PYTHONPATH=tests $(RUN) -m release $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(TESTS),--tests $(TESTS)) $(if $(KEEP),--keep $(KEEP))

clean: ## Remove the virtual environment and everything else that these commands made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find tests \( -name Output -o -name .lit_test_times.txt \) -prune -exec rm -rf {} +

# pip adds to an environment that works; one that does not, is made anew.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gradir needs Python 3.11 or newer, and '$(PYTHON)' is not:" \
	  "try 'make PYTHON=python3.12' or the like." >&2; exit 1; }
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing gradir and its tools in $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev,mpi]'
	@touch $@

$(PEERS): $(INSTALLED)
	@echo "installing JAX, Numba, optax, PyTorch and SciPy in $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev,mpi,peers]'
	@touch $@

$(SITE): $(INSTALLED)
	@echo "installing Sphinx in $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev,mpi,site]'
	@touch $@
