#!/bin/sh
# Installs the generator of the site into .cache/site/, stages the pages, and builds the site into .cache/site-html/.
# Fails at a warning: a dead link, a missing anchor, a page that nothing leads to.
set -eu
cd "$(dirname "$0")/../.."

SITE=.cache/site
PAGES=.cache/site-pages
. toolchain/home.sh

wanted=$({ printf '%s\n' "$PWD"; .venv/bin/python --version; cat toolchain/site/build.sh toolchain/site/*.lock toolchain/site/package-lock.json; } | cksum)
if [ "$(cat "$SITE/.toolchain" 2>/dev/null || :)" != "$wanted" ]; then
  echo "docs: installing MkDocs into $SITE ..."
  rm -rf "$SITE"
  "${PYTHON:-python3}" -m venv "$SITE"
  .venv/bin/uv pip install --quiet --python "$SITE/bin/python" --require-hashes -r toolchain/site/requirements.lock
  mkdir -p "$SITE/npm"
  cp toolchain/site/package.json toolchain/site/package-lock.json .npmrc "$SITE/npm/"
  npm ci --prefix "$SITE/npm" --ignore-scripts --no-audit --no-fund --loglevel=error > /dev/null
  printf '%s\n' "$wanted" > "$SITE/.toolchain"
fi

.venv/bin/python -m scripts.site_pages "$PAGES"
mkdir -p "$PAGES/assets"
cp "$SITE/npm/node_modules/iframe-worker/shim/index.js" "$PAGES/assets/iframe-worker.js"
cp toolchain/site/site.css "$PAGES/assets/site.css"
cp toolchain/site/diagrams.mjs "$SITE/npm/diagrams.mjs" # beside its packages
node "$SITE/npm/diagrams.mjs" "$PAGES"
NO_MKDOCS_2_WARNING=1 "$SITE/bin/mkdocs" build --quiet --strict --config-file toolchain/site/mkdocs.yml
.venv/bin/python -m scripts.site_archive .cache
echo "docs: .cache/site-html/index.html"
