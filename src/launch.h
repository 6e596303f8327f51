/* Launches, as launch.c (configuring, running) and launch_arguments.c (setting arguments) share them. */
#ifndef MW_LAUNCH_H
#define MW_LAUNCH_H

#include "command.h"
#include "module.h"
#include "texture.h"

/* A texture or surface that is an argument, or whose handle stands inside of one. */
typedef struct mw_launch_texture_entry {
  size_t param;
  bool inside; /* of a struct, whichever */
  mw_texture *texture;
} mw_launch_texture_entry;

struct mw_launch {
  mw_refs refs;
  mw_kernel *kernel;
  unsigned grid[3], block[3];
  size_t dynamic_shared;
  bool cooperative;
  mw_command *command; /* of its last run, kept to be queued again with the same arrays; or NULL */
  void *handle;        /* the driver's kernel for such launches; NULL: to be asked for at every run (special.c) */
  size_t missing;      /* parameters that are not set */
  size_t array_count;  /* parameters that are arrays */
  mw_array **kept;     /* by mw_launch_keep */
  size_t kept_count, kept_capacity;
  mw_launch_texture_entry *textures;
  size_t texture_count, texture_capacity;
  /* All three lie in one piece of memory behind the struct, one entry a parameter: */
  mw_array **arrays; /* NULL where the parameter is no array */
  bool *set;
  unsigned char *params; /* the parameter block */
};

/* The driver's kernel for `times` runs more; launch->handle is set where it will be the same for all later ones. (launch.c) */
void *mw_launch_choose(mw_launch *launch, uint64_t times);
/* Its arguments change: what is in flight is no run of the launch as it is now. */
static inline void mw_launch_changes(mw_launch *launch) {
  if (launch->command) mw_command_drop(launch->command);
  launch->command = NULL;
}
/* "saxpy(int n, float a, const float *x, float *y)". Yours: free. */
char *mw_kernel_signature(const mw_kernel_info *kernel);
/* "parameter 3 'x' of saxpy". */
typedef struct mw_place {
  char text[256];
} mw_place;
mw_place mw_launch_place(const mw_launch *launch, size_t i);

#endif
