/* Checks of an image's tables: all pointers point into the object, all strings are terminated, all indices and sizes
 * are in range. So a wrong table from the compiler leads to an error here, not to a crash elsewhere. */
#include "cpu/cpu.h"
#include "object.h"

#include <elf.h>
#include <string.h>

/* Types may share components, so a few bytes of tables could expand to billions of types. */
enum { TYPE_BUDGET = 1 << 20, TYPE_DEPTH = 64 };

/* More than any launch's parameters, so that a forged size cannot cause huge allocations or copies. */
enum { PARAM_MOST = 1 << 16 };

/* The number of readable bytes of the loaded object from `pointer` on; 0: none. */
static size_t readable(const cpu_object *object, const void *pointer) {
  uintptr_t address = (uintptr_t)pointer - object->base;
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  memcpy(&header, object->elf.data, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    memcpy(&segment, object->elf.data + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && segment.p_flags & PF_R && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_memsz)
      return segment.p_memsz - (address - segment.p_vaddr);
  }
  return 0;
}

/* Check an array of `count` elements, which may be empty. */
static bool is_array(const cpu_object *object, const void *pointer, size_t count, size_t size, size_t align) {
  if (count == 0) return true;
  return (uintptr_t)pointer % align == 0 && count <= readable(object, pointer) / size;
}

#define IS_ARRAY(object, pointer, count) is_array(object, pointer, count, sizeof *(pointer), _Alignof(void *))

static bool is_text(const cpu_object *object, const char *text) {
  size_t length = readable(object, text);
  return length && memchr(text, 0, length);
}

static bool is_text_or_null(const cpu_object *object, const char *text) { return !text || is_text(object, text); }

static bool is_type(const cpu_object *object, const mw_type *type, int depth, int *budget) {
  if (depth > TYPE_DEPTH || --*budget < 0 || !IS_ARRAY(object, type, 1) || !type) return false;
  if ((unsigned)type->kind > MW_TYPE_ARRAY || !is_text(object, type->name)) return false;
  if (type->kind == MW_TYPE_POINTER || type->kind == MW_TYPE_VECTOR || type->kind == MW_TYPE_ARRAY) {
    if (!IS_ARRAY(object, type->element, 1) || !type->element) return false;
  }
  /* A pointer's element may be the struct that contains the pointer. */
  if (type->kind == MW_TYPE_VECTOR || type->kind == MW_TYPE_ARRAY)
    return is_type(object, type->element, depth + 1, budget);
  if (type->kind == MW_TYPE_POINTER)
    return (unsigned)type->element->kind <= MW_TYPE_ARRAY && is_text(object, type->element->name);
  if (type->kind != MW_TYPE_STRUCT) return true;
  if (!IS_ARRAY(object, type->fields, type->count)) return false;
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *field = &type->fields[i];
    if (!is_text(object, field->name) || !is_type(object, field->type, depth + 1, budget)) return false;
    if (field->offset > type->size || field->type->size > type->size - field->offset) return false;
  }
  return true;
}

static const char *inspect_kernel(const cpu_object *object, const mw_mwo_kernel *kernel, int *budget) {
  const mw_kernel_info *info = &kernel->info;
  if (!is_text(object, info->name) || !is_text(object, info->linkage) || !is_text(object, info->tier) ||
      !is_text(object, info->tier_reason) || !is_text_or_null(object, info->file))
    return "a kernel's names lie outside it";
  if (!kernel->run || !readable(object, (const void *)(uintptr_t)kernel->run)) return "a kernel's code lies outside it";
  if (kernel->fits && !readable(object, (const void *)(uintptr_t)kernel->fits))
    return "a kernel's test lies outside it";
  if (kernel->iterations && !readable(object, (const void *)(uintptr_t)kernel->iterations))
    return "the function that counts a kernel's iterations lies outside it";
  if (kernel->gangs > CPU_MAX_THREADS || (kernel->gangs > 1 && !kernel->fits))
    return "a kernel's blocks have a wrong number of gangs";
  if (!IS_ARRAY(object, kernel->separate, kernel->separate_count)) return "a kernel's list of pointers lies outside it";
  for (size_t i = 0; i < kernel->separate_count; i++) {
    const mw_mwo_separate *both = &kernel->separate[i];
    uint32_t last = both->stored > both->other ? both->stored : both->other;
    if (info->param_bytes < sizeof(void *) || last > info->param_bytes - sizeof(void *))
      return "a kernel's list of pointers names no parameters";
  }
  if (info->param_bytes > PARAM_MOST) return "a kernel's parameter block has a wrong size";
  if (!IS_ARRAY(object, info->params, info->param_count)) return "a kernel's parameters lie outside it";
  for (size_t i = 0; i < info->param_count; i++) {
    const mw_param *param = &info->params[i];
    if (!is_text(object, param->name) || !is_type(object, param->type, 0, budget)) return "a parameter's type is wrong";
    if (param->offset > info->param_bytes || param->type->size > info->param_bytes - param->offset)
      return "a parameter lies outside its parameter block";
  }
  if (!IS_ARRAY(object, info->references, info->reference_count)) return "a kernel's references lie outside it";
  for (size_t i = 0; i < info->reference_count; i++)
    if (!is_text(object, info->references[i])) return "a kernel's references lie outside it";
  return NULL;
}

static const char *inspect_variable(const cpu_object *object, const mw_mwo_variable *v, int *budget) {
  const mw_mwo *image = object->image;
  if (!is_text(object, v->name) || !is_text(object, v->linkage)) return "a variable's names lie outside it";
  if (!is_type(object, v->type, 0, budget)) return "a variable's type is wrong";
  if (v->align == 0 || v->align > 4096 || v->align & (v->align - 1)) return "a variable's alignment is wrong";
  if (v->size > PTRDIFF_MAX / 2) return "a variable's size is wrong";
  if (v->initial && v->size && readable(object, v->initial) < v->size)
    return "a variable's initial bytes lie outside it";
  if (!IS_ARRAY(object, v->relocations, v->relocation_count)) return "a variable's relocations lie outside it";
  for (size_t i = 0; i < v->relocation_count; i++) {
    const mw_mwo_relocation *r = &v->relocations[i];
    if (r->variable >= image->variable_count || v->size < sizeof(uint64_t) || r->offset > v->size - sizeof(uint64_t))
      return "a relocation is out of range";
  }
  if (v->reference && (!IS_ARRAY(object, v->reference, 1) || !is_type(object, v->reference->element, 0, budget) ||
                       v->size != sizeof(uint64_t)))
    return "a reference's declaration is wrong";
  return NULL;
}

static const char *inspect_site(const cpu_object *object, const mw_site *site) {
  if (!is_text_or_null(object, site->file) || !is_text_or_null(object, site->outer_file) ||
      !is_text_or_null(object, site->name) || !is_text_or_null(object, site->function) ||
      !is_text_or_null(object, site->about))
    return "a site's names lie outside it";
  return site->kind >= MW_SITE_KINDS ? "a site's kind is unknown" : NULL;
}

const char *object_inspect(const cpu_object *object) {
  const mw_mwo *image = object->image;
  int budget = TYPE_BUDGET;
  const char *wrong = NULL;
  if (!IS_ARRAY(object, image, 1)) return "its table lies outside it";
  if (!is_text(object, image->triple) || !is_text(object, image->features) || !is_text(object, image->compiler) ||
      !is_text(object, image->dependencies) || !is_text(object, image->log) ||
      !is_text_or_null(object, image->source) || !is_text_or_null(object, image->options))
    return "its texts lie outside it";
  if (!IS_ARRAY(object, image->kernels, image->kernel_count)) return "its kernels lie outside it";
  if (!IS_ARRAY(object, image->variables, image->variable_count)) return "its variables lie outside it";
  for (size_t i = 0; i < image->kernel_count && !wrong; i++)
    wrong = inspect_kernel(object, &image->kernels[i], &budget);
  for (size_t i = 0; i < image->variable_count && !wrong; i++)
    wrong = inspect_variable(object, &image->variables[i], &budget);
  if (!wrong && !IS_ARRAY(object, image->sites, image->site_count)) return "its sites lie outside it";
  for (size_t i = 0; i < image->site_count && !wrong; i++) wrong = inspect_site(object, &image->sites[i]);
  return wrong;
}
