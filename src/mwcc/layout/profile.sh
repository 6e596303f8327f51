#!/bin/sh
# Profiles which parts of mwcc run how often, for BOLT to reorder its code (lay_out.sh): a compilation uses scattered parts of
# 60 MB of code, and takes 15 % fewer cycles after reordering.
#
#   sh profile.sh BOLT PROGRAM HOME PROFILE
#
# BOLT is the folder of llvm-bolt and merge-fdata, PROGRAM mwcc, linked with its relocations, HOME the build tree with the
# device headers. The kernels next to this file are compiled twice: by the program with breakpoints at its functions
# (entered_functions.c), and by one that counts branches in the functions that were entered. Instrumenting all of them
# would take three times as long, and 8 GB. If the profile cannot be made it is empty, and a message gives the reason.
set -u
bolt=$1 program=$2 profile=$4
here=$(dirname "$0")
MEMORY=6 # GiB: a little more than BOLT takes

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

give_up() {
  echo "mwcc's code is not reordered, and mwcc takes 17 % longer to compile kernels: $1. To try again: rm $profile" >&2
  : >"$profile"
  exit 0
}

# Compiles the kernels, in general and for one block size each, with the given variables and program.
compile() {
  for class in "" $(sed -n 's|^// class: |--launch=|p' "$here/kernels.cu"); do
    # shellcheck disable=SC2086 # in the general case it is no word
    env LD_PRELOAD="$work/entered.so" MOONWARP_HOME="$home" XDG_CACHE_HOME="$work/cache" "$@" $class "$here/kernels.cu" \
      -o "$work/out.mwo" || return 1
  done
}

home=$(cd "$3" && pwd) || exit 1
free=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
[ "${free:-0}" -ge $MEMORY ] || give_up "finding a better order needs $MEMORY GiB of memory, and $free are free"
mkdir "$work/cache" || exit 1
# CC may be of several words, as make's is: "ccache gcc".
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -fPIC -shared -o "$work/entered.so" "$here/entered_functions.c" || exit 1
nm "$program" >"$work/symbols" || exit 1

{ compile ENTERED_FROM="$work/symbols" ENTERED_TO="$work/entered" "$program" && [ -s "$work/entered" ]; } >"$work/log" 2>&1 ||
  give_up "its functions could not be watched ($(tail -n 1 "$work/log"))"
# Functions that are local to a file have a number after their name.
sed 'p; s|$|/1|' "$work/entered" >"$work/functions"

{ "$bolt/llvm-bolt" "$program" -instrument -instrumentation-file="$work/counts" --instrumentation-file-append-pid \
  -funcs-file-no-regex="$work/functions" -o "$work/counting" && compile "$work/counting"; } >"$work/log" 2>&1 ||
  give_up "its branches could not be counted ($(tail -n 1 "$work/log"))"

"$bolt/merge-fdata" "$work"/counts.* >"$work/profile" 2>"$work/log" && [ -s "$work/profile" ] ||
  give_up "its branches were not counted ($(tail -n 1 "$work/log"))"
mv "$work/profile" "$profile"
