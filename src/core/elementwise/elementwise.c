/* Elementwise functions: the object, its compiled kernels, and running it (elementwise.h). */
#include "elementwise.h"
#include "core/launch/launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static char *copy_of(const char *text) { return text ? mw_strdup(text) : NULL; }

static int check_source(const mw_elementwise_source *source) {
  if (source->operand_count == 0 || source->operand_count > MW_MAX_OPERANDS)
    return fail(MW_INVALID_VALUE, "a function of elements has 1 to %d operands, not %zu", MW_MAX_OPERANDS,
                source->operand_count);
  for (size_t k = 0; k < source->operand_count; k++) {
    const mw_operand *o = &source->operands[k];
    if (!o->dtype || o->dtype->size == 0)
      return fail(MW_INVALID_VALUE, "%s: %s needs a type that has a size", source->name, o->name);
  }
  return MW_SUCCESS;
}

int mw_elementwise_new(mw_device *device, const mw_elementwise_source *source, mw_elementwise **out) {
  int code = check_source(source);
  if (code != MW_SUCCESS) return code;
  mw_elementwise *f = mw_alloc(sizeof *f);
  mw_refs_init(&f->refs);
  f->device = mw_device_retain(device);
  f->name = mw_strdup(source->name);
  f->kernel = mw_format("%s_kernel", source->name);
  f->preamble = copy_of(source->preamble);
  f->body = mw_strdup(source->body);
  f->file = copy_of(source->file);
  f->line = source->line;
  f->uses_index = source->uses_index != 0;
  f->option_count = source->option_count;
  f->options = mw_alloc((source->option_count + 1) * sizeof *f->options);
  for (size_t i = 0; i < source->option_count; i++) f->options[i] = mw_strdup(source->options[i]);
  f->operand_count = source->operand_count;
  f->operands = mw_alloc(source->operand_count * sizeof *f->operands);
  for (size_t k = 0; k < source->operand_count; k++) {
    f->operands[k] = source->operands[k];
    f->operands[k].name = mw_strdup(source->operands[k].name);
  }
  pthread_mutex_init(&f->lock, NULL);
  *out = f;
  return MW_SUCCESS;
}

void mw_elementwise_release(mw_elementwise *f) {
  if (!f || !mw_refs_drop(&f->refs)) return;
  for (mw_elementwise_variant *variant = f->variants, *next; variant; variant = next) {
    next = variant->next;
    mw_launch_release(variant->launch);
    free(variant);
  }
  for (size_t i = 0; i < f->option_count; i++) free(f->options[i]);
  for (size_t k = 0; k < f->operand_count; k++) free((char *)f->operands[k].name);
  free(f->options);
  free(f->operands);
  free(f->name);
  free(f->kernel);
  free(f->preamble);
  free(f->body);
  free(f->file);
  pthread_mutex_destroy(&f->lock);
  if (!f->owned) mw_device_release(f->device);
  free(f);
}

char *mw_elementwise_text(const mw_elementwise *f) {
  int line;
  const mw_layout_class flat = {0};
  return mw_elementwise_kernel_text(f, &flat, &line);
}

void mw_text_release(char *text) { free(text); }

/* ---- kernels ---- */

static int compile(mw_elementwise *f, const mw_layout_class *class, mw_launch **out) {
  int line;
  char *text = mw_elementwise_kernel_text(f, class, &line);
  const mw_source source = {.text = text,
                            .length = strlen(text),
                            .file = f->file ? f->file : f->name,
                            .line = f->file && f->line >= line ? f->line - line + 1 : 1,
                            .options = (const char *const *)f->options,
                            .option_count = f->option_count};
  mw_module *module = NULL;
  mw_kernel *kernel = NULL;
  const unsigned one[3] = {1, 1, 1};
  int code = mw_module_compile(f->device, &source, &module);
  if (code == MW_SUCCESS) code = mw_module_kernel(module, f->kernel, &kernel);
  if (code == MW_SUCCESS) code = mw_launch_new(kernel, one, one, 0, out);
  if (kernel) mw_kernel_release(kernel);
  mw_module_release(module);
  free(text);
  return code;
}

/* Under the lock: the kernel for the class, compiled if necessary; NULL with the error slot filled. */
static mw_elementwise_variant *variant_for(mw_elementwise *f, const mw_layout_class *class, int *code) {
  for (mw_elementwise_variant *v = f->variants; v; v = v->next)
    if (memcmp(&v->class, class, sizeof *class) == 0 && !mw_launch_is_lost(v->launch)) return v;
  mw_launch *launch = NULL;
  *code = compile(f, class, &launch);
  if (*code != MW_SUCCESS) return NULL;
  /* A function that the device owns must not retain the device: mw_elementwise_close takes this reference again. */
  if (f->owned) mw_refs_drop(&f->device->refs);
  mw_elementwise_variant *made = mw_alloc(sizeof *made);
  *made = (mw_elementwise_variant){.next = f->variants, .class = *class, .launch = launch};
  return f->variants = made;
}

/* ---- a run ---- */

static int set_operand(mw_launch *launch, size_t i, const mw_operand *operand, const mw_operand_value *value) {
  if (operand->kind == MW_OPERAND_SCALAR) {
    if (value->bytes) return mw_launch_bytes(launch, i, value->bytes, operand->dtype->size);
    return value->is_integer ? mw_launch_int64(launch, i, value->integer) : mw_launch_number(launch, i, value->number);
  }
  return mw_launch_operand(launch, i, value->array);
}

static unsigned blocks_of(size_t count, size_t per_block) { return (unsigned)((count + per_block - 1) / per_block); }

static int configure_flat(mw_launch *launch, size_t count, bool wide) {
  enum { THREADS = 256 };
  unsigned grid[3] = {blocks_of(count, THREADS), 1, 1}, block[3] = {THREADS, 1, 1};
  int code = mw_launch_configure(launch, grid, block, 0);
  if (code != MW_SUCCESS) return code;
  return wide ? mw_launch_bytes(launch, 0, &(uint64_t){count}, sizeof(uint64_t))
              : mw_launch_bytes(launch, 0, &(uint32_t){(uint32_t)count}, sizeof(uint32_t));
}

/* Has the layout of the kernel's struct walk_. */
static int set_walk(const mw_elementwise *f, mw_launch *launch, const mw_layout *layout, const mw_layout_class *class) {
  unsigned char bytes[(MW_MAX_OPERANDS + 1) * MW_MAX_RANK * 8 + (MW_MAX_RANK + 1) * 8] = {0};
  size_t rank = (size_t)layout->rank, at = 0, rows = 1;
  for (size_t k = 0; k <= f->operand_count; k++, at += rank * 8) memcpy(bytes + at, layout->step[k], rank * 8);
  for (size_t d = 0; d + 1 < rank; d++) rows *= layout->extent[d];
  for (size_t d = 0; d <= rank; d++) {
    size_t value = d < rank ? layout->extent[d] : rows, size = class->wide ? 8 : 4;
    memcpy(bytes + at, class->wide ? (void *)&(uint64_t){value} : (void *)&(uint32_t){(uint32_t)value}, size);
    at += size;
  }
  return mw_launch_bytes(launch, 0, bytes, (at + 7) / 8 * 8);
}

static int configure_rows(const mw_elementwise *f, mw_launch *launch, const mw_layout *layout,
                          const mw_layout_class *class) {
  enum { MOST = 65535 }; /* blocks along y and z */
  unsigned block[3] = {class->short_rows ? 32 : 256, class->short_rows ? 8 : 1, 1};
  size_t inner = layout->extent[layout->rank - 1], rows = layout->count / inner;
  size_t row_blocks = (rows + block[1] - 1) / block[1], deep = (row_blocks + MOST - 1) / MOST;
  unsigned grid[3] = {blocks_of(inner, block[0]), blocks_of(row_blocks, deep), (unsigned)deep};
  int code = mw_launch_configure(launch, grid, block, 0);
  return code == MW_SUCCESS ? set_walk(f, launch, layout, class) : code;
}

/* An input that overlaps an output, and not element by element, is read from a copy, which *copies retains. */
static int separate(const mw_elementwise *f, mw_operand_value *values, mw_array **copies) {
  for (size_t o = 0; o < f->operand_count; o++) {
    if (f->operands[o].kind != MW_OPERAND_OUT) continue;
    for (size_t k = 0; k < f->operand_count; k++) {
      const mw_operand *input = &f->operands[k];
      if (input->kind != MW_OPERAND_IN && input->kind != MW_OPERAND_WHOLE) continue;
      bool same_walk = input->kind == MW_OPERAND_IN && mw_array_is_same_walk(values[o].array, values[k].array);
      if (same_walk || !mw_array_overlaps(values[o].array, values[k].array)) continue;
      int code = mw_array_packed(values[k].array, &copies[k]);
      if (code != MW_SUCCESS) return code;
      values[k].array = copies[k];
    }
  }
  return MW_SUCCESS;
}

static int check_values(const mw_elementwise *f, const mw_operand_value *values) {
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_operand *o = &f->operands[k];
    const mw_array *array = values[k].array;
    if (o->kind == MW_OPERAND_SCALAR || (o->kind == MW_OPERAND_OUT && !array)) continue;
    if (!array) return fail(MW_INVALID_VALUE, "%s: %s wants an array", f->name, o->name);
    if (mw_buffer_is_freed(array->buffer))
      return fail(MW_INVALID_RESOURCE_HANDLE, "%s: %s is an array that was freed", f->name, o->name);
    if (array->dtype->size != o->dtype->size || !mw_type_accepts(o->dtype, array->dtype))
      return fail(MW_INVALID_VALUE, "%s: %s wants an array of %s, got one of %s", f->name, o->name, o->dtype->name,
                  array->dtype->name);
    if (array->buffer->device != f->device)
      return fail(MW_INVALID_DEVICE_POINTER, "%s: %s is an array on %s, and the function is for %s: write a:to(\"%s\")",
                  f->name, o->name, array->buffer->device->name, f->device->name, f->device->name);
    int code = MW_SUCCESS;
    if (o->kind == MW_OPERAND_WHOLE) code = mw_array_check_contiguous(array, o->name);
    if (o->kind == MW_OPERAND_OUT) code = mw_array_check_writable(array, o->name);
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}

static int make_outputs(const mw_elementwise *f, mw_operand_value *values, mw_array **made, int rank,
                        const size_t *shape) {
  for (size_t k = 0; k < f->operand_count; k++) {
    if (f->operands[k].kind != MW_OPERAND_OUT || values[k].array) continue;
    if (rank == 0)
      return fail(MW_INVALID_VALUE, "%s: none of the arguments is an array, so the shape of the result is unknown",
                  f->name);
    int code = mw_array_new(f->device, f->operands[k].dtype, rank, shape, &made[k]);
    if (code != MW_SUCCESS) return code;
    atomic_init(&made[k]->buffer->hidden, true);
    values[k].array = made[k];
  }
  return MW_SUCCESS;
}

/* The array whose shape all others have, if all are contiguous: a single dimension then, and nothing broadcasts. Else
   NULL. */
static const mw_array *flat_like(const mw_elementwise *f, const mw_operand_value *values) {
  const mw_array *like = NULL;
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_array *array = values[k].array;
    if (!array || !mw_is_walked(&f->operands[k])) continue;
    if (!array->contiguous || array->count <= 1) return NULL;
    if (like && (like->rank != array->rank || memcmp(like->shape, array->shape, (size_t)like->rank * sizeof(size_t))))
      return NULL;
    like = array;
  }
  return like;
}

/* Without a layout the class is flat. */
static int launch_variant(mw_elementwise *f, const mw_operand_value *values, const mw_layout_class *class,
                          const mw_layout *layout, size_t count, const char *site) {
  int code = MW_SUCCESS;
  mw_lock(&f->lock);
  mw_elementwise_variant *variant = variant_for(f, class, &code);
  if (variant) {
    mw_launch *launch = variant->launch;
    code = class->rank == 0 ? configure_flat(launch, count, class->wide) : configure_rows(f, launch, layout, class);
    for (size_t k = 0; k < f->operand_count && code == MW_SUCCESS; k++)
      code = set_operand(launch, k + 1, &f->operands[k], &values[k]);
    if (code == MW_SUCCESS) code = mw_launch_run(launch, site);
    mw_launch_clear(launch);
  }
  mw_unlock(&f->lock);
  return code;
}

static int run_flat(mw_elementwise *f, const mw_operand_value *values, size_t count, const char *site) {
  const mw_layout_class class = {.wide = count > INT32_MAX};
  return launch_variant(f, values, &class, NULL, count, site);
}

static int run_rows(mw_elementwise *f, const mw_operand_value *values, int rank, const size_t *shape,
                    const char *site) {
  mw_layout layout;
  mw_layout_of(f, values, rank, shape, &layout);
  if (layout.count == 0) return MW_SUCCESS;
  const mw_layout_class class = mw_layout_classify(f, values, &layout);
  return launch_variant(f, values, &class, &layout, layout.count, site);
}

int mw_elementwise_run(mw_elementwise *f, mw_operand_value *values, const char *site) {
  mw_array *made[MW_MAX_OPERANDS], *copies[MW_MAX_OPERANDS], *given[MW_MAX_OPERANDS];
  size_t shape[MW_MAX_RANK];
  int rank = 0;
  for (size_t k = 0; k < f->operand_count; k++) {
    given[k] = values[k].array;
    made[k] = copies[k] = NULL;
  }
  int code = check_values(f, values);
  const mw_array *like = code == MW_SUCCESS ? flat_like(f, values) : NULL;
  if (code == MW_SUCCESS && !like) code = mw_broadcast_shape(f, values, &rank, shape);
  if (code == MW_SUCCESS) code = make_outputs(f, values, made, like ? like->rank : rank, like ? like->shape : shape);
  if (code == MW_SUCCESS) code = separate(f, values, copies);
  if (code == MW_SUCCESS && like)
    code = run_flat(f, values, like->count, site);
  else if (code == MW_SUCCESS && rank > 0)
    code = run_rows(f, values, rank, shape, site);
  for (size_t k = 0; k < f->operand_count; k++) {
    mw_array_release(copies[k]);
    values[k].array = given[k] || code != MW_SUCCESS ? given[k] : made[k];
    if (code != MW_SUCCESS) mw_array_release(made[k]);
  }
  return code;
}
