#!/bin/sh
# Proves by symbolic execution what tests/symbolic/ states: for all inputs, and where it says so for all storage.
# `./toolchain/prove.sh PackedRatingsProof` proves one contract's statements only.
set -eu
cd "$(dirname "$0")/.."

# Not in the project's root, where Ape would take it for a configuration of its own.
FOUNDRY_CONFIG=toolchain/audit/foundry.toml
export FOUNDRY_CONFIG

# forge and solc are asked for by name.
PATH="$PWD/.cache/audit/bin:$PATH"
export PATH

forge build > .cache/forge.log 2>&1 || { cat .cache/forge.log >&2; exit 1; }
proofs=${*:-$(sed -n 's/^contract \([A-Za-z]*Proof\) .*/\1/p' tests/symbolic/*.t.sol)}
for proof in $proofs; do
  # Solady's slots are not those of Solidity's own layout, so storage is modelled without regard to it.
  halmos --forge-build-out .cache/forge/out --contract "$proof" --storage-layout generic --no-status
done
