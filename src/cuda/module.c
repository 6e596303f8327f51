/* Loaded modules: an image in the context, its kernels and variables with their addresses. */
#include "cuda/compile/compiler.h"
#include "cuda/cuda.h"
#include "cuda/compile/module_metadata.h"
#include "cuda/compile/signature/ptx.h"
#include "core/compile/source_map.h"

#include <stdlib.h>
#include <string.h>

/* The fields of a unit that only this file uses. */
typedef struct unit_private {
  cuda_unit unit;
  cuda_types types;
  cuda_image image;
  mw_source origin; /* file and line, copied */
} unit_private;

/* ---- facts of PTX and cubins from elsewhere ---- */

/* Facts of PTX from elsewhere: from mwcc's comments after it, or else from its declarations and linkage names. */
static void describe_ptx(unit_private *p) {
  ptx_text ptx;
  mw_text *facts = &p->image.parts[IMAGE_FACTS];
  cuda_split_facts(p->image.parts[IMAGE_PTX].data, &p->image);
  if (facts->data) return;
  ptx_parse(p->image.parts[IMAGE_PTX].data, &ptx);
  for (size_t i = 0; i < ptx.variable_count; i++) {
    cuda_signature name;
    const ptx_variable *v = &ptx.variables[i];
    cuda_demangle(&p->types, v->linkage, &name);
    mw_text_addf(facts, "variable\t%s\t%s\t%d\t%zu\t%zu\t\n", v->linkage, name.name, v->constant, v->place.size,
                 v->place.align);
  }
  for (size_t i = 0; i < ptx.entry_count; i++) {
    cuda_signature name;
    const ptx_entry *entry = &ptx.entries[i];
    cuda_demangle(&p->types, entry->linkage, &name);
    mw_text_addf(facts, "kernel\t%s\t%s\t0\t%d\t\n", entry->linkage, name.name, entry->max_threads);
    for (size_t k = 0; k < entry->param_count; k++)
      mw_text_addf(facts, "param\t%zu\t%zu\t%c\t\n", entry->params[k].size, entry->params[k].align,
                   entry->params[k].kind);
  }
  ptx_free(&ptx);
}

/* Facts of a cubin from elsewhere: a kernel is a section ".text.NAME"; its parameters are those in its linkage name. */
static void describe_cubin(unit_private *p) {
  const mw_text *cubin = &p->image.parts[IMAGE_CUBIN];
  mw_text *facts = &p->image.parts[IMAGE_FACTS];
  static const char section[] = ".text.";
  mw_text_add(facts, "", 0);
  for (const char *at = cubin->data, *end = at + cubin->length;
       (at = memmem(at, (size_t)(end - at), section, strlen(section)));) {
    at += strlen(section);
    cuda_signature signature;
    bool again = false;
    cuda_demangle(&p->types, at, &signature);
    char *line = mw_format("kernel\t%s\t%s\t0\t0\t\n", at, signature.name);
    again = strstr(facts->data, line) != NULL;
    if (!again) mw_text_addf(facts, "%s", line);
    for (size_t k = 0; k < signature.param_count && signature.params && !again; k++)
      mw_text_addf(facts, "param\t%zu\t%zu\t%c\t\n", signature.params[k]->size, signature.params[k]->align,
                   signature.params[k]->kind == MW_TYPE_STRUCT ? '-' : 'b');
    free(line);
  }
}

/* ---- loading ---- */

/* The log of the driver's compiler about PTX that it rejected; "" if it is empty. Yours. */
static char *compiler_log(const mw_text *ptx) {
  enum { MOST = 4096 };
  char *log = mw_alloc(MOST);
  int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(MOST - 1)};
  CUmodule module = NULL;
  if (ptx->data && cu.cuModuleLoadDataEx(&module, ptx->data, MW_COUNT(options), options, values) == 0 && module)
    cu.cuModuleUnload(module);
  log[MOST - 1] = '\0';
  for (size_t end = strlen(log); end > 0 && (log[end - 1] == '\n' || log[end - 1] == ' '); end--) log[end - 1] = '\0';
  return log;
}

static int fail_image(const cuda_device *device, const cuda_image *image, const char *path, CUresult result) {
  const char *text = NULL;
  cu.cuGetErrorString(result, &text);
  int code = cuda_code(result);
  if (code == MW_NO_KERNEL_IMAGE_FOR_DEVICE)
    return fail(code, "%s is compiled for %s, and cuda:%d is sm_%d%d: compile it here, or with -arch=sm_%d%d", path,
                image->parts[IMAGE_ARCH].data ? image->parts[IMAGE_ARCH].data : "another GPU", device->ordinal,
                device->major, device->minor, device->major, device->minor);
  if (code == MW_MEMORY_ALLOCATION) return fail(code, "not enough memory to load %s", path);
  char *log = compiler_log(&image->parts[IMAGE_PTX]);
  code = fail(MW_INVALID_KERNEL_IMAGE, "the driver refuses %s: %s%s%s", path, text ? text : "it does not say why",
              *log ? ". Its compiler says: " : "", log);
  free(log);
  return code;
}

static CUresult load_data(cuda_device *device, const char *data, CUmodule *out) {
  CUresult result = cu.cuModuleLoadData(out, data);
  return cuda_heap_make_room(device, result) ? cu.cuModuleLoadData(out, data) : result;
}

/* Loads the machine code if it is for this GPU, else the PTX, which the driver compiles. */
static int load_image(cuda_device *device, unit_private *p, const char *path) {
  const mw_text *cubin = &p->image.parts[IMAGE_CUBIN], *ptx = &p->image.parts[IMAGE_PTX];
  CUresult result = MW_NO_KERNEL_IMAGE_FOR_DEVICE;
  if (cuda_needs_linking(&p->image))
    return cuda_load_linked(device, &p->image, "launches from kernels need", &p->unit.module);
  if (cubin->data) result = load_data(device, cubin->data, &p->unit.module);
  if ((result == MW_NO_KERNEL_IMAGE_FOR_DEVICE || result == MW_INVALID_KERNEL_IMAGE) && ptx->data)
    result = load_data(device, ptx->data, &p->unit.module);
  if (result == 0) return MW_SUCCESS;
  return cuda_is_fatal(result) ? cuda_outcome(device, result, "loading a module")
                               : fail_image(device, &p->image, path, result);
}

static void find_symbols(cuda_device *device, cuda_unit *unit) {
  for (size_t i = 0; i < unit->symbol_count; i++) {
    mw_symbol_info *info = &unit->symbols[i].info;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (cu.cuModuleGetGlobal(&address, &bytes, unit->module, info->linkage) != 0) continue;
    info->address = address;
    info->size = bytes;
    if (unit->parent && unit->followed) cuda_heap_lend(device, address, bytes);
    if (unit->parent) continue;
    cuda_heap_add(device, address, bytes);
  }
}

static int find_kernels(cuda_device *device, cuda_unit *unit) {
  for (size_t i = 0; i < unit->kernel_count; i++) {
    cuda_kernel *kernel = &unit->kernels[i];
    mw_kernel_info *info = &kernel->info;
    int value = 0;
    int code = cuda_outcome(device, cu.cuModuleGetFunction(&kernel->function, unit->module, info->linkage),
                            "looking for a kernel");
    if (code != MW_SUCCESS) return code;
    if (cu.cuFuncGetAttribute(&value, CU_FUNC_SHARED, kernel->function) == 0) info->shared_bytes = (size_t)value;
    if (cu.cuFuncGetAttribute(&value, CU_FUNC_LOCAL, kernel->function) == 0) info->local_bytes = (size_t)value;
    if (cu.cuFuncGetAttribute(&value, CU_FUNC_REGISTERS, kernel->function) == 0) info->registers = value;
    if (info->max_threads == 0 && cu.cuFuncGetAttribute(&value, CU_FUNC_MAX_THREADS, kernel->function) == 0)
      info->max_threads = value;
    for (int axis = 0; axis < 3 && device->major >= 9; axis++)
      if (cu.cuFuncGetAttribute(&value, CU_FUNC_CLUSTER_WIDTH + axis, kernel->function) == 0)
        info->cluster[axis] = (unsigned)value;
  }
  return MW_SUCCESS;
}

/* Variables that the parent module has too are shared with it. */
static void share_symbols(cuda_unit *unit) {
  unit->shared_with = mw_alloc((unit->symbol_count + 1) * sizeof *unit->shared_with);
  for (size_t i = 0; unit->parent && i < unit->symbol_count; i++)
    for (size_t k = 0; k < unit->parent->symbol_count; k++)
      if (strcmp(unit->symbols[i].info.linkage, unit->parent->symbols[k].info.linkage) == 0 &&
          unit->symbols[i].info.address && unit->parent->symbols[k].info.address) {
        unit->shared_with[i] = k + 1;
        unit->shares |= !unit->symbols[i].info.reference;
      }
}

/* Whether its code reports failures to the host (device/moonwarp/guard.h). */
static bool reports_failures(const unit_private *p) {
  static const char function[] = "__mw_report_host";
  const mw_text *cubin = &p->image.parts[IMAGE_CUBIN], *ptx = &p->image.parts[IMAGE_PTX];
  const mw_text *code = ptx->data ? ptx : cubin;
  return p->unit.numbered || (code->data && memmem(code->data, code->length, function, strlen(function)));
}

int cuda_load_unit(void *handle, const char *path, void *parent, const mw_source *origin, void **out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  unit_private *p = mw_alloc(sizeof *p);
  cuda_unit *unit = &p->unit;
  unit->device = device;
  unit->epoch = device->epoch;
  unit->parent = parent;
  mw_lock_init(&unit->lock);
  code = cuda_image_read(path, &p->image);
  if (code == MW_SUCCESS) {
    const char *file = origin && origin->file ? origin->file : MW_SOURCE_NAME;
    p->origin.file = cuda_types_text(&p->types, file, strlen(file));
    p->origin.line = origin ? origin->line : 0;
    if (!p->image.parts[IMAGE_FACTS].data && p->image.parts[IMAGE_PTX].data)
      describe_ptx(p);
    else if (!p->image.parts[IMAGE_FACTS].data)
      describe_cubin(p);
    cuda_facts_read(p->image.parts[IMAGE_FACTS].data ? p->image.parts[IMAGE_FACTS].data : "", &p->origin, &p->types,
                    unit);
    code = load_image(device, p, path);
  }
  if (code == MW_SUCCESS) code = find_kernels(device, unit);
  if (code == MW_SUCCESS) {
    find_symbols(device, unit);
    share_symbols(unit);
    code = reports_failures(p) ? cuda_guard_unit(device, unit) : MW_SUCCESS;
  }
  if (code == MW_SUCCESS) {
    /* The context has copies of the machine code and PTX. */
    mw_text_free(&p->image.parts[IMAGE_CUBIN]);
    mw_text_free(&p->image.parts[IMAGE_PTX]);
    *out = unit;
  } else {
    cuda_unload(unit);
  }
  return code;
}

static void unload_module(cuda_device *device, uint64_t module) {
  if (module && cuda_enter_quietly(device)) cu.cuModuleUnload((CUmodule)(uintptr_t)module);
}

void cuda_unload(void *handle) {
  unit_private *p = handle;
  cuda_unit *unit = &p->unit;
  cuda_device *device = unit->device;
  if (unit->epoch == device->epoch) {
    for (size_t i = 0; i < unit->symbol_count && (!unit->parent || unit->followed); i++)
      if (unit->symbols[i].info.address) cuda_heap_remove(device, unit->symbols[i].info.address);
    cuda_end(device, unload_module, (uint64_t)(uintptr_t)unit->module, true);
  }
  pthread_mutex_destroy(&unit->lock);
  cuda_types_free(&p->types);
  cuda_image_free(&p->image);
  free(unit->shared_with);
  free(unit->sites);
  free(unit->places);
  free(unit->kernels);
  free(unit->symbols);
  free(p);
}

/* ---- contents ---- */

bool cuda_unit_kernel(void *handle, size_t i, const mw_kernel_info **info, void **kernel) {
  cuda_unit *unit = handle;
  if (i >= unit->kernel_count) return false;
  *info = &unit->kernels[i].info;
  *kernel = &unit->kernels[i];
  return true;
}

/* Without those that the machine code does not contain. */
bool cuda_unit_symbol(void *handle, size_t i, mw_symbol_info *info) {
  cuda_unit *unit = handle;
  for (size_t k = 0; k < unit->symbol_count; k++) {
    if (!unit->symbols[k].info.address || i-- > 0) continue;
    *info = unit->symbols[k].info;
    return true;
  }
  return false;
}

const char *cuda_unit_place(const cuda_unit *unit, const char *file, int *line) {
  const unit_private *p = (const unit_private *)unit;
  const source_origin origin = {(char *)(uintptr_t)p->origin.file, p->origin.line};
  return origin_apply(&origin, file, line);
}

const char *cuda_unit_log(void *handle) {
  const mw_text *log = &((unit_private *)handle)->image.parts[IMAGE_LOG];
  return log->data ? log->data : "";
}

bool cuda_unit_source(void *handle, const char **text, const char **options) {
  const cuda_image *image = &((unit_private *)handle)->image;
  if (!image->parts[IMAGE_SOURCE].data) return false;
  *text = image->parts[IMAGE_SOURCE].data;
  *options = image->parts[IMAGE_OPTIONS].data ? image->parts[IMAGE_OPTIONS].data : "";
  return true;
}
