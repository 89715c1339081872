#!/bin/sh
# Slither knows a project by the foundry.toml in its root. Ape would take one there for a configuration of its own, so it
# is there only meanwhile.
set -eu
cd "$(dirname "$0")/.."

trap 'rm -f foundry.toml' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp toolchain/audit/foundry.toml foundry.toml

status=0
PATH="$PWD/.cache/audit/bin:$PATH" FOUNDRY_OUT=.cache/slither/out FOUNDRY_CACHE_PATH=.cache/slither/cache \
  slither . --config-file toolchain/slither.json > .cache/slither.log 2>&1 || status=$?
cat .cache/slither.log >&2

# Slither is content with a project in which it finds nothing to look at.
if grep -q 'No contract was analyzed' .cache/slither.log; then
  echo "audit: slither has seen no contract." >&2
  exit 1
fi
exit "$status"
