#!/bin/sh
# Writes the headers that kernels see on an NVIDIA GPU as C (src/cuda/compile/headers.c includes it): sh embed.sh DEVICE_FOLDER
set -eu
cd "$1"
files="nvrtc/prelude.h nvrtc/cache_hints.h moonwarp/checked_events.h moonwarp/words.h moonwarp/guard_layout.h moonwarp/guard.h moonwarp/assertion.h moonwarp/sync/grid_barrier.h moonwarp/sync/cluster.h moonwarp/sync/mbarrier.h moonwarp/sync/bulk_copy.h cuda_awbarrier*.h
  moonwarp/atomic/atomic_builtins.h moonwarp/atomic/lock_free.h cmath moonwarp/arithmetic/limits.h moonwarp/math/math_overloads.h moonwarp/math/classification.h moonwarp/math/long_double.h moonwarp/sync/dependent_launch.h moonwarp/sync/graph_condition.h
  moonwarp/texture/texture_kinds.h
  cuda/atomic cuda/barrier cuda/pipeline cuda/std/atomic cuda/std/barrier cuda/std/c[afl]* cuda/std/cst[dr]i* cuda/std/cstdlib cuda/std/cmath cuda/std/complex moonwarp/sync/pipeline.h cuda_pipeline*.h moonwarp/atomic/atomic_objects.h
  moonwarp/sync/block_barrier.h moonwarp/sync/block_wait.h moonwarp/warp/block_tiles.h cuComplex.h math_constants.h cuda_fp16.h cuda_bf16.h cuda_fp[468].h cuda.h library_types.h nv/target
  moonwarp/arithmetic/narrow_float.h moonwarp/arithmetic/byte_float.h
  cooperative_groups.h moonwarp/warp/group_*.h moonwarp/sync/async_copy.h cooperative_groups/*.h curand*.h moonwarp/random/*.h moonwarp/random/*/*.h first/cub/cub.cuh
  moonwarp/algorithms/*.h mma.h moonwarp/tensor/fragment.h moonwarp/tensor/fragment_ptx.h"
n=0
list=
for file in $files; do
  [ -f "$file" ] || continue
  n=$((n + 1))
  echo "static const unsigned char text_$n[] = {"
  od -An -v -tu1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
  echo "0};"
  name=$file
  [ "$file" != nvrtc/prelude.h ] || name=moonwarp/prelude.h
  name=${name#first/}
  list="$list  {\"$name\", (const char *)text_$n},
"
  # as headers in a folder of ours name it
  case $file in cuda/*) list="$list  {\"../${file#cuda/}\", (const char *)text_$n},
" ;; esac
  case $file in nvrtc/*) continue ;; esac
  list="$list  {\"../$name\", (const char *)text_$n},
"
done
printf 'static const embedded embedded_headers[] = {\n%s};\n' "$list"
