#!/bin/sh
# dieharder's tests of the words of each kind of generator: a line for each test, with its p-value.
#   sh bench/random/dieharder.sh [KIND…]
# TESTS are numbers of dieharder's tests (dieharder -l), all by default, which takes an hour a kind; SEED is 1 by default.
# Sobol's sequences are not random: they fill their space evenly, and fail.
set -e
cd "$(dirname "$0")/../.."
eval "$(make -s env)"
for kind in ${*:-philox xorwow mrg32k3a mtgp32 mt19937}; do
  for test in ${TESTS:--1}; do
    if [ "$test" = -1 ]; then tests=-a; else tests="-d $test"; fi
    luajit bench/random/words.lua "$kind" "${SEED:-1}" 2>/dev/null | dieharder -g 200 -D test_name -D ntuple -D psamples -D pvalues \
      -D assessment $tests | sed "s/^/$kind|/"
  done
done
