/* Modules: declarations shared by module.c (compiling, loading, saving), kernel.c and symbol.c.
 *
 * A module consists of one or more units: the source itself, then one for each template instance that was requested
 * later, compiled from the same source and sharing the first unit's variables. Kernels and symbols of all units are in
 * one list each, with an entry for each linkage name. The lists only grow; the entries' targets do not move. */
#ifndef MW_MODULE_H
#define MW_MODULE_H

#include "core/core.h"
#include "core/compile/source.h"

typedef struct mw_kernel_entry {
  const mw_kernel_info *info; /* the unit's */
  void *handle, *unit;        /* the driver's */
  char *name;                 /* unambiguous: "add(float *)" if "add" is overloaded */
} mw_kernel_entry;

/* A template instance that was requested. Its kernels may be spelled differently: "fill<uint>" is "fill<unsigned
   int>". */
typedef struct mw_instance {
  char *name;      /* the requested name, as mw_name_parse spells it */
  char *full_name; /* the compiled name, with the template's namespaces */
  size_t *kernels; /* indices of kernels: several if the template is overloaded */
  size_t kernel_count;
} mw_instance;

/* A kernel specialised for a block class: specialize.c. */
typedef struct mw_special {
  void *handle;        /* the general kernel */
  const char *linkage; /* its name; its info's */
  mw_launch_class launches;
  uint64_t threads;                 /* the number of threads launched in this class */
  void *made;                       /* the specialised kernel; NULL: not yet, or impossible */
  void *unit;                       /* of `made` */
  bool tried, queued;               /* queued: to be compiled in the background */
  unsigned takes;                   /* if tried: the other launches that it suits, MW_ANY_WIDTH and MW_ANY_COUNT */
  struct mw_candidates *candidates; /* candidates.c's */
} mw_special;

/* A unit compiled again for watchers: watched_unit.c. */
typedef struct mw_observed_unit {
  void *parent, *unit; /* unit: NULL: it could not be made */
  unsigned observes;
} mw_observed_unit;

struct mw_binding;

struct mw_module {
  mw_refs refs;
  mw_refs uses; /* commands in flight, and one while there are handles: the units are unloaded with the last */
  mw_device *device;
  unsigned epoch;    /* the device's when it was made */
  uint64_t owner;    /* of its kernels' launches: failure.c */
  mw_source *source; /* NULL if a loaded file contains none */
  mw_text image;     /* the file, where the module was loaded from one */

  pthread_mutex_t lock; /* for the lists below */
  char **logs;          /* compilers' output: each log extends the previous one, the last is complete */
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
  mw_observed_unit *observed;
  size_t observed_count;
  struct mw_binding **bindings; /* of texture and surface references: texture_reference.c */
  size_t binding_count;

  pthread_mutex_t binding; /* guards the bindings */
  pthread_mutex_t making;  /* held while an instance is compiled; taken before `lock` */
};

/* A command that runs the module's code takes a use, and releases it when it is done. */
void mw_module_use(mw_module *module);
void mw_module_unuse(mw_module *module);

/* Compile the instance called `name` ("fill<float,4>"), unless it exists, and enter its kernels. */
int mw_module_instantiate(mw_module *module, const char *name);
/* The instance, if it exists. Under the lock. */
const mw_instance *mw_module_find_instance(const mw_module *module, const char *name);

/* What to compile from a module's source: the whole source with template instances, or one kernel for a block class. */
typedef struct mw_recipe {
  const char *const *instances;
  size_t instance_count;
  const mw_special *special; /* or NULL */
  bool if_cached;            /* else MW_FILE_NOT_FOUND, without a message: nothing is compiled */
  void *observed;            /* the unit to compile for watchers, or NULL; and for which */
  unsigned observes;
} mw_recipe;

/* The use of a compiled file: after a failure that the file causes, it is compiled again, once. */
typedef int mw_file_action(mw_module *module, const char *path, void *context);
int mw_module_with_file(mw_module *module, const mw_recipe *recipe, mw_file_action *action, void *context);

/* The driver's kernel to launch in place of `handle` with such a grid and blocks: `handle` itself, or a specialised
   one; counts `times` launches. *settled: the result is the same for all later launches with such blocks. */
void *mw_module_special(mw_module *module, const mw_kernel_info *info, void *handle, const unsigned grid[3],
                        const unsigned block[3], uint64_t times, bool *settled);
void mw_module_forget_specials(mw_module *module);
/* candidates.c: look for code that is faster than the specialised kernel's, in the background. */
void mw_candidates_begin(mw_module *module, mw_special *special);
/* Compile and load the class's kernel; NULL if it cannot be compiled. No failure is reported. (specialize.c) */
void *mw_module_make_special(mw_module *module, mw_special *special);
/* compiled_file.c: the gang that was found to be the fastest for the special's class, in this process or another. */
bool mw_module_recall_choice(const mw_module *module, const mw_special *special, uint32_t *gang);
void mw_module_remember_choice(const mw_module *module, const mw_special *special, uint32_t gang);
/* The driver's kernel to launch for watchers: `handle`, compiled for them. */
int mw_module_observed(mw_module *module, const mw_kernel_info *info, void *handle, unsigned observes, void **out);
/* The kernel of the unit with that linkage name; the unit that contains the kernel; or NULL. (specialize.c) */
void *mw_module_kernel_in(const mw_driver *driver, void *unit, const char *linkage);
void *mw_module_unit_of(mw_module *module, const void *handle);

struct mw_kernel {
  mw_refs refs;
  mw_module *module;
  const mw_kernel_info *info;
  void *handle;
  struct mw_binding **bindings; /* one for each of info->references, or NULL if there are none */
};

struct mw_symbol {
  mw_refs refs;
  mw_module *module;
  mw_symbol_info info;
};

#endif
