#!/bin/sh
# Finds out which vectors of mwcc run how often, for BOLT to lay its code out (lay_out.sh): of sixty megabytes a compilation uses
# a bit here and a bit there, and laid out so it takes 0.85 of the processor's cycles.
#
#   sh profile.sh BOLT PROGRAM HOME PROFILE
#
# BOLT is the folder of llvm-bolt and merge-fdata, PROGRAM mwcc, linked with its relocations, HOME the build tree that has the
# device headers. The kernels beside this file are compiled twice: by the program with breakpoints at its functions (entered.c),
# and by one that counts its branches, made of those that were entered. Counting in all of them would take three times as long,
# and eight gigabytes. Where that cannot be done the profile is empty, and a line says why.
set -u
bolt=$1 program=$2 profile=$4
here=$(dirname "$0")
MEMORY=6 # GiB: a little more than BOLT takes

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

give_up() {
  echo "mwcc's code stays as it was linked, and takes a sixth longer to compile kernels: $1. To try again: rm $profile" >&2
  : >"$profile"
  exit 0
}

# Compiles the kernels, in general and for blocks of one size, with the program and the variables given.
compile() {
  for class in "" $(sed -n 's|^// class: |--launch=|p' "$here/kernels.cu"); do
    # shellcheck disable=SC2086 # in general it is no word at all
    env LD_PRELOAD="$work/entered.so" MOONWARP_HOME="$home" XDG_CACHE_HOME="$work/cache" "$@" $class "$here/kernels.cu" \
      -o "$work/out.mwo" || return 1
  done
}

home=$(cd "$3" && pwd) || exit 1
free=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
[ "${free:-0}" -ge $MEMORY ] || give_up "finding a better order needs $MEMORY GiB of memory, and $free are free"
mkdir "$work/cache" || exit 1
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -o "$work/entered.so" "$here/entered.c" || exit 1
nm "$program" >"$work/symbols" || exit 1

{ compile ENTERED_FROM="$work/symbols" ENTERED_TO="$work/entered" "$program" && [ -s "$work/entered" ]; } >"$work/log" 2>&1 ||
  give_up "its functions could not be watched ($(tail -n 1 "$work/log"))"
# Functions that are local to a file have a number behind their name.
sed 'p; s|$|/1|' "$work/entered" >"$work/functions"

{ "$bolt/llvm-bolt" "$program" -instrument -instrumentation-file="$work/counts" --instrumentation-file-append-pid \
  -funcs-file-no-regex="$work/functions" -o "$work/counting" && compile "$work/counting"; } >"$work/log" 2>&1 ||
  give_up "its branches could not be counted ($(tail -n 1 "$work/log"))"

"$bolt/merge-fdata" "$work"/counts.* >"$work/profile" 2>"$work/log" && [ -s "$work/profile" ] ||
  give_up "its branches were not counted ($(tail -n 1 "$work/log"))"
mv "$work/profile" "$profile"
