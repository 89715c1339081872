#!/bin/sh
# Compiles the contracts. Ape recompiles neither the contracts that inherit from a changed one nor anything after a
# change of a compiler setting, so any such change starts from nothing.
set -eu
cd "$(dirname "$0")/.."

# Two runs at once would compile twice, and remove each other's output.
mkdir -p .cache
if command -v flock > /dev/null; then exec 9> .cache/compile.lock && flock 9; fi

# What a compilation leaves there hides the contracts: Ape looks at 500 files of a folder and no more.
rm -rf contracts/.cache

sources=$(find contracts -name '*.sol' -not -path 'contracts/.cache/*' | LC_ALL=C sort)
# shellcheck disable=SC2086  # no source has a space in its name
fingerprint=$(cat $sources ape-config.yaml package-lock.json scripts/compile.py | cksum)
# A newer manifest is not what this script left there: `ape compile` may have compiled other sources since.
if [ "$(cat .build/.fingerprint 2>/dev/null || :)" = "$fingerprint" ] &&
  [ -z "$(find .build/__local__.json -newer .build/.fingerprint)" ]; then exit 0; fi

rm -rf .build
echo "compile: compiling the contracts, usually 60 to 90 seconds after a change ..."
.venv/bin/python -m scripts.compile > .cache/compile.log 2>&1 || { cat .cache/compile.log >&2; exit 1; }
printf '%s\n' "$fingerprint" > .build/.fingerprint
