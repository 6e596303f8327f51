/* Launches, as launch.c (configuring, running) and arguments.c (setting arguments) share them. */
#ifndef MW_LAUNCH_H
#define MW_LAUNCH_H

#include "command.h"
#include "core/module/module.h"
#include "core/texture/texture.h"

/* A texture or surface that is an argument, or whose handle stands inside of one. */
typedef struct mw_launch_texture_entry {
  size_t param;
  bool inside; /* of a struct, whichever */
  mw_texture *texture;
} mw_launch_texture_entry;

struct mw_launch {
  mw_refs refs;
  unsigned epoch; /* its module's */
  mw_device *device;
  mw_command *command; /* of its last run, kept to be queued again with the same arrays; or NULL */
  /* What the driver gets, which needs `site` alone to be whole where there is a command and a driver's kernel; that is NULL
     where it is to be asked for at every run (specialize.c). */
  mw_launch_request request;
  unsigned char *params; /* request.params, behind the struct as `arrays` and `set` */
  mw_kernel *kernel;
  size_t missing;     /* parameters that are not set */
  size_t array_count; /* parameters that are arrays */
  mw_array **kept;    /* by mw_launch_keep */
  size_t kept_count, kept_capacity;
  mw_launch_texture_entry *textures;
  size_t texture_count, texture_capacity;
  /* One entry a parameter: */
  mw_array **arrays; /* NULL where the parameter is no array */
  bool *set;
};

/* The driver's kernel for `times` runs more; request.kernel is set where it will be the same for all later ones. (launch.c) */
void *mw_launch_choose(mw_launch *launch, uint64_t times);
/* Whether its module went with a reset of the device. */
bool mw_launch_is_lost(const mw_launch *launch);
/* A pointer parameter's array without a look at its type and layout, for kernels that were made for them; keeps it. */
int mw_launch_operand(mw_launch *launch, size_t i, mw_array *array);
/* Its arguments change: what is in flight is no run of the launch as it is now. */
static inline void mw_launch_changes(mw_launch *launch) {
  if (launch->command) mw_command_drop(launch->command);
  launch->command = NULL;
}
/* "saxpy(int n, float a, const float *x, float *y)". Yours: free. */
char *mw_launch_signature(const mw_kernel_info *kernel);
/* "parameter 3 'x' of saxpy". */
typedef struct mw_place {
  char text[256];
} mw_place;
mw_place mw_launch_place(const mw_launch *launch, size_t i);

#endif
