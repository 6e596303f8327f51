/* A C host that hands DLPack tensors in and takes them out (spec/array/dlpack_spec.lua): prints a line for each check that
 * fails, and at the end how many there were. The structs are written here as DLPack's header has them. */
#include "moonwarp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t device_type, device_id;
} DLDevice;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

static int checks, failures, deleted;

#define EXPECT(condition)                                                                                              \
  (checks++, (condition) ? 0 : (failures++, printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, why())))

static const char *why(void) { return mw_error_last() ? mw_error_last()->message : ""; }

static void count(DLManagedTensor *self) {
  (void)self;
  deleted++;
}
static void count_versioned(DLManagedTensorVersioned *self) {
  (void)self;
  deleted++;
}

static void test_out(mw_device *device) {
  const size_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  mw_array *array, *turned;
  mw_memory before, after;
  DLManagedTensor *t;
  mw_device_memory(device, &before);
  EXPECT(mw_array_new(device, mw_dtype("float"), 2, shape, &array) == MW_SUCCESS);
  EXPECT(mw_array_write(array, 0, 6, values) == MW_SUCCESS);
  EXPECT(mw_array_view_strided(array, 8, mw_dtype("float"), 2, (size_t[]){3, 2}, (int64_t[]){-4, 12}, &turned) ==
         MW_SUCCESS);
  EXPECT(mw_array_to_dlpack(turned, 0, (void **)&t) == MW_SUCCESS);
  mw_array_release(turned);
  mw_array_release(array); /* the tensor keeps the memory */
  EXPECT(t->dl_tensor.device.device_type == 1 && t->dl_tensor.ndim == 2 && t->dl_tensor.byte_offset == 0);
  EXPECT(t->dl_tensor.dtype.code == 2 && t->dl_tensor.dtype.bits == 32 && t->dl_tensor.dtype.lanes == 1);
  EXPECT(t->dl_tensor.shape[0] == 3 && t->dl_tensor.shape[1] == 2);
  EXPECT(t->dl_tensor.strides[0] == -1 && t->dl_tensor.strides[1] == 3);
  const float *at = t->dl_tensor.data;
  EXPECT(at[0] == 3 && at[-1] == 2 && at[3] == 6);
  t->deleter(t);
  mw_device_memory(device, &after);
  EXPECT(after.count == before.count && after.bytes == before.bytes);
}

static void test_read_only(mw_device *device) {
  mw_array *array, *wide;
  DLManagedTensorVersioned *t;
  void *none;
  EXPECT(mw_array_new(device, mw_dtype("int"), 1, (size_t[]){1}, &array) == MW_SUCCESS);
  EXPECT(mw_array_view_strided(array, 0, mw_dtype("int"), 1, (size_t[]){5}, (int64_t[]){0}, &wide) == MW_SUCCESS);
  EXPECT(mw_array_to_dlpack(wide, 0, &none) == MW_NOT_SUPPORTED && strstr(why(), "versioned = true"));
  EXPECT(mw_array_to_dlpack(wide, 1, (void **)&t) == MW_SUCCESS);
  EXPECT(t->major == 1 && (t->flags & 1) && t->dl_tensor.strides[0] == 0 && t->dl_tensor.shape[0] == 5);
  t->deleter(t);
  mw_array_release(wide);
  mw_array_release(array);
}

static void test_in(mw_device *device) {
  double data[] = {9, 1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 2}, strides[] = {1, 3};
  DLManagedTensor t = {{data, {1, 0}, 2, {2, 64, 1}, shape, strides, 8}, NULL, count};
  mw_array *array;
  double back[4];
  EXPECT(mw_array_from_dlpack(device, &t, 0, &array) == MW_SUCCESS);
  EXPECT(deleted == 1);
  data[1] = 100; /* a copy was taken */
  EXPECT(mw_array_read(array, 0, 4, back) == MW_SUCCESS);
  EXPECT(back[0] == 1 && back[1] == 4 && back[2] == 2 && back[3] == 5);
  mw_array_release(array);

  int16_t small[] = {-1, 2, 3};
  int64_t three[] = {3};
  DLManagedTensorVersioned v = {1, 2, NULL, count_versioned, 1, {small, {3, 0}, 1, {0, 16, 1}, three, NULL, 0}};
  int16_t numbers[3];
  EXPECT(mw_array_from_dlpack(device, &v, 1, &array) == MW_SUCCESS);
  EXPECT(deleted == 2 && strcmp(mw_array_dtype(array)->name, "short") == 0);
  EXPECT(mw_array_read(array, 0, 3, numbers) == MW_SUCCESS && numbers[0] == -1 && numbers[2] == 3);
  mw_array_release(array);

  DLManagedTensor number = {{data, {1, 0}, 0, {2, 64, 1}, NULL, NULL, 0}, NULL, NULL}; /* no deleter: nothing to do */
  EXPECT(mw_array_from_dlpack(device, &number, 0, &array) == MW_SUCCESS);
  EXPECT(mw_array_rank(array) == 1 && mw_array_count(array) == 1);
  mw_array_release(array);
}

/* A tensor that is refused is not deleted. */
static void test_refused(mw_device *device) {
  float data[4] = {0};
  int64_t shape[] = {4, 1, 1, 1, 1, 1, 1, 1, 1};
  DLManagedTensor t = {{data, {1, 0}, 1, {2, 32, 1}, shape, NULL, 0}, NULL, count}, other;
  DLManagedTensorVersioned v = {2, 0, NULL, count_versioned, 0, t.dl_tensor};
  mw_array *array;
  deleted = 0;
  other = t, other.dl_tensor.dtype.bits = 8;
  EXPECT(mw_array_from_dlpack(device, &other, 0, &array) == MW_NOT_SUPPORTED && strstr(why(), "code 2, 8 bits"));
  other = t, other.dl_tensor.device.device_type = 10;
  EXPECT(mw_array_from_dlpack(device, &other, 0, &array) == MW_NOT_SUPPORTED && strstr(why(), "device of type 10"));
  other = t, other.dl_tensor.device.device_type = 2, other.dl_tensor.device.device_id = 7;
  EXPECT(mw_array_from_dlpack(device, &other, 0, &array) == MW_INVALID_DEVICE_POINTER && strstr(why(), "cuda:7"));
  other = t, other.dl_tensor.ndim = 9;
  EXPECT(mw_array_from_dlpack(device, &other, 0, &array) == MW_NOT_SUPPORTED && strstr(why(), "9 dimensions"));
  other = t, other.dl_tensor.data = NULL;
  EXPECT(mw_array_from_dlpack(device, &other, 0, &array) == MW_INVALID_VALUE);
  EXPECT(mw_array_from_dlpack(device, &v, 1, &array) == MW_NOT_SUPPORTED && strstr(why(), "DLPack 2.0"));
  EXPECT(mw_array_from_dlpack(device, NULL, 0, &array) == MW_INVALID_VALUE);
  EXPECT(deleted == 0);
}

static void test_types(mw_device *device) {
  static const char *const names[] = {"bool",     "char",   "ushort", "int",       "ulonglong", "half",
                                      "bfloat16", "double", "float4", "complex64", "complex128"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mw_array *array, *back = NULL;
    void *t = NULL;
    EXPECT(mw_array_new(device, mw_dtype(names[i]), 1, (size_t[]){3}, &array) == MW_SUCCESS);
    EXPECT(mw_array_to_dlpack(array, (int)i % 2, &t) == MW_SUCCESS);
    EXPECT(t && mw_array_from_dlpack(device, t, (int)i % 2, &back) == MW_SUCCESS);
    EXPECT(back && mw_array_dtype(back) == mw_array_dtype(array));
    mw_array_release(back);
    mw_array_release(array);
  }
}

int main(void) {
  mw_device *device;
  if (mw_device_open("cpu", &device) != MW_SUCCESS) return puts("no device"), 1;
  test_out(device);
  test_read_only(device);
  test_in(device);
  test_refused(device);
  test_types(device);
  mw_device_release(device);
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
