#!/bin/sh
# Installs schemathesis into .cache/fuzz/, serves the world of tests/api/world.py on each engine, and sends requests that
# schemathesis makes of the OpenAPI document, with any values and with those of the index. Fails at an error of the
# service, and at an answer that breaks the document.
set -eu
cd "$(dirname "$0")/.."

FUZZ=.cache/fuzz
wanted=$({ printf '%s\n' "$PWD"; .venv/bin/python --version; cat assurance/fuzz.sh assurance/fuzz.lock; } | cksum)
if [ "$(cat "$FUZZ/.toolchain" 2>/dev/null || :)" != "$wanted" ]; then
  echo "fuzz: installing schemathesis into $FUZZ ..."
  rm -rf "$FUZZ"
  .venv/bin/python -m venv "$FUZZ"
  .venv/bin/uv pip install --quiet --python "$FUZZ/bin/python" --require-hashes -r assurance/fuzz.lock
  printf '%s\n' "$wanted" > "$FUZZ/.toolchain"
fi
FUZZ_COMMAND="$PWD/$FUZZ/bin/schemathesis" FUZZ_REQUESTS="${1:-100}" .venv/bin/ape test tests/api/fuzz.py -n0 -q -s
