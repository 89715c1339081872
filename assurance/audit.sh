#!/bin/sh
# Runs slither over the contracts. Slither reads the foundry.toml in the project's root. Ape would read it too, so the file
# stands there only while slither runs.
set -eu
cd "$(dirname "$0")/.."

trap 'rm -f foundry.toml' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cp assurance/foundry.toml foundry.toml

report=.cache/slither.json
log=.cache/slither.log
rm -f "$report"
status=0
# forge creates folders in the home folder.
HOME="$PWD/.cache" PATH="$PWD/.cache/assurance/bin:$PATH" FOUNDRY_OUT=.cache/slither/out FOUNDRY_CACHE_PATH=.cache/slither/cache \
  slither . --config-file assurance/slither.json --json "$report" > "$log" 2>&1 || status=$?

# Slither exits with 0 if it finds no contract.
if [ "$status" -ne 0 ] || grep -q 'No contract was analyzed' "$log"; then
  cat "$log" >&2
  echo "audit: slither did not analyse the contracts; its output is above." >&2
  exit 1
fi
grep 'contracts with .* detectors' "$log" || true
.venv/bin/python assurance/audit.py "$report"
