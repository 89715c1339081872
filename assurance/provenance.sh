#!/bin/sh
# Installs cyclonedx-bom and pip-audit into .cache/provenance/ and runs one of them:
#   provenance.sh bom FILE     write the packages of the Python lock, with their licences, as CycloneDX
#   provenance.sh audit        compare all locks with the known vulnerabilities; needs PyPI and the npm registry
set -eu
cd "$(dirname "$0")/.."

PROVENANCE=.cache/provenance
. toolchain/home.sh

wanted=$({ printf '%s\n' "$PWD"; .venv/bin/python --version; cat assurance/provenance.sh assurance/provenance.lock; } | cksum)
if [ "$(cat "$PROVENANCE/.toolchain" 2>/dev/null || :)" != "$wanted" ]; then
  echo "provenance: installing cyclonedx-bom and pip-audit into $PROVENANCE ..." >&2
  rm -rf "$PROVENANCE"
  .venv/bin/python -m venv "$PROVENANCE"
  .venv/bin/uv pip install --quiet --python "$PROVENANCE/bin/python" --require-hashes -r assurance/provenance.lock
  printf '%s\n' "$wanted" > "$PROVENANCE/.toolchain"
fi

case "$1" in
  bom)
    "$PROVENANCE/bin/cyclonedx-py" environment --output-reproducible --output-format JSON --output-file "$2" .venv/bin/python
    ;;
  audit)
    for lock in toolchain assurance interop; do
      "$PROVENANCE/bin/pip-audit" --disable-pip --requirement "$lock/requirements.lock"
    done
    npm audit
    npm audit --prefix assurance
    ;;
  *) echo "provenance.sh: bom FILE, or audit" >&2; exit 2 ;;
esac
