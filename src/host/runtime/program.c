/* The program's kernels and variables: its texts and files, and their instances in each context.
 *
 * As with nvcc's programs, the code belongs to the program, and every context has an instance of its own, made on
 * first use there. Names are looked up in the newest text first, and cached. */
#include "host/driver/driver.h"

#include <pthread.h>

typedef struct unit {
  struct unit *next;           /* the one added before */
  char *text, *path, *options; /* text or path */
} unit;

typedef struct alias {
  struct alias *next;
  const void *address;
  char *name;
} alias;

/* A name that was found in a context. When the program gets another text, it is looked up again; the earlier result
   lives on, because others may use it. */
typedef struct name {
  struct name *next;
  unsigned generation;
  char *text;
  mw_kernel *kernel;
  mw_symbol *symbol;
} name;

/* An instance of a unit in a context. */
typedef struct instance {
  struct instance *next;
  const unit *unit;
  mw_module *module;
} instance;

enum { CHAINS = 256 };

typedef struct program {
  instance *instances;
  name *names[CHAINS];
} program;

static struct {
  pthread_mutex_t lock; /* for all fields; held while a unit is compiled */
  unit *units;
  unsigned generation; /* the number of units */
  alias *aliases[CHAINS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *must(void *memory) {
  if (!memory) abort();
  return memory;
}

static char *copy_text(const char *text) { return text ? must(strdup(text)) : NULL; }

/* ---- addresses in the program ---- */

static alias **alias_chain(const void *address) {
  return &all.aliases[(host_address(address) >> 3) * 0x9E3779B97F4A7C15u >> 56];
}

/* Under the lock. */
static const char *name_of(const void *address) {
  const alias *found = *alias_chain(address);
  while (found && found->address != address) found = found->next;
  return found ? found->name : NULL;
}

bool host_is_registered(const void *address) {
  pthread_mutex_lock(&all.lock);
  bool found = name_of(address) != NULL;
  pthread_mutex_unlock(&all.lock);
  return found;
}

/* The name of a kernel or variable: its address's, or itself. */
static int resolve_name(const void *given, int wrong, const char **out) {
  if (!given || host_is_handle(given))
    return host_fail(wrong, given ? "this is a handle, not a name" : "there is no name: NULL was given");
  const char *known = name_of(given);
  *out = known ? known : given;
  return MW_SUCCESS;
}

cudaError_t mwCudaRegister(const void *address, const char *text) {
  if (!address || !text) return host_end(host_fail(MW_INVALID_VALUE, "mwCudaRegister wants an address and a name"));
  pthread_mutex_lock(&all.lock);
  alias *found = *alias_chain(address);
  while (found && found->address != address) found = found->next;
  if (found) {
    free(found->name);
  } else {
    found = must(calloc(1, sizeof *found));
    found->address = address;
    found->next = *alias_chain(address);
    *alias_chain(address) = found;
  }
  found->name = copy_text(text);
  pthread_mutex_unlock(&all.lock);
  return host_end(MW_SUCCESS);
}

/* ---- instances, under the lock ---- */

static program *program_of(host_context *context) {
  if (!context->program) context->program = must(calloc(1, sizeof(program)));
  return context->program;
}

static int make_instance(host_context *context, const unit *u, mw_module **out) {
  program *p = program_of(context);
  for (const instance *i = p->instances; i; i = i->next) {
    if (i->unit != u) continue;
    *out = i->module;
    return MW_SUCCESS;
  }
  int code = u->path ? host_module_from_file(context, u->path, u->options, out)
                     : host_module_from_text(context, u->text, NULL, u->options, out);
  if (code != MW_SUCCESS) return code;
  instance *new = must(calloc(1, sizeof *new));
  *new = (instance){p->instances, u, *out};
  p->instances = new;
  return MW_SUCCESS;
}

static void drop_names(program *p) {
  for (size_t i = 0; i < CHAINS; i++) {
    for (name *n = p->names[i], *next; n; n = next) {
      next = n->next;
      mw_kernel_release(n->kernel);
      mw_symbol_release(n->symbol);
      free(n->text);
      free(n);
    }
  }
}

void host_program_drop(host_context *context) {
  pthread_mutex_lock(&all.lock);
  program *p = context->program;
  context->program = NULL;
  if (p) {
    drop_names(p);
    for (instance *i = p->instances, *next; i; i = next) {
      next = i->next;
      mw_module_release(i->module);
      free(i);
    }
    free(p);
  }
  pthread_mutex_unlock(&all.lock);
}

/* ---- adding ---- */

static void unit_free(unit *u) {
  free(u->text);
  free(u->path);
  free(u->options);
  free(u);
}

/* A unit is compiled before it is added: a text that cannot be compiled changes nothing. */
static int add_unit(const char *text, const char *path, const char *options) {
  host_context *context;
  mw_module *module;
  int code = host_context_current(&context);
  if (code != MW_SUCCESS) return code;
  if (!text && !path) return host_fail(MW_INVALID_VALUE, "there is no source");
  unit *new = must(calloc(1, sizeof *new));
  *new = (unit){.text = copy_text(text), .path = copy_text(path), .options = copy_text(options)};
  pthread_mutex_lock(&all.lock);
  code = make_instance(context, new, &module);
  if (code == MW_SUCCESS) {
    new->next = all.units;
    all.units = new;
    all.generation++;
  }
  pthread_mutex_unlock(&all.lock);
  if (code != MW_SUCCESS) unit_free(new);
  return code;
}

cudaError_t mwCudaSource(const char *text, const char *options) { return host_end(add_unit(text, NULL, options)); }
cudaError_t mwCudaFile(const char *path, const char *options) { return host_end(add_unit(NULL, path, options)); }

/* ---- finding, under the lock ---- */

static name **name_chain(program *p, const char *text) {
  uint64_t hash = 14695981039346656037u;
  for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  return &p->names[(hash ^ hash >> 32) % CHAINS];
}

/* The entry of a name in this context, made without a result if it is new. */
static name *find_name(program *p, const char *text) {
  name **chain = name_chain(p, text), *found = *chain;
  while (found && (found->generation != all.generation || strcmp(found->text, text) != 0)) found = found->next;
  if (found) return found;
  found = must(calloc(1, sizeof *found));
  found->generation = all.generation;
  found->text = copy_text(text);
  found->next = *chain;
  return *chain = found;
}

/* Searches the newest unit first. A failure other than "no such name" ends the search. */
static int search(host_context *context, name *n, bool kernel) {
  int code = MW_SYMBOL_NOT_FOUND;
  for (const unit *u = all.units; u && code == MW_SYMBOL_NOT_FOUND; u = u->next) {
    mw_module *module;
    code = make_instance(context, u, &module);
    if (code == MW_SUCCESS)
      code = kernel ? mw_module_kernel(module, n->text, &n->kernel) : mw_module_symbol(module, n->text, &n->symbol);
  }
  return code;
}

static int fail_missing(const char *text, bool kernel) {
  int code = kernel ? MW_INVALID_DEVICE_FUNCTION : MW_INVALID_SYMBOL;
  const char *what = kernel ? "kernel" : "variable";
  if (!all.units)
    return host_fail(code, "there is no %s '%.100s': this program has none; mwCudaSource or mwCudaFile adds some", what,
                     text);
  return host_fail(code, "there is no %s '%.100s' in what mwCudaSource and mwCudaFile added", what, text);
}

static int find(host_context *context, const void *given, bool kernel, name **out) {
  const char *text = NULL;
  int code = resolve_name(given, kernel ? MW_INVALID_DEVICE_FUNCTION : MW_INVALID_SYMBOL, &text);
  if (code != MW_SUCCESS) return code;
  name *n = find_name(program_of(context), text);
  *out = n;
  if (kernel ? n->kernel != NULL : n->symbol != NULL) return MW_SUCCESS;
  code = search(context, n, kernel);
  return code == MW_SYMBOL_NOT_FOUND ? fail_missing(text, kernel) : code;
}

int host_kernel(host_context *context, const void *func, mw_kernel **out) {
  name *found;
  const host_function *function = host_is_handle(func) ? host_handle_find(HOST_FUNCTION, func) : NULL;
  if (function) { /* the driver API's */
    *out = function->kernel;
    return MW_SUCCESS;
  }
  pthread_mutex_lock(&all.lock);
  int code = find(context, func, true, &found);
  if (code == MW_SUCCESS) *out = found->kernel;
  pthread_mutex_unlock(&all.lock);
  return code;
}

int host_symbol(host_context *context, const void *symbol, mw_symbol **out) {
  name *found;
  pthread_mutex_lock(&all.lock);
  int code = find(context, symbol, false, &found);
  if (code == MW_SUCCESS) *out = found->symbol;
  pthread_mutex_unlock(&all.lock);
  return code;
}
