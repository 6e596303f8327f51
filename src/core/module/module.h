/* Modules, as module.c (compiling, loading, saving), kernel.c and symbol.c share them.
 *
 * A module is one or more units: the source as it stands, then one for each template instance that was asked for later,
 * compiled from the same source and sharing the first unit's variables. Kernels and symbols of all units stand in one
 * list each, an entry for each linkage name. The lists only grow; what an entry points to stays where it is. */
#ifndef MW_MODULE_H
#define MW_MODULE_H

#include "core/core.h"
#include "core/compile/source.h"

typedef struct mw_kernel_entry {
  const mw_kernel_info *info; /* the unit's */
  void *handle, *unit;        /* the driver's */
  char *name;                 /* finds this kernel and no other: "add(float *)" where "add" is overloaded */
} mw_kernel_entry;

/* A template instance that was asked for. Its kernels may be spelled otherwise: "fill<uint>" is "fill<unsigned int>". */
typedef struct mw_instance {
  char *name;      /* as mw_name_parse spells what was asked for */
  char *full_name; /* what was compiled: with the template's namespaces */
  size_t *kernels; /* indices of kernels: several where the template is overloaded */
  size_t kernel_count;
} mw_instance;

/* A kernel for blocks of one size: specialize.c. */
typedef struct mw_special {
  void *handle;        /* the kernel for all */
  const char *linkage; /* its name; its info's */
  mw_launch_class launches;
  uint64_t threads; /* that were launched so */
  void *made;       /* or NULL: not yet, or it cannot be made */
  bool tried;
  unsigned takes; /* tried: what else it is good for, MW_ANY_WIDTH and MW_ANY_COUNT */
} mw_special;

struct mw_binding;

struct mw_module {
  mw_refs refs;
  mw_refs uses; /* commands in flight, and one while there are handles: the units go with the last */
  mw_device *device;
  unsigned epoch;    /* the device's when it was made */
  mw_source *source; /* NULL where a loaded file holds none */
  mw_text image;     /* the file, where the module was loaded from one */

  pthread_mutex_t lock; /* for the lists below */
  char **logs;          /* what compilers said, longer with each instance that brought warnings: the last one is all */
  size_t log_count;
  void **units;
  size_t unit_count;
  mw_kernel_entry *kernels;
  size_t kernel_count;
  mw_symbol_info *symbols;
  size_t symbol_count;
  mw_instance *instances;
  size_t instance_count;
  mw_special **specials;
  size_t special_count;
  struct mw_binding **bindings; /* of texture and surface references: texture_reference.c */
  size_t binding_count;

  pthread_mutex_t binding; /* guards what is bound */
  pthread_mutex_t making;  /* held while an instance is compiled; taken before `lock` */
};

/* A command that runs the module's code takes a use, and lets go of it when it is done. */
void mw_module_use(mw_module *module);
void mw_module_unuse(mw_module *module);

/* Compile the instance called `name` ("fill<float,4>"), unless it is there, and enter its kernels. */
int mw_module_instantiate(mw_module *module, const char *name);
/* The instance, if it is there. Under the lock. */
const mw_instance *mw_module_find_instance(const mw_module *module, const char *name);

/* What is made of a module's source: all of it with those template instances, or one kernel for blocks of one size. */
typedef struct mw_recipe {
  const char *const *instances;
  size_t instance_count;
  const mw_special *special; /* or NULL */
} mw_recipe;

/* What is done with a compiled file: a failure that is the file's fault has it compiled anew, once. */
typedef int mw_file_action(mw_module *module, const char *path, void *context);
int mw_module_with_file(mw_module *module, const mw_recipe *recipe, mw_file_action *action, void *context);

/* The driver's kernel to launch in place of `handle` with such a grid and blocks: `handle` itself, or one compiled for the
   size of the blocks, for `times` such launches. *settled: the same answer will come for any later launch with such
   blocks. */
void *mw_module_special(mw_module *module, const mw_kernel_info *info, void *handle, const unsigned grid[3],
                        const unsigned block[3], uint64_t times, bool *settled);
void mw_module_forget_specials(mw_module *module);

struct mw_kernel {
  mw_refs refs;
  mw_module *module;
  const mw_kernel_info *info;
  void *handle;
  struct mw_binding **bindings; /* one for each of info->references, or NULL */
};

struct mw_symbol {
  mw_refs refs;
  mw_module *module;
  mw_symbol_info info;
};

#endif
