/* A launch's arguments: each is checked against the kernel's signature when it is set; error messages say what to write
 * instead.
 *
 * Messages count parameters from 1 and name them, for users who write Lua. */
#include "launch.h"
#include "core/array/array.h"
#include "core/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* "const float *x", "int n", "float4", "int (*f)(float)". */
static void add_param(mw_text *text, const mw_param *param) {
  const char *type = param->type->name, *last = type + strlen(type) - 1;
  const char *brackets = *last == ')' ? strstr(type, "(*") : NULL; /* a pointer to a function has its name in them */
  if (brackets) {
    size_t before = (size_t)(strchr(brackets, ')') - type);
    bool apart = *param->name && type[before - 1] != '*';
    mw_text_addf(text, "%.*s%s%s%s", (int)before, type, apart ? " " : "", param->name, type + before);
    return;
  }
  bool tight = *param->name == '\0' || *last == '*' || *last == '&';
  mw_text_addf(text, "%s%s%s", type, tight ? "" : " ", param->name);
}

char *mw_launch_signature(const mw_kernel_info *kernel) {
  mw_text text = {0};
  mw_text_addf(&text, "%s(", kernel->name);
  for (size_t i = 0; i < kernel->param_count; i++) {
    if (i > 0) mw_text_add(&text, ", ", 2);
    add_param(&text, &kernel->params[i]);
  }
  mw_text_add(&text, ")", 1);
  return text.data;
}

size_t mw_kernel_signature(const mw_kernel_info *kernel, char *text, size_t size) {
  char *signature = mw_launch_signature(kernel);
  size_t length = strlen(signature);
  if (size) snprintf(text, size, "%s", signature);
  free(signature);
  return length;
}

mw_place mw_launch_place(const mw_launch *launch, size_t i) {
  const mw_kernel_info *info = launch->kernel->info;
  const char *name = info->params[i].name;
  mw_place place;
  snprintf(place.text, sizeof place.text, *name ? "parameter %zu '%s' of %s" : "parameter %zu%s of %s", i + 1, name,
           info->name);
  return place;
}

/* The element type that a pointer parameter needs; for a pointer to rows of fixed length, that of the rows. NULL:
   any. */
static const mw_type *element_of(const mw_type *pointer) {
  const mw_type *element = pointer->element;
  while (element && element->kind == MW_TYPE_ARRAY) element = element->element;
  return element;
}
/* The element type's dtype name: "float" for "const float *". */
static const char *element_name(const mw_type *pointer) {
  const char *name = element_of(pointer) ? element_of(pointer)->name : "char";
  if (strncmp(name, "const ", 6) == 0) name += 6;
  return strcmp(name, "void") == 0 ? "char" : name;
}

/* Advice: what to write for a parameter of this type. */
static void add_advice(mw_text *text, const mw_type *type) {
  switch (type->kind) {
  case MW_TYPE_POINTER:
    mw_text_addf(text, "pass an array, such as mw.zeros(n, \"%s\"), or nil for the null pointer", element_name(type));
    break;
  case MW_TYPE_VECTOR: mw_text_addf(text, "pass a table of its %zu components", type->count); break;
  case MW_TYPE_ARRAY: mw_text_addf(text, "pass a table of its %zu elements", type->count); break;
  case MW_TYPE_STRUCT:
    mw_text_addf(text, "pass a table with its fields");
    for (size_t i = 0; i < type->count && i < 8; i++)
      if (*type->fields[i].name) mw_text_addf(text, "%s %s", i ? "," : "", type->fields[i].name);
    break;
  case MW_TYPE_BOOL: mw_text_addf(text, "pass true or false"); break;
  default: mw_text_addf(text, "pass a number"); break;
  }
}

/* "parameter 1 'n' of saxpy wants int, got an array of float: pass a number". `got` is the caller's. */
static int fail_kind(const mw_launch *launch, size_t i, const char *got) {
  const mw_type *type = launch->kernel->info->params[i].type;
  mw_text advice = {0};
  add_advice(&advice, type);
  mw_place place = mw_launch_place(launch, i);
  int code = fail(MW_INVALID_VALUE, "%s wants %s, got %s: %s", place.text, type->name, got, advice.data);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  mw_text_free(&advice);
  return code;
}

static int fail_index(const mw_launch *launch, size_t i) {
  const mw_kernel_info *info = launch->kernel->info;
  char *signature = mw_launch_signature(info);
  int code = fail(MW_INVALID_VALUE, "%s takes %zu argument%s, got argument %zu: %s", info->name, info->param_count,
                  info->param_count == 1 ? "" : "s", i + 1, signature);
  mw_error_kernel(info->name, NULL, NULL);
  free(signature);
  return code;
}

/* ---- slots ---- */

static const mw_type *type_of(const mw_launch *launch, size_t i) {
  return i < launch->kernel->info->param_count ? launch->kernel->info->params[i].type : NULL;
}

static unsigned char *memory_of(const mw_launch *launch, size_t i) {
  return launch->params + launch->kernel->info->params[i].offset;
}

static void drop_texture(mw_launch *launch, size_t param) {
  for (size_t i = 0; i < launch->texture_count; i++) {
    mw_launch_texture_entry *entry = &launch->textures[i];
    if (entry->inside || entry->param != param) continue;
    mw_texture_release(entry->texture);
    *entry = launch->textures[--launch->texture_count];
    return;
  }
}

/* Mark the parameter as set; the launch takes over the reference to `array` (may be NULL). */
static void mark_set(mw_launch *launch, size_t i, mw_array *array) {
  mw_array *old = launch->arrays[i];
  if (launch->texture_count > 0) drop_texture(launch, i);
  if (array || old) mw_launch_changes(launch);
  if (!launch->set[i]) {
    launch->set[i] = true;
    launch->missing--;
  }
  launch->array_count += (array != NULL) - (old != NULL);
  launch->arrays[i] = array;
  mw_array_release(old);
}

static bool is_scalar(const mw_type *type) {
  return type->kind == MW_TYPE_BOOL || type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT ||
         type->kind == MW_TYPE_BFLOAT || type->kind == MW_TYPE_FLOAT;
}

static void set_address(mw_launch *launch, size_t i, uint64_t address, mw_array *array) {
  memcpy(memory_of(launch, i), &address, sizeof address);
  mark_set(launch, i, array);
}

/* ---- setting ---- */

int mw_launch_number(mw_launch *launch, size_t i, double value) {
  const mw_type *type = type_of(launch, i);
  if (!type) return fail_index(launch, i);
  if (!is_scalar(type)) {
    char got[64];
    snprintf(got, sizeof got, "the number %.14g", value);
    return fail_kind(launch, i, got);
  }
  /* Messages are composed only after a failure: the second call fails in the same way, with the names. */
  int code = mw_value_from_double(type, value, memory_of(launch, i), NULL);
  if (code == MW_SUCCESS) {
    mark_set(launch, i, NULL);
    return code;
  }
  mw_place place = mw_launch_place(launch, i);
  code = mw_value_from_double(type, value, memory_of(launch, i), place.text);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  return code;
}

int mw_launch_int64(mw_launch *launch, size_t i, int64_t value) {
  const mw_type *type = type_of(launch, i);
  if (!type) return fail_index(launch, i);
  if (!is_scalar(type)) {
    char got[64];
    snprintf(got, sizeof got, "the number %lld", (long long)value);
    return fail_kind(launch, i, got);
  }
  int code = mw_value_from_int64(type, value, memory_of(launch, i), NULL);
  if (code == MW_SUCCESS) {
    mark_set(launch, i, NULL);
    return code;
  }
  mw_place place = mw_launch_place(launch, i);
  code = mw_value_from_int64(type, value, memory_of(launch, i), place.text);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  return code;
}

/* Arrays of pointers are arrays of 64-bit unsigned integers. */
static bool accepts(const mw_type *wanted, const mw_type *stored) {
  if (wanted->kind == MW_TYPE_POINTER)
    return stored->size == wanted->size && (stored->kind == MW_TYPE_INT || stored->kind == MW_TYPE_UINT);
  return mw_type_accepts(wanted, stored);
}

static int fail_element(const mw_launch *launch, size_t i, const mw_array *array) {
  const mw_type *type = type_of(launch, i);
  const char *name = launch->kernel->info->params[i].name, *element = element_name(type);
  mw_place place = mw_launch_place(launch, i);
  /* A module's own types are found through the module, not by name. */
  bool own = element_of(type) && element_of(type)->kind == MW_TYPE_STRUCT;
  char *dtype = mw_format(own ? "m:dtype \"%s\"" : "\"%s\"", element);
  int code = fail(MW_INVALID_VALUE,
                  "%s wants %s, got an array of %s: make it one of %s, as mw.array(..., %s) does, or view the same "
                  "bytes as %s with %s:as(%s)",
                  place.text, type->name, array->dtype->name, element, dtype, element, *name ? name : "x", dtype);
  free(dtype);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  return code;
}

static int check_array(const mw_launch *launch, size_t i, const mw_array *array) {
  const mw_type *type = type_of(launch, i);
  const mw_device *here = launch->kernel->module->device, *there = array->buffer->device;
  if (type->kind != MW_TYPE_POINTER) {
    char got[128];
    snprintf(got, sizeof got, "an array of %s", array->dtype->name);
    return fail_kind(launch, i, got);
  }
  if (element_of(type) && !accepts(element_of(type), array->dtype)) return fail_element(launch, i, array);
  if (!array->contiguous) {
    mw_place place = mw_launch_place(launch, i);
    int code = fail(MW_INVALID_VALUE, "%s is a strided view, and a kernel walks memory in order: pass %s:contiguous()",
                    place.text, *launch->kernel->info->params[i].name ? launch->kernel->info->params[i].name : "x");
    mw_error_kernel(launch->kernel->info->name, NULL, NULL);
    return code;
  }
  bool reached = here == there || mw_device_reaches(here, there);
  if (reached && !mw_buffer_is_freed(array->buffer)) return MW_SUCCESS;
  mw_place place = mw_launch_place(launch, i);
  int code = reached ? fail(MW_INVALID_RESOURCE_HANDLE, "%s is an array that was freed", place.text)
                     : fail(MW_INVALID_DEVICE_POINTER,
                            "%s is an array on %s, and the kernel runs on %s: copy it into an array made there, or let "
                            "one access the other's memory with device:enable_peer_access",
                            place.text, there->name, here->name);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  return code;
}

int mw_launch_array(mw_launch *launch, size_t i, mw_array *array) {
  if (i >= launch->kernel->info->param_count) return fail_index(launch, i);
  if (!array) return fail_kind(launch, i, "no array");
  int code = check_array(launch, i, array);
  if (code != MW_SUCCESS) return code;
  mw_buffer_show(array->buffer);
  set_address(launch, i, array->buffer->address + array->offset, mw_array_retain(array));
  return MW_SUCCESS;
}

int mw_launch_operand(mw_launch *launch, size_t i, mw_array *array) {
  set_address(launch, i, array->buffer->address + array->offset, mw_array_retain(array));
  return MW_SUCCESS;
}

int mw_launch_address(mw_launch *launch, size_t i, uint64_t address) {
  const mw_type *type = type_of(launch, i);
  if (!type) return fail_index(launch, i);
  if (type->kind != MW_TYPE_POINTER) {
    char got[64];
    snprintf(got, sizeof got, address ? "the address 0x%llx" : "the null pointer", (unsigned long long)address);
    return fail_kind(launch, i, got);
  }
  set_address(launch, i, address, NULL);
  return MW_SUCCESS;
}

int mw_launch_bytes(mw_launch *launch, size_t i, const void *value, size_t bytes) {
  const mw_type *type = type_of(launch, i);
  if (!type) return fail_index(launch, i);
  if (bytes != type->size) {
    mw_place place = mw_launch_place(launch, i);
    int code = fail(MW_INVALID_VALUE, "%s wants %s, which has %zu bytes, got %zu bytes", place.text, type->name,
                    type->size, bytes);
    mw_error_kernel(launch->kernel->info->name, NULL, NULL);
    return code;
  }
  memcpy(memory_of(launch, i), value, bytes);
  mark_set(launch, i, NULL);
  return MW_SUCCESS;
}

int mw_launch_from_block(mw_launch *launch, size_t i, const void *block, size_t bytes) {
  const mw_kernel_info *info = launch->kernel->info;
  if (i >= info->param_count) return fail_index(launch, i);
  const mw_param *param = &info->params[i];
  if (param->offset + param->type->size > bytes) {
    mw_place place = mw_launch_place(launch, i);
    int code = fail(MW_INVALID_VALUE, "a parameter block of %zu bytes ends before %s, which has %zu from byte %zu on",
                    bytes, place.text, param->type->size, param->offset);
    mw_error_kernel(info->name, NULL, NULL);
    return code;
  }
  return mw_launch_bytes(launch, i, (const char *)block + param->offset, param->type->size);
}

int mw_launch_keep(mw_launch *launch, mw_array *array) {
  const mw_device *here = launch->kernel->module->device, *there = array->buffer->device;
  const char *kernel = launch->kernel->info->name;
  int code = MW_SUCCESS;
  if (mw_buffer_is_freed(array->buffer))
    code = fail(MW_INVALID_RESOURCE_HANDLE, "an array whose address is given to %s was freed", kernel);
  else if (here != there && !mw_device_reaches(here, there))
    code = fail(MW_INVALID_DEVICE_POINTER, "an array whose address is given to %s is on %s, and the kernel runs on %s",
                kernel, there->name, here->name);
  if (code != MW_SUCCESS) {
    mw_error_kernel(kernel, NULL, NULL);
    return code;
  }
  if (launch->retained_count == launch->retained_capacity) {
    launch->retained_capacity = launch->retained_capacity ? 2 * launch->retained_capacity : 4;
    launch->retained = mw_realloc(launch->retained, launch->retained_capacity * sizeof *launch->retained);
  }
  launch->retained[launch->retained_count++] = mw_array_retain(array);
  mw_launch_changes(launch);
  return MW_SUCCESS;
}

static int check_texture(const mw_launch *launch, size_t i, const mw_texture *texture) {
  const mw_device *here = launch->kernel->module->device, *there = texture->device;
  if (here == there) return MW_SUCCESS;
  mw_place place = mw_launch_place(launch, i);
  int code = fail(MW_INVALID_DEVICE_POINTER, "%s is a %s on %s, and the kernel runs on %s", place.text,
                  texture->is_surface ? "surface" : "texture", there->name, here->name);
  mw_error_kernel(launch->kernel->info->name, NULL, NULL);
  return code;
}

static void add_texture(mw_launch *launch, size_t param, bool inside, mw_texture *texture) {
  if (launch->texture_count == launch->texture_capacity) {
    launch->texture_capacity = launch->texture_capacity ? 2 * launch->texture_capacity : 4;
    launch->textures = mw_realloc(launch->textures, launch->texture_capacity * sizeof *launch->textures);
  }
  launch->textures[launch->texture_count++] =
      (mw_launch_texture_entry){.param = param, .inside = inside, .texture = mw_texture_retain(texture)};
  mw_launch_changes(launch);
}

/* cudaTextureObject_t is an integer in CUDA C; a texture is passed as its handle. */
/* A handle is a 64-bit integer. PTX has no types: there it is a word of 8 bytes, described as void *. */
static bool may_be_handle(const mw_type *type) {
  if (type->kind == MW_TYPE_POINTER) return type->element && type->element->kind == MW_TYPE_VOID;
  return type->kind == MW_TYPE_UINT && type->size == sizeof(uint64_t);
}

int mw_launch_texture(mw_launch *launch, size_t i, mw_texture *texture) {
  const mw_type *type = type_of(launch, i);
  uint64_t handle = 0;
  if (!type) return fail_index(launch, i);
  if (!may_be_handle(type)) return fail_kind(launch, i, texture->is_surface ? "a surface" : "a texture");
  int code = check_texture(launch, i, texture);
  if (code == MW_SUCCESS) code = mw_texture_handle(texture, &handle);
  if (code != MW_SUCCESS) return code;
  set_address(launch, i, handle, NULL);
  add_texture(launch, i, false, texture);
  return MW_SUCCESS;
}

int mw_launch_keep_texture(mw_launch *launch, mw_texture *texture) {
  const mw_device *here = launch->kernel->module->device, *there = texture->device;
  if (here != there)
    return fail(MW_INVALID_DEVICE_POINTER, "a %s whose handle is given to %s is on %s, and the kernel runs on %s",
                texture->is_surface ? "surface" : "texture", launch->kernel->info->name, there->name, here->name);
  add_texture(launch, 0, true, texture);
  return MW_SUCCESS;
}

void mw_launch_clear(mw_launch *launch) {
  size_t count = launch->kernel->info->param_count;
  mw_launch_changes(launch);
  for (size_t i = 0; i < count; i++) {
    mw_array_release(launch->arrays[i]);
    launch->arrays[i] = NULL;
    launch->set[i] = false;
  }
  for (size_t i = 0; i < launch->retained_count; i++) mw_array_release(launch->retained[i]);
  for (size_t i = 0; i < launch->texture_count; i++) mw_texture_release(launch->textures[i].texture);
  launch->texture_count = 0;
  launch->missing = count;
  launch->array_count = launch->retained_count = 0;
}
