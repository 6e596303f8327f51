/* Tuning constants for x86-64: thresholds that measurements have set, by unit and benchmark (bench/kernels, unless said). They
 * were taken on a Zen 4 with two processors where nothing else is said; AArch64 takes the same. What follows from the
 * hardware or from a format (lines, pages, register sizes) and what bounds the compiler's own work stands in its file. */
#ifndef MWCC_TUNING_H
#define MWCC_TUNING_H

/* ---- Vectors of a gang (divergence/cost_model.c) ---- */

enum {
  TUNE_VECTORS_FEW = 2,         /* vectors of a gang where lanes leave loops one by one, or gather (mandelbrot, spmv) */
  TUNE_VECTORS_SOME = 4,        /* vectors, of most kernels (saxpy, stencil) */
  TUNE_VECTORS_MANY = 8,        /* vectors, where they share what is loaded (sgemm_naive) */
  TUNE_VECTORS_MUCH_CODE = 256, /* instructions of a kernel from which on it has fewer (sha256) */
  TUNE_BLOCKED_SUMS =
      1, /* sums of a thread for which a block is one gang (sgemm_tiled; with tiles of 4 x 4 a thread it was slower) */
  TUNE_BLOCKED_VECTORS = 32, /* vectors of a gang whose loop is blocked for registers (sgemm_tiled) */
  TUNE_MERGE_ROWS = 4,       /* rows of blocks that are merged (sgemm_tiled with blocks of 16 x 16) */
  TUNE_MERGE_LANES =
      8, /* lanes of processors that gain by it (sgemm_tiled: 10 % with 8 lanes, 20 % with 16, on a Xeon) */
  TUNE_STREAM_LANES = 8,            /* lanes of kernels that only read and write streams (saxpy) */
  TUNE_GATHER_ARITHMETIC = 4,       /* arithmetic instructions that make up for one gather (spmv, bfs) */
  TUNE_ONE_GANG_CODE = 4000,        /* instructions, times vectors, of a block that is one gang (scan, radix) */
  TUNE_ONE_GANG_CODE_SMALL = 36000, /* the same by threads, where registers are small (scan, radix) */
  TUNE_ONE_GANG_THREADS = 256, /* threads of such a block (scan: 75 % less time with 8 lanes; radix, transpose: 50 %) */
};

/* ---- Paths of gangs (widen/flow/) ---- */

enum {
  TUNE_UNIFORM_PATH_CODE =
      1100, /* instructions, times vectors, that are worth having twice (mandelbrot: 10.4 ms became 9.5) */
  TUNE_FALLBACK_CODE =
      300,              /* instructions, times vectors, from which on divergent gangs have a function (not recorded) */
  TUNE_BLOCK_ROWS = 32, /* blocks side by side that are run row by row (stencil, conv2d) */
};

/* ---- Prefetch (widen/memory/prefetch.c, opt/sparse_prefetch.c) ---- */

enum {
  TUNE_PREFETCH_NEAR = 4096,          /* bytes, within which processors prefetch by themselves (a page) */
  TUNE_PREFETCH_BLOCKS = 2,           /* one of so many blocks prefetches (sgemm_tiled) */
  TUNE_PREFETCH_BLOCK_ITERATIONS = 4, /* iterations ahead, then (sgemm_tiled) */
  TUNE_PREFETCH_LEAST = 1024,         /* bytes ahead, where gangs follow each other (kmeans) */
  TUNE_PREFETCH_KEPT = 1 << 20,       /* bytes between a prefetch and its load that caches keep well (not recorded) */
  TUNE_PREFETCH_IN_SIGHT =
      48, /* arithmetic instructions of an iteration beyond which a processor does not see the next loads (blackscholes) */
  TUNE_PREFETCH_PLACES = 2,       /* places of an array that a kernel loads from, for it to be prefetched (conv2d) */
  TUNE_PREFETCH_MOST_PLACES = 12, /* and the most (conv2d) */
  TUNE_PREFETCH_AHEAD = 4096,     /* bytes ahead (conv2d) */
  TUNE_SPARSE_PREFETCH_AHEAD =
      1536, /* bytes ahead of a run of indices (spmv, rows of 1 to 16: 8.8 ms became 7.4; less than 1 KiB ahead was slower than none) */
  TUNE_SPARSE_PREFETCH_RUNS = 4, /* runs of a loop (spmv) */
};

/* ---- Grid-stride loops (grid_stride/) ---- */

enum {
  TUNE_REPEATED_INSTRUCTIONS = 32,      /* instructions that each iteration repeats (grids) */
  TUNE_REDUCTION_BYTES = 64 << 10,      /* bytes of sums that blocks keep between iterations (reduce, grids) */
  TUNE_REDUCTION_BLOCKS = 8,            /* blocks, fewer of which do not pay (reduce, grids) */
  TUNE_PRIVATE_SHARED_BYTES = 16 << 10, /* bytes of shared memory of all blocks that take turns (histogram) */
};

/* ---- After widening (opt/, machine/, codegen/) ---- */

enum {
  TUNE_COMMONING_ITEMS = 6000, /* instructions of an unrolled loop (conv2d) */
  TUNE_COMMONING_LOADS = 1200, /* the costly ones of them (conv2d) */
  TUNE_STORE_INSTRUCTIONS = 8, /* instructions that are run whether or not there is a store (bfs) */
  TUNE_VECTOR_CONSTANTS =
      32 +
      8, /* vector constants and vectors of a gang: AVX-512's registers, and a few (gelu_tanh, blackscholes: 10 %) */
  TUNE_SHARE_INSTRUCTIONS = 150, /* instructions for which another thread pays (bench/compiles.lua) */
  TUNE_OUTLINE_PER_VALUE =
      16, /* instructions of the second half for each value that is handed over (bench/compiles.lua; sgemm_tiled) */
};

#endif
