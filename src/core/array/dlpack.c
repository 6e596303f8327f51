/* DLPack: arrays handed to other libraries of the process without a copy, and theirs taken as copies.
 *
 * The structs are DLPack 1.0's, whose layout is fixed by its ABI. A tensor that we hand out retains the array's buffer
 * until its deleter is called, by any thread. */
#include "array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ON_CPU = 1, ON_CUDA = 2, ON_CUDA_HOST = 3, ON_CUDA_MANAGED = 13 };
enum { KIND_INT, KIND_UINT, KIND_FLOAT, KIND_BFLOAT = 4, KIND_COMPLEX, KIND_BOOL };
enum { MAJOR = 1, MINOR = 0, READ_ONLY = 1 };

typedef struct tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; /* elements; strides may be NULL: row order */
  uint64_t offset;          /* bytes after data */
} tensor;

typedef struct plain_tensor {
  tensor tensor;
  void *context;
  void (*deleter)(struct plain_tensor *self);
} plain_tensor;

typedef struct versioned_tensor {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(struct versioned_tensor *self);
  uint64_t flags;
  tensor tensor;
} versioned_tensor;

/* What a tensor of ours is: one of the two forms, and what it points to. */
typedef struct handed {
  union {
    plain_tensor plain;
    versioned_tensor versioned;
  } form;
  mw_array *array;
  int64_t shape[MW_MAX_RANK], strides[MW_MAX_RANK];
} handed;

/* ---- element types ---- */

static const struct {
  mw_type_kind kind;
  uint8_t code;
} codes[] = {{MW_TYPE_BOOL, KIND_BOOL},
             {MW_TYPE_INT, KIND_INT},
             {MW_TYPE_UINT, KIND_UINT},
             {MW_TYPE_BFLOAT, KIND_BFLOAT},
             {MW_TYPE_FLOAT, KIND_FLOAT}};

static int describe_type(const mw_type *type, tensor *out) {
  const mw_type *scalar = type->kind == MW_TYPE_VECTOR ? type->element : type;
  if (mw_type_is_complex(type)) {
    out->dtype.code = KIND_COMPLEX, out->dtype.bits = (uint8_t)(8 * type->size), out->dtype.lanes = 1;
    return MW_SUCCESS;
  }
  for (size_t i = 0; i < MW_COUNT(codes); i++) {
    if (codes[i].kind != scalar->kind) continue;
    out->dtype.code = codes[i].code;
    out->dtype.bits = (uint8_t)(8 * scalar->size);
    out->dtype.lanes = (uint16_t)(type->size / scalar->size);
    return MW_SUCCESS;
  }
  return fail(MW_NOT_SUPPORTED, "dlpack: DLPack has no elements such as %s; hand out its fields, or a:as(\"uchar\")",
              type->name);
}

static const mw_type *find_type(const tensor *t) {
  static const char *const names[] = {"bool",     "char",      "uchar", "short", "ushort", "int",     "uint",
                                      "longlong", "ulonglong", "half",  "float", "double", "bfloat16"};
  tensor own = {.rank = 0};
  if (t->dtype.code == KIND_COMPLEX && t->dtype.lanes == 1)
    return t->dtype.bits == 64 ? mw_dtype("complex64") : t->dtype.bits == 128 ? mw_dtype("complex128") : NULL;
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    char name[16];
    if (describe_type(mw_dtype(names[i]), &own) != MW_SUCCESS || own.dtype.code != t->dtype.code ||
        own.dtype.bits != t->dtype.bits)
      continue;
    if (t->dtype.lanes == 1) return mw_dtype(names[i]);
    snprintf(name, sizeof name, "%s%u", names[i], t->dtype.lanes);
    return t->dtype.lanes <= 4 ? mw_dtype(name) : NULL;
  }
  return NULL;
}

/* ---- handing out ---- */

static void delete_handed(handed *h) {
  mw_array_release(h->array);
  free(h);
}

static void delete_plain(plain_tensor *self) { delete_handed(self->context); }
static void delete_versioned(versioned_tensor *self) { delete_handed(self->context); }

static void describe_device(const mw_array *array, tensor *out) {
  const mw_device *device = array->buffer->device;
  out->device.type = strcmp(device->driver->name, "cpu") == 0 ? ON_CPU : ON_CUDA;
  out->device.id = out->device.type == ON_CPU ? 0 : device->ordinal;
}

static int describe_array(handed *h, tensor *out) {
  const mw_array *array = h->array;
  int code = describe_type(array->dtype, out);
  if (code != MW_SUCCESS) return code;
  describe_device(array, out);
  for (int d = 0; d < array->rank; d++) {
    int64_t size = (int64_t)array->dtype->size;
    h->shape[d] = (int64_t)array->shape[d];
    if (array->strides[d] % size != 0)
      return fail(MW_NOT_SUPPORTED,
                  "dlpack: DLPack counts strides in elements, and this view's are %lld bytes, of elements of %lld; "
                  "write a:contiguous():dlpack()",
                  (long long)array->strides[d], (long long)size);
    h->strides[d] = array->strides[d] / size;
  }
  out->data = (void *)(uintptr_t)(mw_buffer_address(array->buffer) + array->offset);
  out->rank = array->rank;
  out->shape = h->shape;
  out->strides = h->strides;
  return MW_SUCCESS;
}

int mw_array_to_dlpack(mw_array *array, int versioned, void **out) {
  if (mw_buffer_is_freed(array->buffer)) return fail(MW_INVALID_RESOURCE_HANDLE, "dlpack: this array was freed");
  if (array->read_only && !versioned)
    return fail(MW_NOT_SUPPORTED, "dlpack: a broadcast view is read-only, which only the versioned form can say; write "
                                  "a:dlpack { versioned = true }, or a:copy():dlpack()");
  handed *h = mw_alloc(sizeof *h);
  h->array = mw_array_retain(array);
  tensor *t = versioned ? &h->form.versioned.tensor : &h->form.plain.tensor;
  int code = describe_array(h, t);
  if (code == MW_SUCCESS) code = mw_device_wait(array->buffer->device);
  if (code != MW_SUCCESS) {
    delete_handed(h);
    return code;
  }
  if (versioned) {
    h->form.versioned.version.major = MAJOR, h->form.versioned.version.minor = MINOR;
    h->form.versioned.context = h;
    h->form.versioned.deleter = delete_versioned;
    h->form.versioned.flags = array->read_only ? READ_ONLY : 0;
  } else {
    h->form.plain.context = h;
    h->form.plain.deleter = delete_plain;
  }
  *out = &h->form;
  return MW_SUCCESS;
}

/* ---- taking ---- */

static int check_tensor(const tensor *t, const mw_type *type, const mw_device *device) {
  if (!type)
    return fail(MW_NOT_SUPPORTED, "from_dlpack: there are no elements of code %u, %u bits and %u lanes here",
                t->dtype.code, t->dtype.bits, t->dtype.lanes);
  if (t->rank < 0 || t->rank > MW_MAX_RANK)
    return fail(MW_NOT_SUPPORTED, "from_dlpack: a tensor of %d dimensions; arrays have up to %d", (int)t->rank,
                MW_MAX_RANK);
  bool host = t->device.type == ON_CPU || t->device.type == ON_CUDA_HOST;
  bool ours = (t->device.type == ON_CUDA || t->device.type == ON_CUDA_MANAGED) &&
              strcmp(device->driver->name, "cuda") == 0 && t->device.id == device->ordinal;
  if (host || ours) return MW_SUCCESS;
  if (t->device.type == ON_CUDA || t->device.type == ON_CUDA_MANAGED)
    return fail(MW_INVALID_DEVICE_POINTER,
                "from_dlpack: the tensor is on cuda:%d, and the device in use is %s; write "
                "mw.use(\"cuda:%d\") before",
                (int)t->device.id, device->name, (int)t->device.id);
  return fail(MW_NOT_SUPPORTED,
              "from_dlpack: a tensor on a device of type %d; CPUs (1) and CUDA's (2, 3, 13) are taken",
              (int)t->device.type);
}

static void strides_of(const tensor *t, const mw_type *type, int64_t strides[MW_MAX_RANK]) {
  int64_t next = (int64_t)type->size;
  for (int d = t->rank - 1; d >= 0; d--) {
    strides[d] = t->strides ? t->strides[d] * (int64_t)type->size : next;
    next *= t->shape[d];
  }
}

typedef struct gathering {
  const unsigned char *from;
  const mw_array *array; /* the shape */
  const int64_t *strides;
  size_t place;
} gathering;

/* The next elements in row order, for mw_array_write_with. */
static void gather(void *context, void *elements, size_t count) {
  gathering *g = context;
  size_t size = g->array->dtype->size;
  unsigned char *to = elements;
  for (size_t i = 0; i < count; i++, to += size) {
    size_t place = g->place++;
    int64_t at = 0;
    for (int d = g->array->rank - 1; d >= 0; d--) {
      at += (int64_t)(place % g->array->shape[d]) * g->strides[d];
      place /= g->array->shape[d];
    }
    memcpy(to, g->from + at, size);
  }
}

/* Elements in a GPU's memory: by a kernel, through a view of that memory that nothing frees. */
static int copy_on_device(mw_array *array, const tensor *t, const int64_t *strides) {
  int64_t before = 0, after = (int64_t)array->dtype->size;
  for (int d = 0; d < array->rank; d++)
    *(strides[d] < 0 ? &before : &after) += ((int64_t)array->shape[d] - 1) * strides[d];
  mw_device *device = array->buffer->device;
  uint64_t first = (uint64_t)(uintptr_t)t->data + t->offset + (uint64_t)before;
  mw_buffer *buffer = mw_buffer_of_handle(device, first, NULL);
  buffer->bytes = (size_t)(after - before);
  mw_array *flat = NULL, *view = NULL;
  int code = mw_array_over(buffer, 0, mw_dtype("uchar"), 1, &buffer->bytes, &flat);
  if (code == MW_SUCCESS)
    code = mw_array_view_strided(flat, -before, array->dtype, array->rank, array->shape, strides, &view);
  if (code == MW_SUCCESS) code = mw_array_copy(array, view);
  int waited = mw_device_wait(device);
  mw_array_release(view);
  mw_array_release(flat);
  mw_buffer_release(buffer);
  return code == MW_SUCCESS ? waited : code;
}

static int copy_tensor(mw_array *array, const tensor *t) {
  int64_t strides[MW_MAX_RANK];
  if (array->count == 0) return MW_SUCCESS;
  if (!t->data) return fail(MW_INVALID_VALUE, "from_dlpack: the tensor has elements, and no address");
  strides_of(t, array->dtype, strides);
  if (t->device.type == ON_CUDA || t->device.type == ON_CUDA_MANAGED) return copy_on_device(array, t, strides);
  gathering g = {.from = (const unsigned char *)t->data + t->offset, .array = array, .strides = strides};
  return mw_array_write_with(array, 0, array->count, gather, &g);
}

int mw_array_from_dlpack(mw_device *device, void *given, int versioned, mw_array **out) {
  plain_tensor *plain = given;
  versioned_tensor *newer = given;
  size_t shape[MW_MAX_RANK];
  if (!given) return fail(MW_INVALID_VALUE, "from_dlpack: the pointer is null");
  if (versioned && newer->version.major != MAJOR)
    return fail(MW_NOT_SUPPORTED, "from_dlpack: a tensor of DLPack %u.%u; this is for %d", newer->version.major,
                newer->version.minor, MAJOR);
  const tensor *t = versioned ? &newer->tensor : &plain->tensor;
  const mw_type *type = find_type(t);
  int code = check_tensor(t, type, device);
  if (code != MW_SUCCESS) return code;
  int rank = t->rank ? t->rank : 1; /* a number is an array of one element */
  for (int d = 0; d < t->rank; d++) shape[d] = (size_t)t->shape[d];
  if (t->rank == 0) shape[0] = 1;
  mw_array *array;
  code = mw_array_new(device, type, rank, shape, &array);
  if (code != MW_SUCCESS) return code;
  int64_t one[] = {1};
  tensor seen = *t;
  if (t->rank == 0) seen.rank = 1, seen.shape = one, seen.strides = one;
  code = copy_tensor(array, &seen);
  if (code != MW_SUCCESS) {
    mw_array_release(array);
    return code;
  }
  if (versioned && newer->deleter) newer->deleter(newer);
  if (!versioned && plain->deleter) plain->deleter(plain);
  *out = array;
  return MW_SUCCESS;
}
