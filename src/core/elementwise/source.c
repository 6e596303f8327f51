/* The CUDA C of an elementwise function, for one layout class.
 *
 * It should be readable, since `f:source()` shows it. Elements are loaded into variables with the operands' names, the
 * body computes with them, and the outputs' variables are stored. */
#include "elementwise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const mw_type *type, const char *name) {
  const mw_type *scalar = type->kind == MW_TYPE_VECTOR ? type->element : type;
  return strcmp(scalar->name, name) == 0;
}

/* The name in CUDA C, where it differs from the dtype's name. Opaque elements have the name that add_opaque defines, and
   `room` keeps it. */
enum { NAME_ROOM = 48 };
static const char *spelling(const mw_elementwise *f, const mw_type *type, char room[NAME_ROOM]) {
  if (mw_is_opaque(f, type)) {
    snprintf(room, NAME_ROOM, "element_%zu_%zu", type->size, type->align);
    return room;
  }
  if (strcmp(type->name, "bfloat16") == 0) return "__nv_bfloat16";
  if (strcmp(type->name, "bfloat162") == 0) return "__nv_bfloat162";
  if (mw_type_is_complex(type)) return type->size == 8 ? "float2" : "double2";
  return type->name;
}

static void add_includes(mw_text *text, const mw_elementwise *f) {
  bool half = false, bfloat = false, complex = false;
  for (size_t k = 0; k < f->operand_count; k++) {
    half |= is_named(f->operands[k].dtype, "half");
    bfloat |= is_named(f->operands[k].dtype, "bfloat16");
    complex |= mw_type_is_complex(f->operands[k].dtype) != 0;
  }
  if (half) mw_text_addf(text, "#include <cuda_fp16.h>\n");
  if (bfloat) mw_text_addf(text, "#include <cuda_bf16.h>\n");
  if (complex) mw_text_addf(text, "#include <moonwarp/algorithms/complex.h>\n");
}

/* Structs that no preamble declares, as words: a function without one can only move them. */
static void add_opaque(mw_text *text, const mw_elementwise *f) {
  static const char *const words[] = {"unsigned char", "unsigned short", "unsigned", "unsigned long long", "uint4"};
  char room[NAME_ROOM];
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_type *type = f->operands[k].dtype;
    bool is_first = mw_is_opaque(f, type);
    for (size_t j = 0; j < k && is_first; j++) {
      const mw_type *other = f->operands[j].dtype;
      is_first = !mw_is_opaque(f, other) || other->size != type->size || other->align != type->align;
    }
    if (!is_first) continue;
    size_t word = 0;
    while (word + 1 < MW_COUNT(words) && type->align % ((size_t)2 << word) == 0) word++;
    mw_text_addf(text, "struct __align__(%zu) %s { %s word[%zu]; }; // %s\n", type->align, spelling(f, type, room),
                 words[word], type->size >> word, type->name);
  }
}

static void add_parameters(mw_text *text, const mw_elementwise *f) {
  char room[NAME_ROOM];
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_operand *o = &f->operands[k];
    const char *type = spelling(f, o->dtype, room);
    switch (o->kind) {
    case MW_OPERAND_OUT: mw_text_addf(text, ", %s *%s_", type, o->name); break;
    case MW_OPERAND_IN: mw_text_addf(text, ", const %s *%s_", type, o->name); break;
    case MW_OPERAND_WHOLE: mw_text_addf(text, ", const %s *%s", type, o->name); break;
    case MW_OPERAND_SCALAR: mw_text_addf(text, ", %s %s", type, o->name); break;
    }
  }
}

static int lines_of(const mw_text *text) {
  int lines = 1;
  for (const char *at = text->data; at && (at = strchr(at, '\n')); at++) lines++;
  return lines;
}

/* ---- flat ---- */

static void add_flat_head(mw_text *text, const mw_elementwise *f, const mw_layout_class *class) {
  const char *count = class->wide ? "unsigned long long" : "unsigned";
  mw_text_addf(text, "extern \"C\" __global__ void %s(%s count_", f->kernel, count);
  add_parameters(text, f);
  mw_text_addf(text, ") {\n  %s i = %sblockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= count_) return;\n",
               class->wide ? "unsigned long long" : "unsigned", class->wide ? "(unsigned long long)" : "");
}

/* ---- by rows ---- */

/* The expression for an operand's element in column j_ of its row. */
static void add_place(mw_text *text, const mw_elementwise *f, const mw_layout_class *class, size_t k) {
  const mw_operand *o = &f->operands[k];
  char room[NAME_ROOM];
  const char *type = spelling(f, o->dtype, room), *constant = o->kind == MW_OPERAND_OUT ? "" : "const ";
  const char *byte = o->kind == MW_OPERAND_OUT ? "" : "const ";
  switch (class->step[k]) {
  case MW_STEP_NEXT:
    mw_text_addf(text, "((%s%s *)((%schar *)%s_ + at_%s))[j_]", constant, type, byte, o->name, o->name);
    break;
  case MW_STEP_STAY:
    mw_text_addf(text, "*(%s%s *)((%schar *)%s_ + at_%s)", constant, type, byte, o->name, o->name);
    break;
  default:
    mw_text_addf(text, "*(%s%s *)((%schar *)%s_ + at_%s + (long long)j_ * walk_.step[%zu])", constant, type, byte,
                 o->name, o->name, k * (size_t)class->rank + (size_t)class->rank - 1);
  }
}

static void add_rows_head(mw_text *text, const mw_elementwise *f, const mw_layout_class *class) {
  size_t operands = f->operand_count + 1, rank = (size_t)class->rank;
  const char *index = class->wide ? "unsigned long long" : "unsigned";
  mw_text_addf(
      text,
      "struct walk_ { // dimensions, the innermost last; bytes from one element to the next in each, by operand\n"
      "  long long step[%zu];\n  %s extent[%zu], rows;\n};\n",
      operands * rank, index, rank);
  mw_text_addf(text, "extern \"C\" __global__ void %s(walk_ walk_", f->kernel);
  add_parameters(text, f);
  mw_text_addf(text,
               ") {\n  %s j_ = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "  %s row_ = (%s)(blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;\n"
               "  if (j_ >= walk_.extent[%zu] || row_ >= walk_.rows) return;\n",
               index, index, index, rank - 1);
  for (size_t k = 0; k < f->operand_count; k++)
    if (mw_is_walked(&f->operands[k])) mw_text_addf(text, "  long long at_%s = 0;\n", f->operands[k].name);
  if (f->uses_index) mw_text_addf(text, "  long long i = 0;\n");
  for (size_t d = rank - 1; d-- > 0;) {
    if (d > 0)
      mw_text_addf(text, "  %s c%zu_ = row_ %% walk_.extent[%zu];\n  row_ /= walk_.extent[%zu];\n", index, d, d, d);
    else
      mw_text_addf(text, "  %s c0_ = row_;\n", index);
    for (size_t k = 0; k < f->operand_count; k++)
      if (mw_is_walked(&f->operands[k]))
        mw_text_addf(text, "  at_%s += c%zu_ * walk_.step[%zu];\n", f->operands[k].name, d, k * rank + d);
    if (f->uses_index) mw_text_addf(text, "  i += c%zu_ * walk_.step[%zu];\n", d, f->operand_count * rank + d);
  }
  if (f->uses_index)
    mw_text_addf(text, "  i += j_ * walk_.step[%zu];\n  (void)i;\n", f->operand_count * rank + rank - 1);
}

/* ---- the whole ---- */

char *mw_elementwise_kernel_text(const mw_elementwise *f, const mw_layout_class *class, int *line_of_body) {
  mw_text text = {0};
  char room[NAME_ROOM];
  bool flat = class->rank == 0;
  add_includes(&text, f);
  add_opaque(&text, f);
  if (f->preamble && *f->preamble) mw_text_addf(&text, "%s\n", f->preamble);
  if (flat)
    add_flat_head(&text, f, class);
  else
    add_rows_head(&text, f, class);
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_operand *o = &f->operands[k];
    if (o->kind == MW_OPERAND_OUT) mw_text_addf(&text, "  %s %s;\n", spelling(f, o->dtype, room), o->name);
    if (o->kind != MW_OPERAND_IN) continue;
    mw_text_addf(&text, "  const %s %s = ", spelling(f, o->dtype, room), o->name);
    if (flat)
      mw_text_addf(&text, "%s_[i]", o->name);
    else
      add_place(&text, f, class, k);
    mw_text_addf(&text, ";\n");
  }
  *line_of_body = lines_of(&text);
  mw_text_addf(&text, "  %s\n", f->body);
  for (size_t k = 0; k < f->operand_count; k++) {
    const mw_operand *o = &f->operands[k];
    if (o->kind != MW_OPERAND_OUT) continue;
    mw_text_addf(&text, "  ");
    if (flat)
      mw_text_addf(&text, "%s_[i]", o->name);
    else
      add_place(&text, f, class, k);
    mw_text_addf(&text, " = %s;\n", o->name);
  }
  mw_text_addf(&text, "}\n");
  return text.data;
}
