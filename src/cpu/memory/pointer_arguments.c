/* Checks of pointers among a kernel's parameters. Generated code trusts these pointers: a store through one of them is
 * not tested, since all memory within the offset bound is the device's or inaccessible. So other addresses must be
 * refused, such as those of the host program's memory, which a kernel would overwrite. Pointers that kernels load from
 * memory are tested when they are used. Null pointers are trusted as far as the host has no memory at low addresses
 * (reach.c). */
#include "heap.h"
#include "pointer_arguments.h"

#include <stdlib.h>
#include <string.h>

enum { POINTERS_MOST = 4096 }; /* of one kernel: parameters are a few kilobytes */

static void add(cpu_kernel *kernel, size_t offset) {
  if (kernel->pointer_count == POINTERS_MOST) return;
  if ((kernel->pointer_count & (kernel->pointer_count - 1)) == 0) {
    size_t room = kernel->pointer_count ? 2 * kernel->pointer_count : 1;
    kernel->pointers = mw_realloc(kernel->pointers, room * sizeof *kernel->pointers);
  }
  kernel->pointers[kernel->pointer_count++] = (uint32_t)offset;
}

/* Fields of a union overlap: which of them is stored is not known. */
static bool overlaps(const mw_type *type, size_t i) {
  const mw_field *field = &type->fields[i];
  for (size_t k = 0; k < type->count; k++) {
    const mw_field *other = &type->fields[k];
    if (k != i && other->offset < field->offset + field->type->size &&
        field->offset < other->offset + other->type->size)
      return true;
  }
  return false;
}

static void find(cpu_kernel *kernel, const mw_type *type, size_t offset) {
  switch (type->kind) {
  case MW_TYPE_POINTER: add(kernel, offset); break;
  case MW_TYPE_STRUCT:
    for (size_t i = 0; i < type->count; i++) {
      if (!overlaps(type, i)) find(kernel, type->fields[i].type, offset + type->fields[i].offset);
    }
    break;
  case MW_TYPE_ARRAY:
    for (size_t i = 0; i < type->count && kernel->pointer_count < POINTERS_MOST; i++) {
      size_t before = kernel->pointer_count;
      find(kernel, type->element, offset + i * type->element->size);
      if (kernel->pointer_count == before) break; /* its elements have none */
    }
    break;
  default: break;
  }
}

void cpu_pointers_find(cpu_kernel *kernel) {
  const mw_kernel_info *info = &kernel->image->info;
  for (size_t i = 0; i < info->param_count; i++) find(kernel, info->params[i].type, info->params[i].offset);
}

bool cpu_pointers_are_separate(const cpu_kernel *kernel, const void *params) {
  const mw_mwo_kernel *image = kernel->image;
  cpu_heap *heap = kernel->unit->device->heap;
  for (size_t i = 0; i < image->separate_count; i++) {
    uint64_t stored, other, base, its_base;
    size_t bytes;
    memcpy(&stored, (const unsigned char *)params + image->separate[i].stored, sizeof stored);
    memcpy(&other, (const unsigned char *)params + image->separate[i].other, sizeof other);
    if (!stored || !other) continue;
    if (!cpu_heap_find(heap, stored, &base, &bytes) || !cpu_heap_find(heap, other, &its_base, &bytes)) return false;
    if (base == its_base) return false;
  }
  return true;
}

/* The module was compiled for other hosts. */
static int fail_null(const cpu_kernel *kernel) {
  const cpu_reach *reach = &kernel->unit->device->reach;
  int code = fail(
      MW_INVALID_DEVICE_POINTER,
      "%s was compiled for hosts with no memory at low addresses, and this one has some: it takes no null pointers "
      "here. Compile it here, or with `mwcc --reach=%u,%u`",
      kernel->image->info.name, reach->pointers, reach->null);
  mw_error_kernel(kernel->image->info.name, NULL, NULL);
  return code;
}

static int fail_foreign(const cpu_kernel *kernel, uint32_t offset, uint64_t address) {
  const mw_kernel_info *info = &kernel->image->info;
  size_t i = info->param_count;
  while (i > 0 && info->params[i - 1].offset > offset) i--;
  const mw_param *param = i > 0 ? &info->params[i - 1] : NULL;
  bool inside = param && param->type->kind != MW_TYPE_POINTER;
  int code = fail(MW_INVALID_DEVICE_POINTER,
                  "parameter %zu '%s' of %s %s the address 0x%llx, which is not the device's: kernels can access "
                  "arrays and module variables only, not the host's memory, and a peer's memory once peer access is "
                  "enabled",
                  i, param ? param->name : "", info->name, inside ? "holds" : "is", (unsigned long long)address);
  mw_error_kernel(info->name, NULL, NULL);
  return code;
}

int cpu_pointers_check(const cpu_kernel *kernel, const void *params) {
  uint64_t base, size, address;
  if (kernel->pointer_count == 0) return MW_SUCCESS;
  cpu_heap_range(kernel->unit->device->heap, &base, &size);
  bool takes_null = kernel->unit->image->null_reach <= kernel->unit->device->reach.null;
  for (size_t i = 0; i < kernel->pointer_count; i++) {
    memcpy(&address, (const unsigned char *)params + kernel->pointers[i], sizeof address);
    if (!address && !takes_null) return fail_null(kernel);
    /* Addresses of functions and constants lie in the object of the unit or of another unit of its module. */
    if (address && address - base >= size && !cpu_module_holds(kernel->unit, address))
      return fail_foreign(kernel, kernel->pointers[i], address);
  }
  return MW_SUCCESS;
}
