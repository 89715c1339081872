#!/bin/sh
# Installs the published SDKs of ERC-8004 and x402, for Python and for Node, into .cache/interop/. `make test-interop`
# uses them; nothing else does. Does nothing when they are up to date.
set -eu
cd "$(dirname "$0")/.."

INTEROP=.cache/interop
STAMP=$INTEROP/.installed
. toolchain/home.sh

fingerprint() {
  { printf '%s\n' "$PWD"; .venv/bin/python --version; node --version
    cat interop/setup.sh interop/requirements.lock interop/package.json interop/package-lock.json; } | cksum
}

wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || :)" = "$wanted" ]; then exit 0; fi

echo "interop: installing the published SDKs into $INTEROP ..."
rm -rf "$INTEROP"
mkdir -p "$INTEROP/npm"
"${PYTHON:-python3}" -m venv "$INTEROP/python"
.venv/bin/uv pip install --quiet --python "$INTEROP/python/bin/python" --require-hashes -r interop/requirements.lock
cp interop/package.json interop/package-lock.json .npmrc "$INTEROP/npm/"
# Their native parts are not needed, and no package may run a script of its own.
npm ci --prefix "$INTEROP/npm" --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null
printf '%s\n' "$wanted" > "$STAMP"
