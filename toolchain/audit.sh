#!/bin/sh
# Slither knows a project by the foundry.toml in its root. Ape would take one there for a configuration of its own, so it
# is there only meanwhile.
set -eu
cd "$(dirname "$0")/.."

trap 'rm -f foundry.toml' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp toolchain/audit/foundry.toml foundry.toml

report=.cache/slither.json
log=.cache/slither.log
rm -f "$report"
status=0
PATH="$PWD/.cache/audit/bin:$PATH" FOUNDRY_OUT=.cache/slither/out FOUNDRY_CACHE_PATH=.cache/slither/cache \
  slither . --config-file toolchain/slither.json --json "$report" > "$log" 2>&1 || status=$?

# Slither is content with a project in which it finds nothing to look at.
if [ "$status" -ne 0 ] || grep -q 'No contract was analyzed' "$log"; then
  cat "$log" >&2
  echo "audit: slither has not seen the contracts." >&2
  exit 1
fi
grep 'contracts with .* detectors' "$log" || true
.venv/bin/python toolchain/audit.py "$report"
