/* Copies to or from strided arrays, by elementwise kernels that the device owns, one for each word size. */
#include "elementwise.h"

#include <stdlib.h>
#include <string.h>

/* Word sizes: a copy uses the largest one that divides the element size, the address and all strides. */
static const char *const words[] = {"uchar", "ushort", "uint", "ulonglong", "uint4"};

struct mw_device_functions {
  pthread_mutex_t lock;
  mw_elementwise *copy[MW_COUNT(words)];
};

static void finish(mw_elementwise *f, size_t *modules) {
  for (const mw_elementwise_variant *v = f->variants; v; v = v->next) ++*modules;
}

/* The references of these functions' modules to the device were released when the modules were compiled. They are taken
   again here, and one more, so that releasing the modules does not close the device a second time. */
void mw_elementwise_close(mw_device *device) {
  struct mw_device_functions *functions = device->functions;
  size_t modules = 0;
  if (!functions) return;
  for (size_t i = 0; i < MW_COUNT(words); i++)
    if (functions->copy[i]) finish(functions->copy[i], &modules);
  for (size_t i = 0; i < modules + 1; i++) mw_refs_take(&device->refs);
  for (size_t i = 0; i < MW_COUNT(words); i++) mw_elementwise_release(functions->copy[i]);
  pthread_mutex_destroy(&functions->lock);
  free(functions);
  device->functions = NULL;
}

static struct mw_device_functions *functions_of(mw_device *device) {
  struct mw_device_functions *there = atomic_load(&device->functions), *made;
  if (there) return there;
  made = mw_alloc(sizeof *made);
  pthread_mutex_init(&made->lock, NULL);
  if (atomic_compare_exchange_strong(&device->functions, &there, made)) return made;
  pthread_mutex_destroy(&made->lock);
  free(made);
  return there;
}

static int copier(mw_device *device, size_t word, mw_elementwise **out) {
  const mw_type *dtype = mw_dtype(words[word]);
  const mw_operand operands[] = {{"target", MW_OPERAND_OUT, dtype}, {"source", MW_OPERAND_IN, dtype}};
  const mw_elementwise_source source = {
      .name = "copy_elements", .body = "target = source;", .operands = operands, .operand_count = MW_COUNT(operands)};
  struct mw_device_functions *functions = functions_of(device);
  int code = MW_SUCCESS;
  mw_lock(&functions->lock);
  if (!functions->copy[word]) {
    code = mw_elementwise_new(device, &source, &functions->copy[word]);
    if (code == MW_SUCCESS) {
      functions->copy[word]->owned = true;
      mw_refs_drop(&device->refs); /* never the last: the caller has one */
    }
  }
  *out = functions->copy[word];
  mw_unlock(&functions->lock);
  return code;
}

static void add_bits(uint64_t *bits, const mw_array *array) {
  *bits |= array->offset | array->dtype->size;
  for (int d = 0; d < array->rank; d++)
    if (array->shape[d] > 1) *bits |= (uint64_t)array->strides[d];
}

/* The array as an array of words: the words of an element are an additional dimension. */
static int as_words(mw_array *array, const mw_type *word, mw_array **out) {
  size_t shape[MW_MAX_RANK];
  int64_t strides[MW_MAX_RANK];
  int rank = array->rank;
  size_t count = array->dtype->size / word->size;
  memcpy(shape, array->shape, sizeof shape);
  memcpy(strides, array->strides, sizeof strides);
  if (count > 1) {
    shape[rank] = count;
    strides[rank++] = (int64_t)word->size;
  }
  return mw_array_view_strided(array, 0, word, rank, shape, strides, out);
}

int mw_array_copy_elements(mw_array *target, mw_array *source) {
  uint64_t bits = 16;
  size_t word = 0;
  add_bits(&bits, target);
  add_bits(&bits, source);
  while (word + 1 < MW_COUNT(words) && bits % ((uint64_t)2 << word) == 0) word++;
  mw_operand_value values[2] = {{0}, {0}};
  mw_elementwise *f;
  if (target->count == 0) return MW_SUCCESS;
  if (target->rank == MW_MAX_RANK && target->dtype->size > (size_t)1 << word)
    return fail(MW_NOT_SUPPORTED, "a strided copy of elements of %zu bytes in %d dimensions", target->dtype->size,
                MW_MAX_RANK);
  int code = copier(target->buffer->device, word, &f);
  if (code == MW_SUCCESS) code = as_words(target, mw_dtype(words[word]), &values[0].array);
  if (code == MW_SUCCESS) code = as_words(source, mw_dtype(words[word]), &values[1].array);
  if (code == MW_SUCCESS) code = mw_elementwise_run(f, values, NULL);
  mw_array_release(values[0].array);
  mw_array_release(values[1].array);
  return code;
}
