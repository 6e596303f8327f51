/* Products and factorisations of arrays by a library: checks, and the description of matrices for the driver. */
#include "linear.h"
#include "core/array/array.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"

#include <limits.h>
#include <string.h>

/* ---- which library ---- */

static int no_library(const mw_device *device) {
  return fail(MW_NOT_SUPPORTED, "%s has no libraries for linear algebra", device->name);
}

int mw_linear_library(mw_device *device, int factorisations, char *text, size_t size) {
  const mw_driver_linear *linear = device->driver->linear;
  mw_text out = {0};
  if (!linear) return no_library(device);
  int code = factorisations ? linear->factorisations(device->state, &out) : linear->products(device->state, &out);
  if (code == MW_SUCCESS && size > 0) {
    size_t length = out.length < size ? out.length : size - 1;
    memcpy(text, out.data ? out.data : "", length);
    text[length] = '\0';
  }
  mw_text_free(&out);
  return code;
}

/* BLAS's letter for elements of a type, or 0. */
static char letter_of(const mw_type *type) {
  const mw_type *part = type->kind == MW_TYPE_VECTOR && type->count == 2 ? type->element : NULL;
  if (type->kind == MW_TYPE_FLOAT) return type->size == 4 ? 's' : type->size == 8 ? 'd' : 'h';
  if (type->kind == MW_TYPE_BFLOAT) return 'b';
  if (!part || part->kind != MW_TYPE_FLOAT) return 0;
  return part->size == 4 ? 'c' : part->size == 8 ? 'z' : 0;
}

static int check_stream(mw_stream *stream) {
  if (mw_capture_concerns(stream))
    return fail(MW_NOT_SUPPORTED, "calls of linear algebra libraries cannot be captured into a graph");
  return stream->device->driver->linear ? MW_SUCCESS : no_library(stream->device);
}

/* ---- products ---- */

/* Describe an array of one or more matrices; false if neither its rows nor its columns are contiguous. */
static bool describe(const mw_array *array, mw_matrices *out) {
  int64_t size = (int64_t)array->dtype->size;
  const size_t *shape = array->shape + array->rank - 2;
  const int64_t *strides = array->strides + array->rank - 2;
  int64_t row = strides[0], column = strides[1];
  if (shape[1] == 1) column = size;
  if (shape[0] == 1 && column == size) row = (int64_t)shape[1] * size;
  if (shape[0] == 1 && column != size) row = size;
  out->transposed = column != size;
  int64_t leading = out->transposed ? column : row;
  size_t least = out->transposed ? shape[0] : shape[1];
  out->leading = (size_t)(leading / size);
  out->next = array->rank == 3 && array->shape[0] > 1 ? array->strides[0] / size : 0;
  out->address = array->buffer->address + array->offset;
  bool is_whole = leading % size == 0 && (array->rank < 3 || array->strides[0] % size == 0);
  return is_whole && leading > 0 && out->leading >= least && out->leading <= INT_MAX &&
         (out->transposed ? row : column) == size;
}

static int check_product(const mw_array *a, const mw_array *b, const mw_array *c) {
  if (a->rank < 2 || a->rank > 3 || b->rank != a->rank || c->rank != a->rank)
    return fail(MW_INVALID_VALUE, "a product by a library needs matrices, or arrays of matrices");
  const size_t *p = a->shape + a->rank - 2, *q = b->shape + a->rank - 2, *r = c->shape + a->rank - 2;
  bool fits = p[1] == q[0] && r[0] == p[0] && r[1] == q[1];
  if (a->rank == 3) fits = fits && a->shape[0] == b->shape[0] && a->shape[0] == c->shape[0];
  if (!fits) return fail(MW_INVALID_VALUE, "the shapes of a product by a library do not fit together");
  if (a->dtype != b->dtype || a->dtype != c->dtype)
    return fail(MW_INVALID_VALUE, "the arrays of a product by a library need one dtype");
  if (a->buffer->device != b->buffer->device || a->buffer->device != c->buffer->device)
    return fail(MW_INVALID_VALUE, "the arrays of a product have to be on one device");
  if (mw_array_overlaps(a, c) || mw_array_overlaps(b, c))
    return fail(MW_INVALID_VALUE, "a product by a library cannot write into one of its operands");
  if (p[0] > INT_MAX || p[1] > INT_MAX || r[1] > INT_MAX)
    return fail(MW_NOT_SUPPORTED, "libraries count rows and columns with 32 bits");
  return mw_array_check_writable(c, "the result of a product");
}

/* A command that uses the arrays' memory. */
static int command_for(mw_array *const *arrays, size_t count, mw_command **out) {
  mw_command *command = mw_command_new(NULL, count);
  int code = MW_SUCCESS;
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++)
    if (arrays[i]) code = mw_command_use(command, arrays[i]->buffer);
  if (code != MW_SUCCESS)
    mw_command_end(command);
  else
    *out = command;
  return code;
}

int mw_array_product(mw_array *a, mw_array *b, mw_array *c) {
  mw_product product = {.letter = letter_of(a->dtype)};
  mw_array *arrays[] = {a, b, c};
  mw_command *command;
  int code = check_product(a, b, c);
  mw_stream *stream = mw_stream_of(a->buffer->device);
  if (code == MW_SUCCESS) code = check_stream(stream);
  if (code != MW_SUCCESS || c->count == 0) return code;
  if (!product.letter) return fail(MW_NOT_SUPPORTED, "libraries have no products of %s", a->dtype->name);
  if (!describe(a, &product.a) || !describe(b, &product.b) || !describe(c, &product.c) || product.c.transposed)
    return fail(MW_NOT_SUPPORTED,
                "libraries need matrices whose rows or columns are contiguous: a:contiguous() copies others");
  product.rows = c->shape[c->rank - 2];
  product.columns = c->shape[c->rank - 1];
  product.inner = a->shape[a->rank - 1];
  product.count = a->rank == 3 ? a->shape[0] : 1;
  if (product.inner == 0) return fail(MW_NOT_SUPPORTED, "a product by a library needs matrices that are not empty");
  code = command_for(arrays, 3, &command);
  if (code != MW_SUCCESS) return code;
  code = stream->device->driver->linear->product(stream->state, &product, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}

/* ---- factorisations ---- */

/* The arrays of each: a type (T: the matrices'; R: its real one; C: its complex one; i: int), and a shape for each
   matrix of the batch. n, m and r are sizes that the arrays decide together; k is the smaller of m and n; u and v are k
   or all of m or n. */
static const struct {
  const char *name;
  mw_factor_kind kind;
  const char *arrays[5];
} factorisations[] = {
    {"solve", MW_FACTOR_SOLVE, {"Tnn", "Trn", "in", "i"}},
    {"lu", MW_FACTOR_LU, {"Tnn", "in", "i"}},
    {"cholesky", MW_FACTOR_CHOLESKY, {"Tnn", "i"}},
    {"qr", MW_FACTOR_QR, {"Tnm", "Tnk", "i"}},
    {"eigh", MW_FACTOR_EIGH, {"Tnn", "Rn", "i"}},
    {"eigvalsh", MW_FACTOR_EIGH, {"Tnn", "Rn", "i"}},
    {"svd", MW_FACTOR_SVD, {"Tnm", "Rk", "i", "Tum", "Tnv"}},
    {"svdvals", MW_FACTOR_SVD, {"Tnm", "Rk", "i"}},
    {"eig", MW_FACTOR_EIG, {"Tnn", "Cn", "i", "Cnn"}},
    {"eigvals", MW_FACTOR_EIG, {"Tnn", "Cn", "i"}},
};

static bool is_type(char wanted, const mw_type *type, char letter) {
  bool is_double = letter == 'd' || letter == 'z';
  char own = type->kind == MW_TYPE_INT && type->size == 4 ? 'i' : letter_of(type);
  switch (wanted) {
  case 'T': return own == letter;
  case 'R': return own == (is_double ? 'd' : 's');
  case 'C': return own == (is_double ? 'z' : 'c');
  default: return own == 'i';
  }
}

typedef struct sizes {
  size_t of[128];
} sizes;

static bool fits(const char *wanted, const mw_array *array, char letter, sizes *known) {
  if (!is_type(wanted[0], array->dtype, letter) || !array->contiguous || array->rank != (int)strlen(wanted))
    return false;
  if (array->shape[0] != known->of['#']) return false;
  for (int d = 1; d < array->rank; d++) {
    unsigned char size = (unsigned char)wanted[d];
    if (known->of[size] == SIZE_MAX) known->of[size] = array->shape[d];
    if (known->of[size] != array->shape[d]) return false;
  }
  return true;
}

/* What the first array decides: rows and columns, and the smaller of them. */
static void start_sizes(const char *wanted, const mw_array *first, sizes *known) {
  for (size_t i = 0; i < MW_COUNT(known->of); i++) known->of[i] = SIZE_MAX;
  known->of['#'] = first->shape[0];
  known->of['n'] = first->shape[1];
  size_t other = first->shape[2];
  known->of[(unsigned char)wanted[2]] = other;
  known->of['k'] = other < first->shape[1] ? other : first->shape[1];
  if (wanted[2] == 'n') known->of['m'] = other;
}

static bool is_full_or_reduced(const sizes *known) {
  size_t u = known->of['u'], v = known->of['v'];
  return (u == known->of['m'] && v == known->of['n']) || (u == known->of['k'] && v == known->of['k']);
}

int mw_array_factor(const char *name, mw_array *const *arrays, size_t count) {
  size_t which = 0;
  mw_command *command;
  sizes known;
  while (which < MW_COUNT(factorisations) && strcmp(factorisations[which].name, name) != 0) which++;
  if (which == MW_COUNT(factorisations)) return fail(MW_INVALID_VALUE, "there is no factorisation '%s'", name);
  const char *const *wanted = factorisations[which].arrays;
  if (count < 2 || count > 5 || (count < 5 && wanted[count]) || !wanted[count - 1] || arrays[0]->rank != 3)
    return fail(MW_INVALID_VALUE, "%s: not the arrays of this factorisation", name);
  mw_factorisation f = {.kind = factorisations[which].kind, .letter = letter_of(arrays[0]->dtype)};
  if (!f.letter || strchr("hb", f.letter))
    return fail(MW_NOT_SUPPORTED, "libraries cannot factor matrices of %s", arrays[0]->dtype->name);
  start_sizes(wanted[0], arrays[0], &known);
  for (size_t i = 0; i < count; i++) {
    if (!fits(wanted[i], arrays[i], f.letter, &known))
      return fail(MW_INVALID_VALUE, "%s: array %zu has another type, shape or layout than this factorisation's", name,
                  i + 1);
    if (arrays[i]->buffer->device != arrays[0]->buffer->device)
      return fail(MW_INVALID_VALUE, "%s: all arrays have to be on one device", name);
    f.at[i] = arrays[i]->buffer->address + arrays[i]->offset;
    f.bytes[i] = arrays[0]->shape[0] ? arrays[i]->bytes / arrays[0]->shape[0] : 0;
  }
  if (known.of['u'] != SIZE_MAX && !is_full_or_reduced(&known))
    return fail(MW_INVALID_VALUE, "%s: not the sizes of this factorisation", name);
  f.rows = known.of['m'], f.columns = known.of['n'], f.count = known.of['#'];
  f.right = known.of['r'];
  f.full = known.of['u'] == known.of['m'] && known.of['v'] == known.of['n'];
  f.vectors = f.kind == MW_FACTOR_EIGH ? strcmp(name, "eigh") == 0 : count > 3;
  if (f.rows > INT_MAX || f.columns > INT_MAX) return fail(MW_NOT_SUPPORTED, "libraries count with 32 bits");
  mw_stream *stream = mw_stream_of(arrays[0]->buffer->device);
  int code = check_stream(stream);
  if (code == MW_SUCCESS && (f.count == 0 || f.rows == 0 || f.columns == 0 || f.right == 0)) return MW_SUCCESS;
  if (code == MW_SUCCESS) code = command_for(arrays, count, &command);
  if (code != MW_SUCCESS) return code;
  code = stream->device->driver->linear->factor(stream->state, &f, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  return code;
}
