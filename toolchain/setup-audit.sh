#!/bin/sh
# Installs what proves the contracts beyond their tests (slither, halmos, forge, universalmutator) into .cache/audit/.
# Nothing of it is needed to build or to test. Does nothing when it is up to date.
set -eu
cd "$(dirname "$0")/.."

FORGE_VERSION=1.7.1
AUDIT=.cache/audit
STAMP=$AUDIT/.toolchain

fail() { printf 'setup-audit: %s\n' "$1" >&2; exit 1; }

fingerprint() {
  { printf '%s\n' "$PWD"; .venv/bin/python --version; cat toolchain/setup-audit.sh toolchain/audit.lock toolchain/audit/*; } |
    cksum
}

wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || :)" = "$wanted" ]; then exit 0; fi

echo "setup-audit: installing slither, halmos, forge and universalmutator into $AUDIT ..."
rm -rf "$AUDIT"
mkdir -p "$AUDIT/npm"
"${PYTHON:-python3}" -m venv "$AUDIT"
.venv/bin/uv pip install --quiet --python "$AUDIT/bin/python" --require-hashes -r toolchain/audit.lock
cp toolchain/audit/package.json toolchain/audit/package-lock.json .npmrc "$AUDIT/npm/"
npm ci --prefix "$AUDIT/npm" --no-audit --no-fund --loglevel=error > /dev/null

# npm serves forge for some platforms only; elsewhere Foundry's own must be there, in the same version.
forge=$PWD/$AUDIT/npm/node_modules/.bin/forge
[ -x "$forge" ] || forge=$(command -v forge || :)
[ -n "$forge" ] && "$forge" --version 2>/dev/null | grep -q "$FORGE_VERSION" ||
  fail "forge $FORGE_VERSION is required, and npm has none for this platform: foundryup --install $FORGE_VERSION"
ln -sf "$forge" "$AUDIT/bin/forge"

# The tools ask for `solc` and `forge` by name; solc-select's own `solc` would download a compiler.
ln -sf "$PWD/.venv/bin/solc" "$AUDIT/bin/solc"
printf '%s\n' "$wanted" > "$STAMP"
