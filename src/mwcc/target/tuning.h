/* Tuning constants: thresholds that were found by measuring, with their units and, in parentheses, the benchmarks (in
 * bench/kernels, unless a path is given). Unless noted, they were measured on a Zen 4 with two cores; AArch64 uses the
 * same. Constants that follow from the hardware or from a format (cache lines, pages, register sizes), and limits of
 * the compiler's own work, are in the files that use them. */
#ifndef MWCC_TUNING_H
#define MWCC_TUNING_H

/* ---- Vectors of a gang (divergence/cost_model.c) ---- */

enum {
  TUNE_VECTORS_FEW = 2,         /* vectors of a gang, with divergent loops or gathers (mandelbrot, spmv) */
  TUNE_VECTORS_SOME = 4,        /* vectors of a gang, for most kernels (saxpy, stencil) */
  TUNE_VECTORS_MANY = 8,        /* vectors of a gang that share loaded values (sgemm_naive) */
  TUNE_VECTORS_MUCH_CODE = 256, /* instructions of a kernel above which gangs have fewer vectors (sha256) */
  /* Sums of a thread up to which a block is made one gang (sgemm_tiled; tiles of 4 x 4 per thread were slower). */
  TUNE_BLOCKED_SUMS = 1,
  TUNE_BLOCKED_VECTORS = 32, /* vectors of a gang with register blocking (sgemm_tiled) */
  TUNE_MERGE_ROWS = 4,       /* rows of a block, at least, for it to be merged (sgemm_tiled with blocks of 16 x 16) */
  /* Lanes of a register from which on merging blocks pays (sgemm_tiled: 10 % with 8 lanes, 20 % with 16, on a Xeon). */
  TUNE_MERGE_LANES = 8,
  TUNE_STREAM_LANES = 8,            /* lanes, at most, for kernels that only read and write streams (saxpy) */
  TUNE_GATHER_ARITHMETIC = 4,       /* arithmetic instructions that outweigh one gather (spmv, bfs) */
  TUNE_ONE_GANG_CODE = 4000,        /* instructions times vectors: limit for a block as one gang (scan, radix) */
  TUNE_ONE_GANG_CODE_SMALL = 36000, /* instructions times threads: the same with small registers (scan, radix) */
  TUNE_ONE_GANG_THREADS = 256, /* threads of such a block (scan: 75 % less time with 8 lanes; radix, transpose: 50 %) */
};

/* ---- Paths of gangs (widen/flow/) ---- */

enum {
  /* Instructions times vectors up to which code is duplicated for a uniform path (mandelbrot: 9.5 ms instead of
     10.4). */
  TUNE_UNIFORM_PATH_CODE = 1100,
  /* Instructions times vectors from which on divergent gangs have a fallback function (not recorded). */
  TUNE_FALLBACK_CODE = 300,
  TUNE_BLOCK_ROWS = 32, /* neighbouring blocks that are run row by row (stencil, conv2d) */
};

/* ---- Prefetch (widen/memory/prefetch.c, opt/sparse_prefetch.c) ---- */

enum {
  TUNE_PREFETCH_NEAR = 4096,          /* bytes within which hardware prefetchers suffice (a page) */
  TUNE_PREFETCH_BLOCKS = 2,           /* blocks, of which one prefetches (sgemm_tiled) */
  TUNE_PREFETCH_BLOCK_ITERATIONS = 4, /* iterations ahead in that block (sgemm_tiled) */
  TUNE_PREFETCH_LEAST = 1024,         /* bytes ahead, for gangs that run one after the other (kmeans) */
  /* Bytes that may be prefetched ahead and still be in a cache when they are loaded (not recorded). */
  TUNE_PREFETCH_CACHED = 1 << 20,
  /* Arithmetic instructions of an iteration above which out-of-order execution does not reach the next iteration's
     loads (blackscholes). */
  TUNE_PREFETCH_LOOKAHEAD = 48,
  TUNE_PREFETCH_PLACES = 2,       /* loads from different places of an array: at least so many (conv2d) */
  TUNE_PREFETCH_MOST_PLACES = 12, /* and at most so many (conv2d) */
  TUNE_PREFETCH_AHEAD = 4096,     /* bytes ahead (conv2d) */
  /* Bytes ahead of consecutive indices (spmv with rows of 1 to 16: 7.4 ms instead of 8.8; less than 1 KiB ahead was
     slower than no prefetch). */
  TUNE_SPARSE_PREFETCH_AHEAD = 1536,
  TUNE_SPARSE_PREFETCH_STREAMS = 4, /* streams of a loop that are prefetched (spmv) */
};

/* ---- Grid-stride loops (grid_stride/) ---- */

enum {
  TUNE_REPEATED_INSTRUCTIONS = 32,      /* instructions that may be recomputed in each iteration (grids) */
  TUNE_REDUCTION_BYTES = 64 << 10,      /* bytes of reduction state of all blocks of a strip (reduce, grids) */
  TUNE_REDUCTION_BLOCKS = 8,            /* blocks of a strip, at least (reduce, grids) */
  TUNE_PRIVATE_SHARED_BYTES = 16 << 10, /* bytes of shared memory of all blocks of a strip (histogram) */
};

/* ---- After widening (opt/, machine/, codegen/) ---- */

enum {
  TUNE_COMMONING_ITEMS = 6000, /* instructions of a loop after unrolling (conv2d) */
  TUNE_COMMONING_LOADS = 1200, /* and of them, costly loads (conv2d) */
  TUNE_STORE_INSTRUCTIONS = 8, /* instructions executed without need when a conditional store is if-converted (bfs) */
  /* Vector constants plus vectors of a gang above which constants are rematerialised: AVX-512's registers and a few
     more (gelu_tanh, blackscholes: 10 %). */
  TUNE_VECTOR_CONSTANTS = 32 + 8,
  TUNE_PARTITION_INSTRUCTIONS = 150, /* instructions from which on another thread pays (bench/compiles.lua) */
  /* Instructions of an outlined region for each value that is passed to it (bench/compiles.lua; sgemm_tiled). */
  TUNE_OUTLINE_PER_VALUE = 16,
};

#endif
