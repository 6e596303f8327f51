#!/bin/sh
# Packs what `make bench ARGS=--scaling` needs into a folder that runs where neither Lua nor a compiler is installed, on
# processors with at least the features of $CPU:
#
#   make bundle                   makes build/release/bundle
#   sh build/release/bundle/run   runs it, there or copied elsewhere
set -eu

home=$1 # the build folder
CPU=${CPU:-x86-64-v4}
out=$home/bundle
rm -rf "$out"
mkdir -p "$out/bench" "$out/lib/bench" "$out/modules"

for kernel in data sgemm_naive sgemm_tiled conv2d nbody blackscholes mandelbrot kmeans sha256 radix cholesky spheres; do
  "$home/bin/mwcc" --mcpu="$CPU" bench/kernels/*/"$kernel.cu" -o "$out/modules/$kernel.mwo"
done
cc -std=c11 -D_GNU_SOURCE -O3 -march="$CPU" -ffast-math -fopenmp -o "$out/lib/bench/limits" \
  bench/peers/limits.c bench/peers/problems.c bench/peers/classics.c bench/peers/fields.c bench/peers/functions.c -lm
mkdir -p "$out/bench/problems"
cp bench/*.lua "$out/bench"
cp bench/problems/*.lua "$out/bench/problems"
cp -r lua "$out/lua"
mkdir -p "$out/lib/lua/5.4/moonwarp"
cp "$home/lib/lua/5.4/moonwarp/core.so" "$out/lib/lua/5.4/moonwarp"
lua=$(command -v lua5.4)
cp "$lua" "$out/lib/lua5.4"
# the libraries that may be missing elsewhere: all but the C library's own
for file in "$lua" "$out/lib/bench/limits" "$home/lib/libmoonwarp.so"; do
  ldd "$file" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'
done | sort -u | grep -v -E '/(libc|libm|libmvec|libpthread|libdl|librt|ld-linux[^/]*)\.so' |
  while read -r library; do cp -L "$library" "$out/lib"; done
cp "$home/lib/libmoonwarp.so" "$out/lib"

cat >"$out/run" <<'END'
#!/bin/sh
# make bench ARGS=--scaling, from this folder alone.
cd "$(dirname "$0")" || exit 1
here=$(pwd)
export LD_LIBRARY_PATH="$here/lib" MOONWARP_DEVICE=cpu MOONWARP_HOME="$here/lib" BENCH_MODULES="$here/modules"
export LUA_PATH="$here/lua/?.lua;$here/lua/?/init.lua;;" LUA_CPATH_5_4="$here/lib/lua/5.4/?.so;;"
exec ./lib/lua5.4 bench/run.lua --scaling
END
echo "$out"
