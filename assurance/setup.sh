#!/bin/sh
# Installs slither, halmos, forge and universalmutator into .cache/assurance/. `make audit`, `make prove` and
# `make mutate` use them; building and testing do not. Does nothing when they are up to date.
set -eu
cd "$(dirname "$0")/.."

FORGE_VERSION=1.7.1
ASSURANCE=.cache/assurance
STAMP=$ASSURANCE/.toolchain
. toolchain/home.sh

fail() { printf 'assurance: %s\n' "$1" >&2; exit 1; }

fingerprint() {
  { printf '%s\n' "$PWD"; .venv/bin/python --version; cat assurance/setup.sh assurance/requirements.lock assurance/package*.json; } |
    cksum
}

wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || :)" = "$wanted" ]; then exit 0; fi

echo "assurance: installing slither, halmos, forge and universalmutator into $ASSURANCE ..."
rm -rf "$ASSURANCE"
mkdir -p "$ASSURANCE/npm"
"${PYTHON:-python3}" -m venv "$ASSURANCE"
.venv/bin/uv pip install --quiet --python "$ASSURANCE/bin/python" --require-hashes -r assurance/requirements.lock
cp assurance/package.json assurance/package-lock.json .npmrc "$ASSURANCE/npm/"
npm ci --prefix "$ASSURANCE/npm" --no-audit --no-fund --loglevel=error > /dev/null

# npm serves forge for some platforms only. On others, the user installs the same version of Foundry.
forge=$PWD/$ASSURANCE/npm/node_modules/.bin/forge
[ -x "$forge" ] || forge=$(command -v forge || :)
[ -n "$forge" ] && "$forge" --version 2>/dev/null | grep -q "$FORGE_VERSION" ||
  fail "forge $FORGE_VERSION is required, and npm has none for this platform: foundryup --install $FORGE_VERSION"
ln -sf "$forge" "$ASSURANCE/bin/forge"

# The tools run `solc` and `forge` by name. The `solc` that solc-select installs would download a compiler.
ln -sf "$PWD/.venv/bin/solc" "$ASSURANCE/bin/solc"
printf '%s\n' "$wanted" > "$STAMP"
