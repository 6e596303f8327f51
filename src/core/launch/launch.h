/* Launches: declarations shared by launch.c (configuring, running) and arguments.c (setting arguments). */
#ifndef MW_LAUNCH_H
#define MW_LAUNCH_H

#include "command.h"
#include "core/module/module.h"
#include "core/texture/texture.h"

/* A texture or surface that is an argument, or whose handle is inside an argument. */
typedef struct mw_launch_texture_entry {
  size_t param;
  bool inside; /* its handle is inside some struct argument */
  mw_texture *texture;
} mw_launch_texture_entry;

struct mw_launch {
  mw_refs refs;
  unsigned epoch; /* its module's */
  mw_device *device;
  mw_command *command; /* of its last run, held to be queued again with the same arrays; or NULL */
  /* The request for the driver. Only `site` has to be set if there is a command and request.kernel is not NULL; that is
     NULL if the kernel has to be chosen at every run (specialize.c). */
  mw_launch_request request;
  unsigned char *params; /* request.params; allocated after the struct, as are `arrays` and `set` */
  mw_kernel *kernel;
  size_t missing;      /* the number of parameters that are not set */
  size_t array_count;  /* the number of parameters that are arrays */
  mw_array **retained; /* by mw_launch_keep */
  size_t retained_count, retained_capacity;
  mw_launch_texture_entry *textures;
  size_t texture_count, texture_capacity;
  /* One entry for each parameter: */
  mw_array **arrays; /* NULL if the parameter is not an array */
  bool *set;
};

/* The number of those who note launches, which others pay with one load: threads that note the CUDA C of what they
   launch (launched_sources.c), and checked runs (check_report.c). Noting a launch. */
extern _Atomic int mw_launches_noted;
void mw_sources_note(const mw_launch *launch);
void mw_check_note(const mw_launch *launch);

/* Choose the driver's kernel for `times` more runs; sets request.kernel if it will be the same for all later ones.
   (launch.c) */
void *mw_launch_choose(mw_launch *launch, uint64_t times);
/* Whether its module was lost in a reset of the device. */
bool mw_launch_is_lost(const mw_launch *launch);
/* Set a pointer parameter to an array without checking type and layout, for generated kernels; retains the array. */
int mw_launch_operand(mw_launch *launch, size_t i, mw_array *array);
/* The arguments change, so that the command of runs in flight cannot be queued again. */
static inline void mw_launch_changes(mw_launch *launch) {
  if (launch->command) mw_command_drop(launch->command);
  launch->command = NULL;
}
/* MW_INVALID_CLUSTER_SIZE if the kernel's grid cannot have such clusters. (cluster.c) */
int mw_cluster_check(const mw_kernel *kernel, const unsigned grid[3], const unsigned cluster[3]);
/* "saxpy(int n, float a, const float *x, float *y)". Yours: free. */
char *mw_launch_signature(const mw_kernel_info *kernel);
/* "parameter 3 'x' of saxpy". */
typedef struct mw_place {
  char text[256];
} mw_place;
mw_place mw_launch_place(const mw_launch *launch, size_t i);

#endif
