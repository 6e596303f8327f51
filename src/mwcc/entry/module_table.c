/* The mw_mwo table: the module's description for the runtime, as constant data in the module.
 *
 * Each C struct of mwo.h has an LLVM counterpart here with the same fields; both follow the same layout rules, and
 * twin() checks the sizes. Pointers are relocated by the dynamic linker. */
#include "mwcc/mwcc.h"
#include "mwcc/support/checked_access.h"
#include "entry.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/watched_site.h"

#include <stdlib.h>
#include <string.h>

#define SECTION ".moonwarp"

typedef struct fields {
  program *p;
  LLVMValueRef items[24];
  unsigned count;
} fields;

static void put(fields *f, LLVMValueRef value) { f->items[f->count++] = value; }
static void put_i32(fields *f, uint32_t value) { put(f, constant_i32(f->p, value)); }
static void put_i64(fields *f, uint64_t value) { put(f, constant_i64(f->p, value)); }
static void put_pointer(fields *f, LLVMValueRef global) { put(f, global ? global : LLVMConstNull(f->p->pointer)); }

static LLVMValueRef constant_global(program *p, LLVMValueRef value, size_t align) {
  LLVMValueRef global = LLVMAddGlobal(p->module, LLVMTypeOf(value), "");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  if (align) LLVMSetAlignment(global, (unsigned)align);
  return global;
}

static void put_text(fields *f, const char *text) {
  put(f, text ? constant_global(f->p, LLVMConstStringInContext2(f->p->context, text, strlen(text), 0), 1)
              : LLVMConstNull(f->p->pointer));
}

/* The bytes' address and their number; NULL and 0 if there are none. */
static void put_bytes(fields *f, const mw_text *bytes) {
  program *p = f->p;
  size_t count = bytes ? bytes->length : 0;
  put(f, count ? constant_global(p, LLVMConstStringInContext2(p->context, bytes->data, count, 1), 1)
               : LLVMConstNull(p->pointer));
  put_i64(f, count);
}

/* The finished struct, which has to be as large as its C counterpart. */
static LLVMValueRef twin(fields *f, size_t size) {
  LLVMValueRef value = LLVMConstStructInContext(f->p->context, f->items, f->count, 0);
  if (LLVMABISizeOfType(f->p->layout, LLVMTypeOf(value)) != size)
    die("a table entry has %zu bytes in C but not in LLVM", size);
  return value;
}

static LLVMValueRef table_of(program *p, LLVMValueRef *items, size_t count) {
  if (!count) return NULL;
  return constant_global(p, LLVMConstArray2(LLVMTypeOf(items[0]), items, count), 8);
}

static LLVMValueRef type_global(program *p, ctype *type);

static LLVMValueRef field_table(program *p, ctype *type) {
  LLVMValueRef *items = mw_alloc((type->type.count + 1) * sizeof *items);
  for (size_t i = 0; i < type->type.count; i++) {
    fields f = {.p = p};
    put_text(&f, type->fields[i].name);
    put_pointer(&f, type_global(p, type->fields[i].type));
    put_i64(&f, type->fields[i].offset);
    items[i] = twin(&f, sizeof(mw_field));
  }
  LLVMValueRef table = table_of(p, items, type->type.count);
  free(items);
  return table;
}

/* The global is made before its contents, since a struct may have a pointer to itself. */
static LLVMValueRef type_global(program *p, ctype *type) {
  if (type->global) return type->global;
  LLVMTypeRef i = p->i32, l = p->i64, q = p->pointer, members[] = {i, i, l, l, q, q, l, q};
  LLVMTypeRef struct_type = LLVMStructTypeInContext(p->context, members, MW_COUNT(members), 0);
  type->global = LLVMAddGlobal(p->module, struct_type, "");
  LLVMSetLinkage(type->global, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(type->global, 1);
  fields f = {.p = p};
  put_i32(&f, type->type.kind);
  put_i32(&f, (uint32_t)type->type.is_const);
  put_i64(&f, type->type.size);
  put_i64(&f, type->type.align);
  put_text(&f, type->type.name);
  put_pointer(&f, type->element ? type_global(p, type->element) : NULL);
  put_i64(&f, type->type.count);
  put_pointer(&f, type->type.kind == MW_TYPE_STRUCT ? field_table(p, type) : NULL);
  LLVMSetInitializer(type->global, twin(&f, sizeof(mw_type)));
  return type->global;
}

static LLVMValueRef param_table(program *p, const kernel *k) {
  LLVMValueRef *items = mw_alloc((k->param_count + 1) * sizeof *items);
  for (size_t i = 0; i < k->param_count; i++) {
    fields f = {.p = p};
    put_text(&f, k->params[i].name);
    put_pointer(&f, type_global(p, k->params[i].type));
    put_i64(&f, k->params[i].offset);
    items[i] = twin(&f, sizeof(mw_param));
  }
  LLVMValueRef table = table_of(p, items, k->param_count);
  free(items);
  return table;
}

/* The references' linkage names, by which the runtime finds variables. */
static LLVMValueRef reference_names(program *p, const kernel *k) {
  fields f = {.p = p};
  LLVMValueRef *items = mw_alloc((k->reference_count + 1) * sizeof *items);
  for (size_t i = 0; i < k->reference_count; i++) {
    f.count = 0;
    put_text(&f, p->variables[k->references[i]].linkage);
    items[i] = f.items[0];
  }
  LLVMValueRef table = table_of(p, items, k->reference_count);
  free(items);
  return table;
}

static uint32_t interchanged_blocks(const kernel *k) {
  enum { STRETCH = TUNE_INTERCHANGED_BLOCKS };
  if (!k->iterations_end) return 0;
  return k->saves_state ? k->strip_blocks : STRETCH;
}

static LLVMValueRef separate_table(program *p, const kernel *k) {
  LLVMValueRef *items = mw_alloc((k->separate_count + 1) * sizeof *items);
  for (size_t i = 0; i < k->separate_count; i++) {
    fields f = {.p = p};
    put_i32(&f, k->separate[i].stored);
    put_i32(&f, k->separate[i].other);
    items[i] = twin(&f, sizeof(mw_mwo_separate));
  }
  LLVMValueRef table = table_of(p, items, k->separate_count);
  free(items);
  return table;
}

/* If it only looks for values, its tier does not matter. But without loops, what has to be saved before costs more than
   the code that follows values. */
static bool runs_screened(const program *p, const kernel *k) {
  if (notes_accesses(p->options)) return k->screened && strcmp(k->tier, "simd") == 0;
  return k->screened && (k->loop_depth || !k->restores);
}

static LLVMValueRef kernel_entry(program *p, const kernel *k) {
  fields info = {.p = p}, f = {.p = p};
  put_text(&info, k->name);
  put_text(&info, k->linkage);
  put_pointer(&info, param_table(p, k));
  put_i64(&info, k->param_count);
  put_i64(&info, k->param_bytes);
  put_i64(&info, k->shared_bytes);
  put_i64(&info, 0); /* local_bytes: see set_local_bytes */
  put_i32(&info, k->max_threads);
  put_i32(&info, 0); /* registers */
  put_text(&info, k->tier);
  put_text(&info, k->tier_reason);
  put_text(&info, k->file);
  put_i32(&info, (uint32_t)k->line);
  put_pointer(&info, reference_names(p, k));
  put_i64(&info, k->reference_count);
  for (int axis = 0; axis < 3; axis++) put_i32(&info, k->cluster[axis]);
  put_i32(&info, 0);
  put(&f, twin(&info, sizeof(mw_kernel_info)));
  put_pointer(&f, k->run);
  put_pointer(&f, k->fits);
  put_pointer(&f, k->iterations);
  put_i32(&f, k->dynamic_shared);
  put_i32(&f, k->any_order);
  put_i32(&f, interchanged_blocks(k));
  put_i32(&f, p->mergeable ? p->merged : 0);
  put_i32(&f, k->column_bytes);
  put_i32(&f, p->gangs);
  put_i32(&f, k->loop_depth);
  put_i32(&f, p->launches);
  put_i32(&f, (uint32_t)k->pack);
  put_pointer(&f, separate_table(p, k));
  put_i64(&f, k->separate_count);
  for (int i = 0; i < MW_MOST_CANDIDATES; i++) put_i32(&f, k->candidates[i]);
  put_i32(&f, runs_screened(p, k));
  put_i64(&f, k->writes);
  put_i64(&f, k->notes);
  put_i64(&f, k->restores);
  return twin(&f, sizeof(mw_mwo_kernel));
}

static LLVMValueRef relocation_table(program *p, const variable *v) {
  LLVMValueRef *items = mw_alloc((v->relocation_count + 1) * sizeof *items);
  for (size_t i = 0; i < v->relocation_count; i++) {
    fields f = {.p = p};
    put_i64(&f, v->relocations[i].offset);
    put_i64(&f, v->relocations[i].variable);
    put_i64(&f, (uint64_t)v->relocations[i].addend);
    items[i] = twin(&f, sizeof(mw_mwo_relocation));
  }
  LLVMValueRef table = table_of(p, items, v->relocation_count);
  free(items);
  return table;
}

static LLVMValueRef reference_entry(program *p, const variable *v) {
  if (!v->reference) return NULL;
  fields f = {.p = p};
  put_i32(&f, v->reference);
  put_i32(&f, (uint32_t)v->dimensions);
  put_i32(&f, (uint32_t)v->read);
  put_i32(&f, 0);
  put_pointer(&f, type_global(p, (ctype *)v->element));
  return constant_global(p, twin(&f, sizeof(mw_reference)), 8);
}

static LLVMValueRef variable_entry(program *p, const variable *v) {
  fields f = {.p = p};
  put_text(&f, v->name);
  put_text(&f, v->linkage);
  put_pointer(&f, type_global(p, v->type));
  put_pointer(&f, v->initial ? constant_global(p, v->initial, v->align) : NULL);
  put_i64(&f, v->size);
  put_i64(&f, v->align);
  put_pointer(&f, relocation_table(p, v));
  put_i64(&f, v->relocation_count);
  put_i32(&f, v->constant);
  put_i32(&f, v->internal);
  put_pointer(&f, reference_entry(p, v));
  return twin(&f, sizeof(mw_mwo_variable));
}

/* The processor features that the module needs, of those that the loader can test: named as by GCC's
   __builtin_cpu_supports on x86-64, and by LLVM on AArch64. */
static char *needed_features(program *p) {
  static const char *const names[] = {"sse3",     "ssse3",     "sse4.1",   "sse4.2",     "popcnt",     "avx",
                                      "avx2",     "fma",       "bmi",      "bmi2",       "avx512f",    "avx512bw",
                                      "avx512cd", "avx512dq",  "avx512vl", "avx512vnni", "avx512bf16", "neon",
                                      "fullfp16", "lse",       "crc",      "rdm",        "dotprod",    "fp16fml",
                                      "jsconv",   "complxnum", "i8mm",     "bf16",       "sve",        "sve2"};
  mw_text text = {0};
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    char *flag = mw_format("+%s,", names[i]), *list = mw_format("%s,", p->features);
    if (strstr(list, flag)) mw_text_addf(&text, "%s%s", text.length ? "," : "", names[i]);
    free(flag);
    free(list);
  }
  return text.data ? text.data : mw_strdup("");
}

static char *compiler_name(void) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  return mw_format("moonwarp %s, LLVM %u.%u.%u", MW_VERSION, major, minor, patch);
}

static char *joined(const strings *list) {
  mw_text text = {0};
  mw_text_addf(&text, "%s", "");
  for (size_t i = 0; i < list->count; i++) mw_text_addf(&text, "%s\n", list->items[i]);
  return text.data;
}

/* A copy of a constant struct or array with one element replaced. */
static LLVMValueRef with_element(program *p, LLVMValueRef constant, unsigned index, LLVMValueRef part) {
  bool is_struct = LLVMGetTypeKind(LLVMTypeOf(constant)) == LLVMStructTypeKind;
  unsigned count = is_struct ? LLVMCountStructElementTypes(LLVMTypeOf(constant))
                             : (unsigned)LLVMGetArrayLength2(LLVMTypeOf(constant));
  LLVMValueRef *items = mw_alloc(count * sizeof *items);
  for (unsigned i = 0; i < count; i++) items[i] = i == index ? part : LLVMGetAggregateElement(constant, i);
  LLVMValueRef result = is_struct ? LLVMConstStructInContext(p->context, items, count, 0)
                                  : LLVMConstArray2(LLVMTypeOf(part), items, count);
  free(items);
  return result;
}

void set_local_bytes(program *p) {
  enum { ENTRY_INFO = 0, INFO_LOCAL_BYTES = 6 };
  for (unsigned i = 0; i < p->kernel_count; i++) {
    LLVMValueRef table = LLVMGetInitializer(p->kernel_table);
    LLVMValueRef entry = LLVMGetAggregateElement(table, i), info = LLVMGetAggregateElement(entry, ENTRY_INFO);
    info = with_element(p, info, INFO_LOCAL_BYTES, constant_i64(p, p->kernels[i].local_bytes));
    LLVMSetInitializer(p->kernel_table, with_element(p, table, i, with_element(p, entry, ENTRY_INFO, info)));
  }
}

static LLVMValueRef site_entry(program *p, const watched_site *s) {
  fields f = {.p = p};
  const mw_site *of = &s->of;
  const uint32_t numbers[] = {of->kind,       of->space,       of->bytes,      of->detail,       of->segments,
                              of->line,       of->column,      of->outer_line, of->outer_column, of->issued,
                              of->is_uniform, of->is_volatile, of->is_texture};
  LLVMValueRef work[MW_WORK_CLASSES];
  for (size_t i = 0; i < MW_COUNT(numbers); i++) put_i32(&f, numbers[i]);
  for (size_t i = 0; i < MW_WORK_CLASSES; i++) work[i] = constant_i32(p, of->work[i]);
  put(&f, LLVMConstArray2(p->i32, work, MW_WORK_CLASSES));
  put_i32(&f, of->flops);
  put_i64(&f, of->stride);
  put_text(&f, s->file);
  put_text(&f, s->outer_file);
  put_text(&f, s->name);
  put_text(&f, s->function);
  put_text(&f, s->about);
  return twin(&f, sizeof(mw_site));
}

static LLVMValueRef site_table(program *p) {
  LLVMValueRef *items = mw_alloc((p->site_count + 1) * sizeof *items);
  for (size_t i = 0; i < p->site_count; i++) items[i] = site_entry(p, &p->sites[i]);
  LLVMValueRef table = table_of(p, items, p->site_count);
  free(items);
  return table;
}

void build_table(program *p) {
  LLVMValueRef *kernels = mw_alloc((p->kernel_count + 1) * sizeof *kernels);
  LLVMValueRef *variables = mw_alloc((p->variable_count + 1) * sizeof *variables);
  for (size_t i = 0; i < p->kernel_count; i++) kernels[i] = kernel_entry(p, &p->kernels[i]);
  /* It is built before optimisation: the table's references keep functions and variables alive. */
  for (size_t i = 0; i < p->variable_count; i++) variables[i] = variable_entry(p, &p->variables[i]);
  fields f = {.p = p};
  put_i32(&f, MW_MWO_VERSION);
  put_i32(&f, p->reach | p->null_reach << 16);
  put_text(&f, p->triple);
  put_text(&f, needed_features(p));
  put_text(&f, compiler_name());
  p->kernel_table = table_of(p, kernels, p->kernel_count);
  put_pointer(&f, p->kernel_table);
  put_i64(&f, p->kernel_count);
  put_pointer(&f, table_of(p, variables, p->variable_count));
  put_i64(&f, p->variable_count);
  put_text(&f, p->dependencies.data ? p->dependencies.data : "");
  put_text(&f, p->log.data ? p->log.data : "");
  put_text(&f, p->source.data ? p->source.data : "");
  put_text(&f, joined(&p->options->recorded));
  bool again = !p->options->launch_kernel && !p->options->observe && !p->options->checks;
  put_bytes(&f, again ? &p->bitcode : NULL);
  put_pointer(&f, site_table(p));
  put_i64(&f, p->site_count);
  uint64_t checks = p->options->checks | (p->follows ? MW_CHECK_BARRIERS : 0);
  if (is_screened(p)) checks &= ~(uint64_t)(MW_CHECK_RACES | MW_CHECK_BARRIERS); /* it follows no threads */
  put_i64(&f, checks ? checks : p->options->check_memory ? MW_CHECKED_BOUNDS : 0);
  LLVMValueRef table = constant_global(p, twin(&f, sizeof(mw_mwo)), 16);
  LLVMSetLinkage(table, LLVMExternalLinkage);
  LLVMSetVisibility(table, LLVMDefaultVisibility);
  LLVMSetSection(table, SECTION);
  LLVMSetValueName2(table, MW_MWO_SYMBOL, strlen(MW_MWO_SYMBOL));
  free(kernels);
  free(variables);
  verify_module(p, "building the table");
}
