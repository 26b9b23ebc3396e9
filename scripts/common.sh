# Shared code of the scripts; sourced, not run. Changes to the root of the repository.
# shellcheck shell=bash
set -euo pipefail
caller_folder=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Lets all checkouts share compiled objects.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true

say() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }
usage() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 2; }

# The comment at the top of a script is its --help.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# The number of parallel compilers: one per core, and at most one per 1.5 GB of free memory.
jobs_at_once() {
  local cores memory_kb
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  local fitting=$((memory_kb / 1500000))
  ((fitting >= 1)) || fitting=1
  echo $((cores < fitting ? cores : fitting))
}

# configure PRESET. With FRAMEWIRE_UNITY=1 files are compiled together, as the presets with sanitizers do: a first build
# is faster, but a change of one file takes longer. FRAMEWIRE_OMITTED_TESTS may name test programs that are not built.
configure() {
  mkdir -p "build/$1"
  local options=("-DFRAMEWIRE_OMITTED_TESTS=${FRAMEWIRE_OMITTED_TESTS-}")
  [ -z "${FRAMEWIRE_UNITY-}" ] || options+=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20)
  if ! cmake --preset "$1" "${options[@]}" >"build/$1/configure.log" 2>&1; then
    cat "build/$1/configure.log" >&2
    printf 'cmake --preset %s failed; its words are above\n' "$1" >&2
    return 1
  fi
}

# compile PRESET [TARGET…]: quiet unless it fails. On a terminal it shows ninja's status line.
compile() {
  local preset=$1 log="build/$1/build.log"
  shift
  if [ -t 1 ]; then
    ninja -C "build/$preset" -j "$(jobs_at_once)" "$@" && return
  else
    ninja -C "build/$preset" -j "$(jobs_at_once)" "$@" >"$log" 2>&1 && return
    # Prints only what failed.
    sed -n '/^FAILED:/,$p' "$log" | head -n 200 >&2
  fi
  printf 'building the preset %s failed; its words are above\n' "$preset" >&2
  return 1
}
