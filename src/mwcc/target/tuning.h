/* Tuning constants of the CPU targets: thresholds of profit, with their units and, in parentheses, the benchmarks that
 * set them (in bench/kernels, unless a path is given). Unless noted, they were measured on a Zen 4 with two cores.
 *
 * x86-64 and AArch64 share this file: what differs follows from the number of lanes and registers (target.h), and
 * AArch64 was only measured under emulation, which says nothing of speed. --target=nvptx has tuning_nvptx.h.
 *
 * Constants that follow from the hardware or from a format (cache lines, pages, register sizes), and limits of the
 * compiler's own work (depths of searches, sizes of tables), are in the files that use them. */
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
  TUNE_STREAM_LANES = 8,    /* lanes, at most, for kernels that only read and write streams (saxpy) */
  TUNE_STREAMS = 2,         /* arrays that such a kernel loads from, at least (saxpy) */
  TUNE_LINE_REGISTERS = 16, /* registers of sums, if rows are cache lines and trip counts unknown (AVX2 has 16) */
  TUNE_COUNTED_VECTORS = 8, /* vectors of a gang from which on loops compare indices by steps (not measured; a guess) */
  TUNE_GATHER_ARITHMETIC = 4,       /* arithmetic instructions that outweigh one gather (spmv, bfs) */
  TUNE_ONE_GANG_CODE = 4000,        /* instructions times vectors: limit for a block as one gang (scan, radix) */
  TUNE_ONE_GANG_CODE_SMALL = 36000, /* instructions times threads: the same with small registers (scan, radix) */
  /* Instructions for each gather or scatter, below which other gangs are measured (bench/held/widths). */
  TUNE_CANDIDATE_GATHERS = 16,
  TUNE_ONE_GANG_THREADS = 256, /* threads of such a block (scan: 75 % less time with 8 lanes; radix, transpose: 50 %) */
};

/* ---- Paths of gangs (widen/flow/) ---- */

enum {
  /* Instructions times vectors up to which code is duplicated for a uniform path (mandelbrot: 9.5 ms instead of
     10.4). */
  TUNE_UNIFORM_PATH_CODE = 1100,
  /* Instructions times vectors from which on divergent gangs have a fallback function (not recorded). */
  TUNE_FALLBACK_CODE = 300,
  /* Instructions times vectors up to which there is a speculative path (bitonic, conv2d; the limit itself is a guess,
     with room for the copies that selected_access.c makes). */
  TUNE_SPECULATIVE_CODE = 2600,
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
  TUNE_PREFETCH_ROWS = 4,           /* rows that an iteration combines with a prefetched line, at least (sgemm_naive) */
  TUNE_PREFETCH_ROW_ITERATIONS = 16, /* iterations ahead in such a loop (sgemm_naive) */
  TUNE_PREFETCH_LONG = 512,          /* instructions of an iteration that is prefetched for itself (softmax) */
  TUNE_PREFETCH_LONG_ITERATIONS = 3, /* iterations ahead in such a loop (softmax) */
  TUNE_PREFETCH_FILTER_ROW = 256,    /* bytes of a block's row, at most, for filters to prefetch rows (conv2d) */
  TUNE_PREFETCH_FILTER_BLOCKS = 4,   /* blocks ahead in such a filter (conv2d) */
};

/* ---- Memory access (widen/memory/) ---- */

enum {
  TUNE_ELISION_SPAN = 1024,    /* bytes of a gang's vectors that share one page test (softmax with AVX2) */
  TUNE_COLUMN_STRIDE = 4096,   /* bytes between blocks of a column below which lines are written together (transpose) */
  TUNE_STREAMED_LOADS = 4,     /* arrays that are compared at run time with one that is streamed (a guess) */
  TUNE_UNROLLED_LANES = 64,    /* lanes up to which serialised code is unrolled (not measured; a guess) */
  TUNE_SERIALISED_ATOMICS = 4, /* addresses that are computed before their serialised atomics (histogram) */
  TUNE_GATHERED_LANES = 4,     /* up to which quick gathers are replaced by loads (not measured; a guess) */
  TUNE_SCATTERED_LANES = 8,    /* the same of scatters (not measured; a guess) */
  TUNE_COPY_BYTES = 64,        /* bytes of a memcpy of each lane that is done by elements (not measured; a guess) */
  TUNE_PAIRED_STRIDE = 64,     /* bytes between lanes from which on two members are gathered as one (fft) */
};

/* ---- Unrolling of loops with barriers (prepare/barrier_loop_unroll.c) ---- */

enum {
  TUNE_UNROLL_REQUESTED = 2000,   /* instructions, for loops with #pragma unroll (compile time: 7.7 s, now 0.3) */
  TUNE_UNROLL_GENERAL = 1000,     /* the same in code for any block size (compile time of the same kernel) */
  TUNE_UNROLL_BARRIER_LOOP = 400, /* instructions, for loops without a request in code for one block size (fft) */
  TUNE_UNROLL_SMALL_BLOCK = 2000, /* the same where a block has at most so many threads (align_tile: 1300) */
  TUNE_SMALL_BLOCK = 32,
  TUNE_UNROLL_COPIES = 64, /* copies that are assumed if the trip count is not known (a guess) */
};

/* ---- Barriers (widen/barrier_rematerialization.c) ---- */

enum {
  /* Operations that are repeated after a barrier rather than saved: for gangs (layer_norm 1.5, fft and fourier_rows
     1.13 with 4 and 8; fft 1.0 with 12), for single threads. */
  TUNE_REMATERIALIZED_IN_GANGS = 4,
  TUNE_REMATERIALIZED_IN_THREADS = 12,
};

/* ---- Grid-stride loops (grid_stride/) ---- */

enum {
  TUNE_REPEATED_INSTRUCTIONS = 32,      /* instructions that may be recomputed in each iteration (grids) */
  TUNE_REDUCTION_BYTES = 64 << 10,      /* bytes of reduction state of all blocks of a strip (reduce, grids) */
  TUNE_REDUCTION_BLOCKS = 8,            /* blocks of a strip, at least (reduce, grids) */
  TUNE_PRIVATE_SHARED_BYTES = 16 << 10, /* bytes of shared memory of all blocks of a strip (histogram) */
  TUNE_PRIVATE_SHARED_BLOCKS = 4,       /* blocks of such a strip, at least (histogram) */
  TUNE_SKIPPED_PROLOGUE = 64,           /* instructions that a resumed block may recompute (not measured; a guess) */
  TUNE_REDUCTION_ROW =
      16, /* threads of a block's row, at least, for strips: shorter rows leave lanes unused (a guess) */
  TUNE_STRIP_ITERATIONS = 8,     /* iterations of a strip (reduce, grids) */
  TUNE_INTERCHANGED_BLOCKS = 64, /* blocks with consecutive elements in an interchanged loop (grids) */
};

/* ---- After widening (opt/, machine/, codegen/) ---- */

enum {
  TUNE_COMMONING_ITEMS = 6000, /* instructions of a loop after unrolling (conv2d) */
  TUNE_COMMONING_LOADS = 1200, /* and of them, costly loads (conv2d) */
  TUNE_COMMONING_SPARE = 6,    /* registers that are left for temporaries of an unrolled loop (conv2d) */
  TUNE_BLOCKING_ITEMS = 400,   /* instructions of an iteration, at most, for register blocking (a guess) */
  TUNE_ROW_TILE_STRIP = 200,   /* instructions of a strip of rows' tiles, if it has several chunks (bench/held/rows) */
  TUNE_ROW_TILE_CODE = 800,    /* and at most (bench/held/rows) */
  /* The same in code for blocks of any size, which runs until the specialised code is compiled (edit_distance, with
     AVX-512: 240 instead of 90 ms to compile). */
  TUNE_ROW_TILE_GENERAL = 200,
  TUNE_STORE_INSTRUCTIONS = 8, /* instructions executed without need when a conditional store is if-converted (bfs) */
  /* Vector constants plus vectors of a gang above which constants are rematerialised: AVX-512's registers and a few
     more (gelu_tanh, blackscholes: 10 %). */
  TUNE_VECTOR_CONSTANTS = 32 + 8,
  TUNE_STORE_SINKING =
      500, /* slots of a function from which on they begin where they are needed (a switch of 1,000 cases) */
  TUNE_PARTITION_INSTRUCTIONS = 150, /* instructions from which on another thread pays (bench/compiles.lua) */
  TUNE_PARTITION_COPY = 100,         /* cost of copying the module for a thread, in instructions (bench/compiles.lua) */
  TUNE_INLINED_FETCHES = 24,         /* textures are fetched by inlined code at this many places at most (3 s) */
  TUNE_HUGE_FUNCTION = 8000,         /* instructions from which on a function is split (255 barriers with masks) */
  TUNE_SPLIT_MOST = 2000,            /* instructions of each part, at most (the same) */
  /* Instructions of each part, without cold ones, for each value that it takes or returns: from 3 to 7 in the loop of a
     tiled product whose memory is checked, which the calls made 20 times as slow (bench/checks/cost.lua sgemm_tiled);
     9 and more in huge functions without checks. */
  TUNE_SPLIT_CROSSING = 8,
  /* Instructions of an outlined region for each value that is passed to it (bench/compiles.lua; sgemm_tiled). */
  TUNE_OUTLINE_PER_VALUE = 16,
};

#endif
