#!/bin/sh
# Compiles tests/proofs/ and runs assurance/prove.py with the same arguments.
set -eu
cd "$(dirname "$0")/.."

# Not in the project's root: Ape would read it there.
FOUNDRY_CONFIG=assurance/foundry.toml
export FOUNDRY_CONFIG

# halmos and forge run each other and solc by name.
PATH="$PWD/.cache/assurance/bin:$PATH"
export PATH

# forge and halmos create folders in the home folder.
HOME="$PWD/.cache"
export HOME

forge build > .cache/forge.log 2>&1 || { cat .cache/forge.log >&2; exit 1; }
exec .cache/assurance/bin/python assurance/prove.py "$@"
