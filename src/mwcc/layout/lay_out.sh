#!/bin/sh
# Reorders mwcc's code by a profile (profile.sh), so that code that is often executed together is adjacent.
#
#   sh lay_out.sh BOLT PROGRAM PROFILE OUT
#
# With an empty profile, whose reason profile.sh has printed, OUT is a copy of PROGRAM; also if BOLT fails, with a message.
set -u
bolt=$1 program=$2 profile=$3 out=$4

rm -f "$out"
if [ -s "$profile" ]; then
  log=$(mktemp) || exit 1
  trap 'rm -f "$log"' EXIT
  "$bolt/llvm-bolt" "$program" -data "$profile" -o "$out" -reorder-blocks=ext-tsp -reorder-functions=cdsort \
    -split-functions -split-all-cold -split-eh -icf=1 >"$log" 2>&1 && exit
  echo "mwcc's code is not reordered: BOLT failed ($(tail -n 1 "$log")). To build without BOLT: make BOLT=" >&2
fi
cp "$program" "$out"
