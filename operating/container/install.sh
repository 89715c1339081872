#!/bin/sh
# The stages of the Dockerfile, as commands that tests run without a container engine.
#   install.sh wheel OUT                  build the wheel of this checkout into the folder OUT
#   install.sh runtime WHEEL VENV EXTRAS  install the wheel with these extras into a new virtual environment
# Versions are those of toolchain/requirements.lock. Needs Python 3.11 with venv; `wheel` needs npm and git, too.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
PYTHON=${PYTHON:-python3}

fail() { printf 'install.sh: %s\n' "$1" >&2; exit 2; }

# Creates a virtual environment and installs the rest of the words into it, in locked versions.
locked() {
  environment=$1
  shift
  "$PYTHON" -m venv "$environment.uv"
  "$environment.uv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$root/toolchain/uv.lock"
  "$environment.uv/bin/uv" venv --quiet --python "$PYTHON" "$environment"
  "$environment.uv/bin/uv" pip install --quiet --python "$environment/bin/python" \
    --constraint "$root/toolchain/requirements.lock" --override "$root/toolchain/overrides.in" "$@"
  rm -rf "$environment.uv"
}

case "${1:-}" in
  wheel)
    [ $# -eq 2 ] || fail "wheel OUT"
    mkdir -p "$2"
    out=$(cd "$2" && pwd)
    locked "$out/build-environment" hatchling
    (cd "$root" && "$out/build-environment/bin/python" -m hatchling build --target wheel --directory "$out")
    rm -rf "$out/build-environment"
    ;;
  runtime)
    [ $# -eq 4 ] || fail "runtime WHEEL VENV EXTRAS"
    locked "$3" "bilateral[$4] @ file://$(cd "$(dirname "$2")" && pwd)/$(basename "$2")"
    ;;
  *) fail "expected wheel or runtime" ;;
esac
