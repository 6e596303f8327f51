/* The data of measured runs on a GPU, for kernels (calls.h), for mwcc (src/mwcc/gpu/measured_run.c) and for the host
 * (src/cuda/measure). Pointers are integers, so that the layout is the same for all. */
#ifndef MOONWARP_MEASURED_LAYOUT_H
#define MOONWARP_MEASURED_LAYOUT_H

enum {
  MW_MEASURED_SPACES = 6, /* of an access, by mw_site.space; 0: none of 1 to 5 */
  MW_MEASURED_COPIES = 8, /* of the sums, so that multiprocessors wait less for each other */
  MW_MEASURED_STEPS = 512,
  MW_MEASURED_CODE = 8, /* kinds of sites (mw_site_kind): a basic block, and what it does on one line */
  MW_MEASURED_WORK = 9,
  MW_MEASURED_CLASSES = 7 /* of instructions: MW_WORK_CLASSES */
};

/* The counts of a site, for accesses in one space. Their meaning: src/cpu/watch/tallies.h, coalescing.h. */
typedef struct mw_measured_sums {
  unsigned long long executed, lanes, full, divergent;
  unsigned long long requests, sectors, ideal, wavefronts, least, bytes, used, collisions, rounds, round_wavefronts,
      moved;
} mw_measured_sums;

/* A sample for drawings: the first call at a site in the launch's first block, and the first warp's steps. */
typedef struct mw_measured_sample {
  unsigned lanes, is_taken; /* lanes: 0: there is none */
  unsigned long long at[32];
} mw_measured_sample;

typedef struct mw_measured_step {
  unsigned site, lanes;
} mw_measured_step;

/* A kernel's launches; its address is a kernel's last parameter. */
typedef struct mw_measured_launch {
  unsigned long long sums;    /* of each copy, of each site, of each space: mw_measured_sums */
  unsigned long long samples; /* of each site: mw_measured_sample */
  unsigned site_count;
  unsigned rules; /* mw_rule_set */
  unsigned step_count, padding;
  mw_measured_step steps[MW_MEASURED_STEPS];
} mw_measured_launch;

/* A call's description of an access: its kind (mw_site_kind) in the lowest bits, its space (mw_site.space) << 4,
   and: */
enum {
  MW_MEASURED_KIND = 15,
  MW_MEASURED_SPACE = 4,
  MW_MEASURED_UNIFORM = 256, /* the address is obviously the same for all lanes */
  MW_MEASURED_SWAPPED = 512  /* of shared memory: a loop of a load and a compare-and-swap */
};

enum { MW_MEASURED_NO_SITE = 0x7fffffff /* of a block or branch that is not counted */ };

/* What a lane does at the place where a mask's lanes meet. */
enum {
  MW_MEASURED_STAYS, /* nothing: it is still on the way */
  MW_MEASURED_GOES,  /* will not come there */
  MW_MEASURED_COMES
};

#endif
