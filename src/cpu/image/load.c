/* Units: .mwo files loaded into a device. The object is shared and stateless; a unit adds the variables, in one
 * allocation of the device's heap, and the origin of the source text.
 *
 * A unit that is compiled later from the same source, for further template instances, is loaded with the first unit as
 * its parent and shares its variables by linkage name, so that all instances use the same `gain`. */
#include "cpu/cpu.h"
#include "capability.h"
#include "dwarf_lines.h"
#include "object.h"
#include "cpu/schedule/trial.h"
#include "cpu/memory/pointer_arguments.h"
#include "core/compile/source_map.h"

#include <stdlib.h>
#include <string.h>

typedef struct file_name {
  struct file_name *next;
  char text[];
} file_name;

struct cpu_unit_private {
  cpu_unit *next;   /* of all units, guarded by units_lock */
  mw_refs refs;     /* 1, and 1 more for each unit that shares its variables */
  cpu_unit *parent; /* retained, or NULL */
  cpu_object *object;
  uint64_t memory;       /* of the variables that are not the parent's; 0: none */
  mw_kernel_info *infos; /* the kernels', with translated positions */
  size_t *visible;       /* the variables that users can find by name */
  size_t visible_count;
  mw_text log;
  source_origin origin;
  pthread_mutex_t lock; /* guards names */
  file_name *names;     /* returned by cpu_line_of */
};

/* ---- variables ---- */

/* Tables and strings that the compiler made have names that are valid in one compilation only (".str.1"), but they are
   constant, so each unit may have its own. Static variables of functions, which are internal as well, have C++
   names. */
static bool is_shareable(const mw_mwo_variable *v) { return !v->is_internal || strncmp(v->linkage, "_Z", 2) == 0; }

static const mw_mwo_variable *find_shared(const cpu_unit *parent, const mw_mwo_variable *v, void **address) {
  if (!parent || !is_shareable(v)) return NULL;
  for (size_t i = 0; i < parent->image->variable_count; i++) {
    const mw_mwo_variable *other = &parent->image->variables[i];
    if (strcmp(other->linkage, v->linkage) != 0) continue;
    *address = parent->symbols[i];
    return other;
  }
  return NULL;
}

/* Fill in the addresses of the parent's variables. */
static int share_variables(cpu_unit *unit) {
  for (size_t i = 0; i < unit->image->variable_count; i++) {
    const mw_mwo_variable *v = &unit->image->variables[i];
    const mw_mwo_variable *shared = find_shared(unit->own->parent, v, &unit->symbols[i]);
    if (shared && shared->size != v->size)
      return fail(
          MW_INVALID_SOURCE,
          "variable '%s' has %zu bytes here and %zu bytes in the module that this is an instance of: a header has "
          "changed meanwhile. Compile the module again",
          v->name, v->size, shared->size);
  }
  return MW_SUCCESS;
}

/* Vector loads are faster if variables are aligned to cache lines. */
static size_t alignment_of(const mw_mwo_variable *v) {
  size_t wanted = v->size >= 64 ? 64 : 16;
  return v->align > wanted ? v->align : wanted;
}

/* The offset of each variable that is not shared in the unit's own memory; returns the memory's size, or PTRDIFF_MAX if
   that overflows. */
static size_t lay_out(const cpu_unit *unit, size_t *offsets) {
  size_t end = 0;
  for (size_t i = 0; i < unit->image->variable_count; i++) {
    const mw_mwo_variable *v = &unit->image->variables[i];
    if (unit->symbols[i]) continue;
    size_t align = alignment_of(v);
    offsets[i] = (end + align - 1) / align * align;
    end = offsets[i] + (v->size ? v->size : 1);
    if (end > PTRDIFF_MAX / 2) return PTRDIFF_MAX;
  }
  return end;
}

static void apply_relocations(const cpu_unit *unit, const mw_mwo_variable *v, unsigned char *bytes) {
  for (size_t i = 0; i < v->relocation_count; i++) {
    const mw_mwo_relocation *r = &v->relocations[i];
    uint64_t value = (uint64_t)(uintptr_t)unit->symbols[r->variable] + (uint64_t)r->addend;
    memcpy(bytes + r->offset, &value, sizeof value);
  }
}

static const char tables[] = "a module's tables";

static int make_variables(cpu_unit *unit) {
  size_t count = unit->image->variable_count;
  int code = share_variables(unit);
  if (code != MW_SUCCESS) return code;
  size_t *offsets = mw_try_alloc(count * sizeof *offsets, tables), bytes = 0;
  bool *mine = mw_try_alloc(count * sizeof *mine, tables);
  if (!offsets || !mine) code = MW_MEMORY_ALLOCATION;
  if (code == MW_SUCCESS) bytes = lay_out(unit, offsets);
  if (bytes) code = cpu_heap_alloc(unit->device->heap, bytes, &unit->own->memory);
  if (code == MW_SUCCESS && bytes) memset((void *)(uintptr_t)unit->own->memory, 0, bytes);
  for (size_t i = 0; code == MW_SUCCESS && i < count; i++) {
    mine[i] = !unit->symbols[i];
    if (mine[i]) unit->symbols[i] = (void *)(uintptr_t)(unit->own->memory + offsets[i]);
  }
  for (size_t i = 0; code == MW_SUCCESS && i < count; i++) {
    const mw_mwo_variable *v = &unit->image->variables[i];
    if (!mine[i]) continue;
    if (v->initial) memcpy(unit->symbols[i], v->initial, v->size);
    apply_relocations(unit, v, unit->symbols[i]);
  }
  free(offsets);
  free(mine);
  return code;
}

static void list_visible(cpu_unit *unit) {
  size_t count = unit->image->variable_count;
  for (size_t i = 0; i < count; i++) {
    if (!unit->image->variables[i].is_internal) unit->own->visible[unit->own->visible_count++] = i;
  }
}

/* ---- kernels ---- */

static cpu_kernel *kernel_of_parent(const cpu_unit *unit, const char *linkage) {
  const cpu_unit *parent = unit->own->parent;
  for (size_t i = 0; parent && i < parent->image->kernel_count; i++)
    if (strcmp(parent->image->kernels[i].info.linkage, linkage) == 0) return &parent->kernels[i];
  return NULL;
}

/* If no variable has the name, the image is damaged; then no texture is bound to it either. */
static size_t *find_references(const cpu_unit *unit, const mw_kernel_info *info) {
  if (info->reference_count == 0) return NULL;
  size_t *places = mw_alloc(info->reference_count * sizeof *places);
  for (size_t i = 0; i < info->reference_count; i++) {
    size_t at = 0;
    while (at < unit->image->variable_count && strcmp(unit->image->variables[at].linkage, info->references[i]) != 0)
      at++;
    places[i] = at;
  }
  return places;
}

static void make_kernels(cpu_unit *unit) {
  size_t count = unit->image->kernel_count;
  for (size_t i = 0; i < count; i++) {
    mw_kernel_info *info = &unit->own->infos[i];
    unit->kernels[i] = (cpu_kernel){.unit = unit, .image = &unit->image->kernels[i]};
    unit->kernels[i].otherwise = kernel_of_parent(unit, unit->image->kernels[i].info.linkage);
    cpu_pointers_find(&unit->kernels[i]);
    unit->kernels[i].references = find_references(unit, &unit->image->kernels[i].info);
    *info = unit->image->kernels[i].info;
    if (info->file) info->file = origin_apply(&unit->own->origin, info->file, &info->line);
    int most = unit->device->capability.threads_per_block;
    if (info->max_threads <= 0 || info->max_threads > most) info->max_threads = most;
  }
}

/* ---- loading ---- */

/* Their length comes from the file, so the allocation may fail. */
static bool make_tables(cpu_unit *unit) {
  size_t kernels = unit->image->kernel_count, variables = unit->image->variable_count;
  unit->symbols = mw_try_alloc(variables * sizeof *unit->symbols, tables);
  unit->own->visible = mw_try_alloc(variables * sizeof *unit->own->visible, tables);
  unit->kernels = mw_try_alloc(kernels * sizeof *unit->kernels, tables);
  unit->own->infos = mw_try_alloc(kernels * sizeof *unit->own->infos, tables);
  return unit->symbols && unit->own->visible && unit->kernels && unit->own->infos;
}

/* All units, of all modules. */
static cpu_unit *units;
static pthread_mutex_t units_lock = MW_LOCK_INITIALIZER;

static void enter(cpu_unit *unit) {
  mw_lock(&units_lock);
  unit->own->next = units;
  units = unit;
  mw_unlock(&units_lock);
}

static void leave(const cpu_unit *unit) {
  mw_lock(&units_lock);
  for (cpu_unit **at = &units; *at; at = &(*at)->own->next) {
    if (*at != unit) continue;
    *at = unit->own->next;
    break;
  }
  mw_unlock(&units_lock);
}

static const cpu_unit *first_of_module(const cpu_unit *unit) {
  while (unit->parent) unit = unit->parent;
  return unit;
}

static bool holds(const cpu_unit *unit, uint64_t address) { return address >= unit->first && address < unit->last; }

bool cpu_module_holds(const cpu_unit *unit, uint64_t address) {
  if (holds(unit, address)) return true;
  mw_lock(&units_lock);
  const cpu_unit *at = units;
  while (at && !(holds(at, address) && first_of_module(at) == first_of_module(unit))) at = at->own->next;
  mw_unlock(&units_lock);
  return at != NULL;
}

static void destroy(cpu_unit *unit) {
  struct cpu_unit_private *own = unit->own;
  leave(unit);
  if (own->memory) cpu_heap_free(unit->device->heap, own->memory);
  while (own->names) {
    file_name *next = own->names->next;
    free(own->names);
    own->names = next;
  }
  pthread_mutex_destroy(&own->lock);
  mw_text_free(&own->log);
  origin_free(&own->origin);
  free(own->visible);
  free(own->infos);
  free(unit->symbols);
  for (size_t i = 0; unit->kernels && i < unit->image->kernel_count; i++) {
    cpu_trial_free(&unit->kernels[i]);
    free(unit->kernels[i].pointers);
    free(unit->kernels[i].references);
  }
  free(unit->kernels);
  free(unit->shipped);
  object_close(own->object);
  free(own);
  free(unit);
}

void cpu_unload(void *argument) {
  for (cpu_unit *unit = argument, *parent; unit && mw_refs_drop(&unit->own->refs); unit = parent) {
    parent = unit->own->parent;
    destroy(unit);
  }
}

/* Whether its stores stay within this device's margins: see reach.c. Null pointers are checked at each launch. */
static int check_reach(const cpu_device *device, const char *path, const mw_mwo *image) {
  if (image->reach <= device->reach.pointers) return MW_SUCCESS;
  return fail(
      MW_NO_KERNEL_IMAGE_FOR_DEVICE,
      "the module '%s' was compiled for devices with more address space than this one has, whose process is limited "
      "(ulimit -v) or has many CPU devices open: compile it here, or with `mwcc --reach=%u,%u`",
      path, device->reach.pointers, device->reach.null);
}

int cpu_load(void *device, const char *path, void *parent, const mw_source *source, void **out) {
  cpu_object *object;
  int code = object_open(path, &object);
  if (code != MW_SUCCESS) return code;
  code = cpu_image_check(device, object->image);
  if (code == MW_SUCCESS) code = check_reach(device, path, object->image);
  if (code != MW_SUCCESS) {
    object_close(object);
    return code;
  }
  cpu_unit *unit = mw_alloc(sizeof *unit);
  unit->own = mw_alloc(sizeof *unit->own);
  unit->device = device;
  unit->image = object->image;
  unit->first = object->first;
  unit->last = object->last;
  unit->shipped = *object->image->dependencies ? NULL : mw_strdup(path);
  unit->own->object = object;
  unit->own->origin = origin_copy(source);
  unit->own->parent = parent;
  unit->parent = parent;
  if (parent) mw_refs_take(&unit->own->parent->own->refs);
  mw_refs_init(&unit->own->refs);
  mw_lock_init(&unit->own->lock);
  enter(unit);
  code = make_tables(unit) ? MW_SUCCESS : MW_MEMORY_ALLOCATION;
  if (code == MW_SUCCESS) {
    make_kernels(unit);
    list_visible(unit);
    origin_clean_log(unit->image->log, &unit->own->log);
    code = make_variables(unit);
  }
  if (code == MW_SUCCESS)
    *out = unit;
  else
    cpu_unload(unit);
  return code;
}

/* ---- describing ---- */

bool cpu_unit_kernel(void *argument, size_t i, const mw_kernel_info **info, void **kernel) {
  cpu_unit *unit = argument;
  if (i >= unit->image->kernel_count) return false;
  *info = &unit->own->infos[i];
  *kernel = &unit->kernels[i];
  return true;
}

bool cpu_unit_symbol(void *argument, size_t i, mw_symbol_info *info) {
  cpu_unit *unit = argument;
  if (i >= unit->own->visible_count) return false;
  size_t index = unit->own->visible[i];
  const mw_mwo_variable *v = &unit->image->variables[index];
  *info = (mw_symbol_info){
      .name = v->name,
      .linkage = v->linkage,
      .type = v->type,
      .address = (uint64_t)(uintptr_t)unit->symbols[index],
      .size = v->size,
      .constant = v->is_constant != 0,
      .reference = v->reference,
  };
  return true;
}

/* Kernels of the simd tier that are not specialised already. Threads with loops take longer, and launches have fewer of
   them: by their number alone such kernels would run the general code for a long time, so their threads have more
   weight. And long launches count by their time, as far as the last launch shows it: a short thread of general code
   takes about 80 ns. */
uint64_t cpu_specialises(void *argument, uint64_t blocks, uint64_t threads) {
  enum { IN_LOOP = 2, IN_LOOPS = 8 };
  static const double long_launch = 0.5e-3, of_thread = 80e-9; /* seconds */
  const cpu_kernel *kernel = argument;
  const mw_mwo_kernel *image = kernel->image;
  if (strcmp(image->info.tier, "simd") != 0 || image->fits || image->launches) return 0;
  if (!kernel->unit->image->bitcode_bytes) return 0;
  double seconds = (double)blocks * atomic_load_explicit(&kernel->block_seconds, memory_order_relaxed);
  uint64_t by_number = threads * (image->loop_depth == 0 ? 1 : image->loop_depth == 1 ? IN_LOOP : IN_LOOPS);
  uint64_t by_time = seconds < long_launch ? 0 : (uint64_t)(seconds / of_thread);
  return by_time > by_number ? by_time : by_number;
}

unsigned cpu_takes(void *argument) {
  const mw_mwo_kernel *image = ((const cpu_kernel *)argument)->image;
  return (image->merged ? 0 : MW_ANY_WIDTH) | (image->gangs ? 0 : MW_ANY_COUNT);
}

const char *cpu_unit_log(void *unit) { return ((cpu_unit *)unit)->own->log.data; }

bool cpu_unit_source(void *argument, const char **text, const char **options) {
  const cpu_unit *unit = argument;
  if (!unit->image->source || !unit->image->options) return false;
  *text = unit->image->source;
  *options = unit->image->options;
  return true;
}

/* ---- positions ---- */

/* A copy of the name that lives as long as the unit. */
static const char *keep_name(const cpu_unit *unit, const char *text) {
  struct cpu_unit_private *own = unit->own;
  mw_lock(&own->lock);
  file_name *name = own->names;
  while (name && strcmp(name->text, text) != 0) name = name->next;
  if (!name) {
    size_t size = strlen(text) + 1;
    name = mw_alloc(sizeof *name + size);
    memcpy(name->text, text, size);
    name->next = own->names;
    own->names = name;
  }
  mw_unlock(&own->lock);
  return name->text;
}

bool cpu_line_of(const cpu_unit *unit, uintptr_t address, const char **file, int *line) {
  line_position position;
  /* Function pointers in variables point into the unit that made the variables. */
  if (address < unit->first || address >= unit->last)
    return unit->own->parent && cpu_line_of(unit->own->parent, address, file, line);
  if (!lines_find(unit->own->object->elf, address - unit->own->object->base, &position)) return false;
  *line = position.line;
  *file = keep_name(unit, origin_apply(&unit->own->origin, position.file, line));
  return true;
}

const char *cpu_place_of(const cpu_unit *unit, const char *file, int *line) {
  return origin_apply(&unit->own->origin, file, line);
}
