#!/bin/sh
# Installs the pinned toolchain into .venv/ and node_modules/. Does nothing if both are up to date.
set -eu
cd "$(dirname "$0")/.."

SOLC_VERSION=0.8.37
SOLC_BUILD="$SOLC_VERSION+commit.f401782d"
ANVIL_VERSION=1.7.1
PYTHON=${PYTHON:-python3}
STAMP=.venv/.toolchain
. toolchain/home.sh

fail() { printf 'setup: %s\n' "$1" >&2; exit 1; }

require_prerequisites() {
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Python 3.11 or newer is required ($PYTHON is missing or older; set PYTHON=… to choose another)."
  "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "Python 3.11 or newer with its venv and ensurepip modules is required (Debian: python3-venv)."
  node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' 2>/dev/null ||
    fail "Node 20 or newer is required (node is missing or older)."
  npm_version=$(npm --version 2>/dev/null) && [ "${npm_version%%.*}" -ge 9 ] ||
    fail "npm 9 or newer, which comes with Node 20, is required (npm is missing or older)."
}

# Prints a digest of everything that decides the installation. If it changes, set-up runs anew.
fingerprint() {
  {
    printf '%s\n' "$PWD"
    "$PYTHON" --version
    node --version
    sed '/^\[tool\./q' pyproject.toml # what comes after is settings of tools
    cat toolchain/setup.sh toolchain/home.sh toolchain/solc.js toolchain/uv.lock toolchain/requirements.lock \
      scripts/explorer_assets.py package.json package-lock.json
  } | cksum
}

install_python_packages() {
  "$PYTHON" -m venv --clear .venv
  .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r toolchain/uv.lock
  # --no-deps: toolchain/overrides.in replaces some of the versions that packages ask for.
  # Python compiles modules as it imports them. To compile all of them here takes longer than the rest of the set-up.
  .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes --no-deps -r toolchain/requirements.lock
  .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
}

# py-solc-x runs solc-v<version> from $SOLCX_BINARY_PATH. A native compiler of exactly the pinned build gives the same
# bytecode as soljson in less time, so the link prefers it.
link_compiler() {
  mkdir -p .venv/solcx
  compiler=../../toolchain/solc.js
  for native in "$(command -v solc || :)" "$HOME/.solcx/solc-v$SOLC_VERSION"; do
    if [ -x "$native" ] && "$native" --version 2>/dev/null | grep -q "Version: $SOLC_BUILD"; then compiler=$native; fi
  done
  ln -sf "$compiler" ".venv/solcx/solc-v$SOLC_VERSION"
  ln -sf "../solcx/solc-v$SOLC_VERSION" .venv/bin/solc
}

# npm serves anvil for some platforms only. On others, the user installs the same version of Foundry.
# The wrapper keeps the states of recent blocks only, and in memory. It gives anvil a home folder in the project, where
# anvil caches the state of chains that it forks.
install_anvil() {
  anvil=$PWD/node_modules/.bin/anvil
  [ -x "$anvil" ] || anvil=$(command -v anvil || :)
  [ -n "$anvil" ] && "$anvil" --version 2>/dev/null | grep -q "$ANVIL_VERSION" ||
    fail "anvil $ANVIL_VERSION is required, and npm has none for this platform: foundryup --install $ANVIL_VERSION"
  printf '#!/bin/sh\nHOME="%s/.cache" exec "%s" --prune-history "${ANVIL_STATES:-256}" "$@"\n' "$PWD" "$anvil" > .venv/bin/anvil
  chmod +x .venv/bin/anvil
}

# Sets PATH and the compiler's folder for every process of the virtual environment, activated or not. Temporary files go
# into the project: Ape compiles a copy of the project there, and cannot if the project itself is in the temporary folder.
export_tools() {
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cat > "$site/toolchain.pth" <<'PTH'
import os, sys; os.environ.setdefault("SOLCX_BINARY_PATH", os.path.join(sys.prefix, "solcx")); os.environ["PATH"] = os.path.join(sys.prefix, "bin") + os.pathsep + os.environ.get("PATH", ""); os.environ["TMPDIR"] = os.path.join(os.path.dirname(sys.prefix), ".cache", "tmp"); os.makedirs(os.environ["TMPDIR"], exist_ok=True)
PTH
}

require_prerequisites
wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || :)" = "$wanted" ] && [ -x .venv/bin/ape ] && [ -d node_modules ]; then
  echo "setup: the toolchain is up to date, nothing to do."
  exit 0
fi

mkdir -p .cache
echo "setup: installing Python packages into .venv, usually 20 to 60 seconds the first time ..."
install_python_packages
echo "setup: installing Solidity libraries, compiler and anvil into node_modules, usually 15 seconds ..."
npm ci --no-audit --no-fund --no-update-notifier --loglevel=error > /dev/null
.venv/bin/python scripts/explorer_assets.py
link_compiler
install_anvil
export_tools
printf '%s\n' "$wanted" > "$STAMP"
echo "setup: done."
