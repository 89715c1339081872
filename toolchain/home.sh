# Sourced by the set-up scripts, in the project's root. Keeps them from writing into the home folder; the caches of pip,
# uv and npm stay where the user has them.

# pip asks `rustc` for its version. Where `rustc` is rustup's and has never run, that question creates ~/.rustup.
if [ ! -d "${RUSTUP_HOME:-${HOME:-}/.rustup}" ]; then
  RUSTUP_HOME=$PWD/.cache/rustup
  export RUSTUP_HOME
fi
