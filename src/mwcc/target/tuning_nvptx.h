/* Tuning constants of --target=nvptx, with their units. tuning.h has those of the CPU targets. */
#ifndef MWCC_TUNING_NVPTX_H
#define MWCC_TUNING_NVPTX_H

enum {
  /* Iterations of a loop between two polls for the host's request to end, a power of two (not measured; a guess). */
  TUNE_POLL_ITERATIONS = 1024,
  /* Iterations before the first poll: few, so that blocks which start after the request end soon (not measured). */
  TUNE_POLL_FIRST = 16,
};

#endif
