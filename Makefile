# Every target sets up what it needs. `make help` lists them.

# Ape keeps its data in the project, not in the home folder.
export APE_DATA_FOLDER := $(CURDIR)/.cache/ape
# Temporary files stay in the project too. Ape compiles a copy of the project there, and cannot if the project itself is
# in the temporary folder.
export TMPDIR := $(CURDIR)/.cache/tmp
# uv trusts the machine's certificates, as pip, git and npm do.
export UV_SYSTEM_CERTS ?= 1
# Python keeps what it compiled, wherever a machine says that it must not. Without this each of hundreds of processes
# compiles thousands of modules anew.
unexport PYTHONDONTWRITEBYTECODE
$(shell mkdir -p "$(TMPDIR)")

BIN := .venv/bin
ASSURANCE := .cache/assurance/bin
SOLIDITY := 'contracts/**/*.sol' 'tests/proofs/*.sol' '!contracts/.cache/**'
PROSE := toolchain/prose/node_modules/.package-lock.json
PAGES := README.md CONTRIBUTING.md CONVENTIONS.md SECURITY.md docs/*.md
PYTHON_SOURCES := bilateral scripts bench simulation tests assurance examples interop
QUICK_PROOFS := PackedRatingsProof FeedbackWordProof PaymentTallyProof
EXAMPLES := 2000
CHAOS := 10000
DATABASE := sqlite:///$(CURDIR)/.cache/world.sqlite
PAID := 10000
KINDS := 10000
FUZZED := 100000
MUTANTS := 200
REQUESTS := 100
QUERIES := 10000
SEARCHES := 1000
SEED := 1
ONLY := contracts/

.DEFAULT_GOAL := help
.PHONY: help demo play setup compile prover clean test test-all lint format test-interop ways test-npm npm-types npm-vitest npm-archive npm-sellers prove-quickly abi bytecode-lock sync-client openapi index-tables error-page census addresses install-lines bench audit prove mutate mutate-npm compare-searches fuzz-api fuzz-graphql bench-search bench-search-large bench-semantic bench-explorer bench-speed bench-prover bench-retaliation bench-scale market evaluate docs packages dist licences vulnerabilities lock pictures deployed-registries

##@ Try it

help: ## List the targets.
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: prover ## Start a local chain, deploy every registry, and play one whole story.
	@$(BIN)/ape run demo

play: setup ## Run a local chain with a small economy, and show it on web pages. Ctrl-C stops all.
	@$(BIN)/ape run play

setup: ## Install the pinned toolchain into .venv and node_modules.
	@./toolchain/setup.sh

compile: setup ## Compile the contracts.
	@./toolchain/compile.sh

prover: setup ## Install the prover of private tiers into .cache/prover. Does nothing if it is there.
	@$(BIN)/bilateral buyer install-prover --folder .cache/prover > /dev/null

clean: ## Remove everything that was installed, compiled or cached.
	@rm -rf .venv node_modules toolchain/prose/node_modules .build .cache .mutants .user-projects contracts/.cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

##@ Check a change

test: compile $(PROSE) ## Run the test suite, or all tests of the files TESTS. What takes long is left to test-all.
	@$(BIN)/ape test --numprocesses auto --maxprocesses 6 --dist worksteal $(or $(TESTS),-m "not nightly")

test-all: compile $(PROSE) ## Run every test, as CI does each night.
	@$(BIN)/ape test --numprocesses auto --maxprocesses 6 --dist worksteal

lint: setup $(PROSE) ## Check style, types, format, sizes and the wording of pages.
	@$(BIN)/ruff check $(PYTHON_SOURCES)
	@$(BIN)/ruff format --check --quiet $(PYTHON_SOURCES)
	@$(BIN)/mypy
	@node_modules/.bin/solhint --disc --noPoster --max-warnings 0 $(SOLIDITY)
	@node_modules/.bin/prettier --check --log-level warn $(SOLIDITY)
	@node toolchain/prose/lint.mjs $(PAGES)
	@$(BIN)/python -m scripts.addresses --check
	@$(BIN)/python -m scripts.packages --check
	@$(BIN)/python -m scripts.install_lines --check
	@$(BIN)/python -m scripts.openapi --check
	@echo "lint: clean."

$(PROSE): toolchain/prose/package-lock.json
	@npm ci --prefix toolchain/prose --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null

format: setup ## Rewrite the sources in the project's format.
	@$(BIN)/ruff check --quiet --fix-only $(PYTHON_SOURCES)
	@$(BIN)/ruff format --quiet $(PYTHON_SOURCES)
	@node_modules/.bin/prettier --write --log-level warn $(SOLIDITY)

test-npm: compile ## Check types, tests, sizes and the archive of the npm package, side by side. NIGHTLY=1 adds the long ones.
	@$(BIN)/python -m scripts.npm_package --tests
	@$(if $(NIGHTLY),mkdir -p .cache/runtimes && cp interop/runtimes/package*.json .npmrc .cache/runtimes && npm ci --prefix .cache/runtimes --ignore-scripts)
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2 --output-sync=target) npm-sellers npm-vitest npm-types npm-archive

npm-types: ## Check the types of the npm package.
	@cd npm && node_modules/.bin/tsc --project tsconfig.tests.json

npm-vitest: ## Run the unit tests of the npm package.
	@cd npm && node_modules/.bin/vitest run

npm-archive: ## Check the sizes and the archive of the npm package.
	@cd npm && node_modules/.bin/publint $$(../$(BIN)/python -m scripts.npm_package ../.cache/npm-archive --unchecked)
	@cd npm && node_modules/.bin/attw --profile esm-only --format ascii --quiet ../.cache/npm-archive/*.tgz

npm-sellers: ## Sell and buy with the npm package on a real chain.
	@NPM=1 $(if $(NIGHTLY),RUNTIMES=$(CURDIR)/.cache/runtimes) $(BIN)/ape test tests/npm --numprocesses 2 --dist worksteal -q $(if $(NIGHTLY),,-m "not nightly")

ways: compile ## Play the pages for buyers, sellers, contract authors and operators from nothing, and print the time of each.
	@$(BIN)/ape test tests/packaging/test_ways.py --numprocesses 0 -q -s

test-interop: compile ## Ask the service through the published SDKs of ERC-8004, and pay by the x402 client for Node.
	@./interop/setup.sh
	@INTEROP=1 $(BIN)/ape test tests/interop --numprocesses 0

prove-quickly: setup ## Prove the statements that take seconds each, as CI does.
	@./assurance/setup.sh
	@./assurance/prove.sh $(QUICK_PROOFS)

##@ Renew what is generated

abi: compile ## Copy the compiler's ABIs and the deployment records into the Python package.
	@$(BIN)/ape run abi

bytecode-lock: compile ## Write the hash of each contract's creation code to contracts/bytecode.lock.
	@$(BIN)/ape run bytecode_lock

sync-client: setup ## Generate the blocking client from the asynchronous one.
	@$(BIN)/python -m scripts.sync_client

openapi: setup ## Write the OpenAPI document of the service to docs/openapi.json.
	@$(BIN)/python -m scripts.openapi

index-tables: setup ## Write the columns of the index's tables into docs/index-tables.md.
	@$(BIN)/python -m scripts.index_tables

error-page: setup ## Write the errors of the Python package into docs/errors.md.
	@$(BIN)/python -m tests.sdk.error_page

census: compile ## Measure who is alive in the demo world, and write docs/census.md.
	@$(BIN)/python -m scripts.census

addresses: setup ## Write the addresses of all networks from deployments/ into README.md.
	@$(BIN)/python -m scripts.addresses

install-lines: setup ## Write the commands that install the packages into all pages. The first release switches them.
	@$(BIN)/python -m scripts.install_lines

bench: compile ## Measure gas with real transactions, print the tables and write them to bench/gas.json and docs/gas-tables.md.
	@$(BIN)/python -m bench

##@ Search for faults, for minutes or hours

audit: compile ## Search the contracts for known faults by static analysis.
	@./assurance/setup.sh
	@./assurance/audit.sh

prove: compile ## Prove the statements of tests/proofs/, play long sequences of calls to all registries, send many paid requests, pay by every kind, pay evil servers, and read made-up bytes as Solana's.
	@./assurance/setup.sh
	@./assurance/prove.sh
	@$(BIN)/python -m tests.system $(EXAMPLES)
	@$(BIN)/python -m tests.index.chaos $(CHAOS)
	@$(BIN)/python -m bench.x402.proofs $(PAID)
	@$(BIN)/python -m tests.payments $(KINDS)
	@BILATERAL_EVIL=all $(BIN)/ape test tests/x402/test_evil_servers.py --numprocesses 0
	@BILATERAL_FUZZ=$(FUZZED) $(BIN)/ape test tests/solana/test_fuzz.py tests/solana/test_attestations.py --numprocesses 0

mutate: compile ## Change the contracts one line at a time and count the changes that tests notice. Resumable.
	@./assurance/setup.sh
	@$(ASSURANCE)/python assurance/mutate.py --mutants $(MUTANTS) --seed $(SEED) --only $(ONLY)

mutate-npm: compile ## Change the verification and the strict reader of JSON of the npm package, and fail if tests notice less than 90 %.
	@$(BIN)/python -m scripts.npm_package --tests
	@cd npm && node tests/mutate.mjs $(MUTANTS) $(SEED)

compare-searches: compile ## Compare SEARCHES made-up gated searches with a plain filter in Python, on both engines.
	@BILATERAL_SEARCHES=$(SEARCHES) $(BIN)/ape test tests/index/search/test_brute_force.py --numprocesses 0 -s

fuzz-api: compile ## Send requests made of the OpenAPI document to the service on both engines; REQUESTS for each path.
	@./assurance/fuzz.sh $(REQUESTS)

fuzz-graphql: compile ## Send made-up GraphQL queries to the service on both engines; QUERIES to each, from SEED.
	@QUERIES=$(QUERIES) SEED=$(SEED) LONGEST=2 $(BIN)/ape test tests/api/graphql/test_fuzz.py --numprocesses 0 -s

##@ Measure

bench-search: setup ## Measure searches, checks and GraphQL on an index of 100,000 agents in DATABASE, which is filled if it is empty.
	@$(BIN)/python -m bench.search --database $(DATABASE)
	@$(BIN)/python -m bench.api --database $(DATABASE)

bench-search-large: setup ## Measure searches on 1,000,000 agents in DATABASE, of PostgreSQL, which is filled if it is empty.
	@$(BIN)/python -m bench.search --database $(DATABASE) --copies 10 --limit 150 --repeats 0

bench-semantic: setup ## Measure searches by meaning, by 200 questions with known answers, on DATABASE, which is filled if it is empty; write docs/search.md.
	@$(BIN)/python -m bench.semantic --database $(DATABASE) --page docs/search.md

bench-explorer: setup ## Measure the web pages on DATABASE, which bench-search fills, and on an agent with a million ratings.
	@$(BIN)/python -m bench.explorer --database $(DATABASE)

bench-speed: compile ## Measure writes and reads of the SDK, the index beside a plain loop (for docs/scale.md), paid requests and buyers.
	@$(BIN)/python -m bench.sdk
	@$(BIN)/python -m bench.index --page docs/scale.md
	@$(BIN)/python -m bench.x402
	@$(BIN)/python -m bench.buyers_service

bench-scale: setup ## Measure the cost of a rating for index and analysis at 1 and 10 million. Takes up to an hour.
	@$(BIN)/python -m bench.scale $(or $(SIZES),1000000 10000000)

bench-prover: prover ## Measure processor time and memory of a private proof, and write docs/private-tiers.md.
	@$(BIN)/python -m bench.prover

bench-retaliation: setup ## Measure in a market how many bad experiences open and blind ratings report, and write docs/blind-ratings.md.
	@$(BIN)/python -m bench.retaliation

evaluate: setup ## Measure the trust analysis on worlds and on the data in DATA, and write docs/trust-figures.md.
	@$(BIN)/python -m bench.trust $(DATA)

market: setup ## Play markets whose buyers follow each policy, with attackers who search against it; write docs/decisions.md. Takes an hour.
	@$(BIN)/python -m bench.market

docs: setup ## Build the documentation site into .cache/site-html/, and fail at a dead link or anchor.
	@./toolchain/site/build.sh

packages: setup ## Print the size of each Python package, its limit and the rooms that it imports.
	@$(BIN)/python -m scripts.packages

##@ For maintainers

dist: setup ## Build wheel, source distribution, npm package, documentation and bills of materials into dist/. Two builds are equal byte for byte.
	@rm -rf dist .cache/dist && git clone --quiet . .cache/dist
	@cd .cache/dist && ../../$(BIN)/python -m hatchling build --target wheel --target sdist --directory ../../dist
	@$(BIN)/python -m scripts.npm_package dist
	@$(BIN)/python -m scripts.bill_of_materials dist
	@./toolchain/site/build.sh > /dev/null && $(BIN)/python -m scripts.site_archive dist
	@rm -rf .cache/dist && cksum dist/*

licences: setup ## Compare the licences of all dependencies with docs/licences.md.
	@$(BIN)/python -m scripts.bill_of_materials --check

vulnerabilities: setup ## Compare all locks with the known vulnerabilities that PyPI and npm list.
	@./assurance/provenance.sh audit

lock: ## Resolve the *.in files of toolchain/, assurance/ and interop/ into hashed lock files, and package.json into package-lock.json.
	@npm install --package-lock-only --ignore-scripts
	@npm install --package-lock-only --ignore-scripts --prefix assurance --omit-lockfile-registry-resolved
	@npm install --package-lock-only --ignore-scripts --prefix interop --omit-lockfile-registry-resolved
	@npm install --package-lock-only --ignore-scripts --prefix interop/runtimes --omit-lockfile-registry-resolved
	@npm install --package-lock-only --ignore-scripts --prefix npm --omit-lockfile-registry-resolved
	@npm install --package-lock-only --ignore-scripts --prefix toolchain/prose --omit-lockfile-registry-resolved
	@npm install --package-lock-only --ignore-scripts --prefix toolchain/site --omit-lockfile-registry-resolved
	@./toolchain/setup.sh # fails if package-lock.json and package.json differ
	@for name in toolchain/uv toolchain/requirements assurance/requirements assurance/fuzz assurance/provenance interop/requirements toolchain/site/requirements; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --override toolchain/overrides.in $$name.in --output-file $$name.lock \
	  > /dev/null || exit 1; done

pictures: compile ## Write screenshots of the web pages and of the living demo into docs/explorer/.
	@$(BIN)/python -m scripts.explorer_pictures
	@$(BIN)/ape run play --pictures

deployed-registries: compile ## Run the SDK on stand-ins of the deployed registries, and write the table of what works.
	@$(BIN)/python -m tests.sdk.deployed
