/* Requests to drivers: launches, items of lists, and copies of boxes. The contract is in core.h. */
#ifndef MW_REQUEST_H
#define MW_REQUEST_H

#include "moonwarp.h"

typedef struct mw_completion {
  void (*done)(void *context); /* NULL: nothing to call */
  void *context;
} mw_completion;

typedef struct mw_launch_request {
  void *kernel;                           /* from driver->module_kernel */
  unsigned grid[3], block[3], cluster[3]; /* of a cluster: its blocks; 0: no clusters */
  size_t dynamic_shared;
  /* cooperative: all blocks must be resident at once, MW_COOPERATIVE_LAUNCH_TOO_LARGE if they cannot be. dependent: the
     launch may begin before the preceding one in its stream has ended, when that one allows it. */
  bool cooperative, dependent;
  const void *params; /* copied by the driver before it returns */
  size_t param_bytes;
  /* Bindings of texture and surface references: handles, and the references' linkage names; copied likewise. */
  size_t reference_count;
  const char *const *reference_names;
  const uint64_t *references;
  const char *site; /* "script.lua:12" or NULL; copied */
  uint64_t owner;   /* raises its failure: failure.c */
  void *watch;      /* of driver->watch_new: the kernel is of a unit that driver->observe compiled for it; or NULL */
  mw_completion completion;
} mw_launch_request;

/* A conditional node's items: MW_LIST_IF, WHILE or SWITCH, whose `target` is the address of the 4 bytes that are tested;
   each body's items after a MW_LIST_BODY; MW_LIST_END. Bodies may have conditional nodes. */
typedef enum mw_list_mark {
  MW_LIST_WORK,
  MW_LIST_IF,
  MW_LIST_WHILE,
  MW_LIST_SWITCH,
  MW_LIST_BODY,
  MW_LIST_END
} mw_list_mark;

/* An item of a list (mw_driver.list_new): a mark; or a launch (its completion is ignored; it is not cooperative and has no
   references); or, with a pattern, a fill, else a copy, of `count` elements of `size` bytes. */
typedef struct mw_list_item {
  mw_list_mark mark;
  const mw_launch_request *launch; /* or NULL */
  uint64_t target, source;
  const void *pattern;
  size_t size, count;
} mw_list_item;

/* `depth` slices of `height` rows of `width` bytes; pitch and slice: the distances between rows and between slices in
   bytes. None of them is 0, and neither rows nor slices overlap. */
typedef struct mw_box {
  uint64_t target, source;
  size_t target_pitch, target_slice, source_pitch, source_slice, width, height, depth;
} mw_box;

/* A copy that involves a CUDA array of the driver (array_new), and one of its sides: `array` with the box's position in
   it, x in bytes; or host or device memory, with a pitch and the distance between slices in rows. */
typedef struct mw_array_side {
  uint64_t array; /* 0: memory */
  int level;
  size_t x, y, z, row_pitch, rows;
  uint64_t address;
} mw_array_side;

typedef struct mw_array_box {
  mw_array_side target, source;
  size_t width, height, depth;
} mw_array_box;

#endif
