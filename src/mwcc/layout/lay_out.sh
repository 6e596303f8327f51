#!/bin/sh
# Lays mwcc's code out as a profile (profile.sh) says: what is used often together stands together.
#
#   sh lay_out.sh BOLT PROGRAM PROFILE OUT
#
# With an empty profile, of which profile.sh has told why, OUT is PROGRAM; where BOLT fails as well, and a line says so.
set -u
bolt=$1 program=$2 profile=$3 out=$4

rm -f "$out"
if [ -s "$profile" ]; then
  log=$(mktemp) || exit 1
  trap 'rm -f "$log"' EXIT
  "$bolt/llvm-bolt" "$program" -data "$profile" -o "$out" -reorder-blocks=ext-tsp -reorder-functions=cdsort \
    -split-functions -split-all-cold -split-eh -icf=1 >"$log" 2>&1 && exit
  echo "mwcc's code stays as it was linked: BOLT failed ($(tail -n 1 "$log")); make BOLT= does without it" >&2
fi
cp "$program" "$out"
