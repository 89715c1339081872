#!/bin/sh
# Compiles the proofs that the arguments name, or all of tests/proofs/, and runs assurance/prove.py with the same
# arguments. To compile all takes more than two minutes of processor time, the quick proofs of CI seven seconds.
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

sources=
for contract in "$@"; do
  source=$(grep -l "^contract $contract is" tests/proofs/*.t.sol) || { echo "prove: $contract is not in tests/proofs/" >&2; exit 1; }
  sources="$sources $source"
done
# shellcheck disable=SC2086  # no source has a space in its name
forge build $sources > .cache/forge.log 2>&1 || { cat .cache/forge.log >&2; exit 1; }
if [ $# -gt 0 ]; then
  # halmos runs forge, too, which would compile all folders of sources then.
  FOUNDRY_SRC=.cache/forge/none FOUNDRY_TEST=.cache/forge/none FOUNDRY_SCRIPT=.cache/forge/none
  export FOUNDRY_SRC FOUNDRY_TEST FOUNDRY_SCRIPT
fi
exec .cache/assurance/bin/python assurance/prove.py "$@"
