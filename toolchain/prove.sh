#!/bin/sh
# Compiles the proofs of tests/symbolic/, and has toolchain/prove.py prove them: all, or those of the contracts that are
# named.
set -eu
cd "$(dirname "$0")/.."

# Not in the project's root, where Ape would take it for a configuration of its own.
FOUNDRY_CONFIG=toolchain/audit/foundry.toml
export FOUNDRY_CONFIG

# forge and solc are asked for by name.
PATH="$PWD/.cache/audit/bin:$PATH"
export PATH

# Both forge and halmos leave folders of their own in the home folder.
HOME="$PWD/.cache"
export HOME

forge build > .cache/forge.log 2>&1 || { cat .cache/forge.log >&2; exit 1; }
exec .cache/audit/bin/python toolchain/prove.py "$@"
