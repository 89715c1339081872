# Every target sets up what it needs. `make help` lists them.

# Ape keeps its data in the project, not in the home folder.
export APE_DATA_FOLDER := $(CURDIR)/.cache/ape
# So are temporary files, all the more since Ape compiles a project in place, and fails, that is itself among them.
export TMPDIR := $(CURDIR)/.cache/tmp
# uv is to trust whom the machine trusts, as pip, git and npm do.
export UV_SYSTEM_CERTS ?= 1
$(shell mkdir -p "$(TMPDIR)")

BIN := .venv/bin
AUDIT := .cache/audit/bin
SOLIDITY := 'contracts/**/*.sol' 'tests/symbolic/*.sol' '!contracts/.cache/**'
PYTHON_SOURCES := bilateral scripts bench tests toolchain
EXAMPLES := 2000
MUTANTS := 200
SEED := 1
ONLY := contracts/

.DEFAULT_GOAL := help
.PHONY: help setup compile demo test bench audit prove mutate lint format bytecode-lock abi async-client addresses lock clean

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## Install the pinned toolchain into .venv and node_modules.
	@./toolchain/setup.sh

compile: setup ## Compile the contracts.
	@./toolchain/compile.sh

demo: compile ## Start a local chain, deploy every registry, and play one whole story.
	@$(BIN)/ape run demo

test: compile ## Run the whole test suite.
	@$(BIN)/ape test --numprocesses auto --maxprocesses 4 $(TESTS)

bench: compile ## Measure gas with real transactions, print the table and write it to bench/gas.json.
	@$(BIN)/python -m bench

audit: compile ## Look for known faults in the contracts by static analysis.
	@./toolchain/setup-audit.sh
	@./toolchain/audit.sh

prove: compile ## Prove what tests/symbolic/ states, and play long sequences of calls to all registries.
	@./toolchain/setup-audit.sh
	@./toolchain/prove.sh
	@$(BIN)/python -m tests.system $(EXAMPLES)

mutate: compile ## Change the contracts, and see whether the tests notice. Goes on where it was stopped.
	@./toolchain/setup-audit.sh
	@$(AUDIT)/python toolchain/mutate.py --mutants $(MUTANTS) --seed $(SEED) --only $(ONLY)

lint: compile ## Check style, types and format.
	@$(BIN)/ruff check $(PYTHON_SOURCES)
	@$(BIN)/ruff format --check --quiet $(PYTHON_SOURCES)
	@$(BIN)/mypy
	@node_modules/.bin/solhint --disc --noPoster --max-warnings 0 $(SOLIDITY)
	@node_modules/.bin/prettier --check --log-level warn $(SOLIDITY)
	@$(BIN)/python -m scripts.addresses --check
	@echo "lint: clean."

format: setup ## Rewrite the sources in the project's format.
	@$(BIN)/ruff check --quiet --fix-only $(PYTHON_SOURCES)
	@$(BIN)/ruff format --quiet $(PYTHON_SOURCES)
	@node_modules/.bin/prettier --write --log-level warn $(SOLIDITY)

bytecode-lock: compile ## Write the hash of each contract's creation code to contracts/bytecode.lock.
	@$(BIN)/ape run bytecode_lock

abi: compile ## Copy the compiler's ABIs and the deployment records into the Python package.
	@$(BIN)/ape run abi

async-client: setup ## Derive the methods of the asynchronous client from those of the other.
	@$(BIN)/python -m scripts.async_client

addresses: setup ## Write the addresses of all networks from deployments/ into README.md.
	@$(BIN)/python -m scripts.addresses

lock: ## Resolve toolchain/*.in into hashed lock files, and package.json into package-lock.json.
	@npm install --package-lock-only --ignore-scripts
	@npm install --package-lock-only --ignore-scripts --prefix toolchain/audit --omit-lockfile-registry-resolved
	@./toolchain/setup.sh # takes package-lock.json only as package.json has it
	@for name in uv requirements audit; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --override toolchain/overrides.in toolchain/$$name.in --output-file toolchain/$$name.lock \
	  > /dev/null || exit 1; done

clean: ## Remove everything that was installed, compiled or cached.
	@rm -rf .venv node_modules .build .cache .mutants contracts/.cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
