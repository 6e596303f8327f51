/* Finds out what a module contains and writes it as lines of tab-separated fields:
 *
 *   struct    name  size  align           followed by its fields:  field  name  offset  size  mangled type
 *   variable  linkage  name  constant  size  align  mangled type
 *   kernel    linkage  name  line  most threads  mangled type       followed by:
 *     param   size  align  kind  name                        reads   linkage of a texture reference */
#include "describe.h"
#include "demangle.h"
#include "source_scan.h"

#include <stdlib.h>
#include <string.h>

static const char epilogue[] = "\n#line 1 \"moonwarp\"\n"
                               "template <class F> __global__ void __mw_sig() {}\n"
                               "template <class T, unsigned long S, unsigned long A> __global__ void __mw_shape() {}\n"
                               "template <unsigned long O, unsigned long S, class T> __global__ void __mw_field() {}\n";

/* Name expressions, and the answers: their linkage names. */
typedef struct queries {
  char **expressions, **answers;
  size_t count;
} queries;

static void add_query(queries *q, char *expression) {
  q->expressions = mw_realloc(q->expressions, (q->count + 1) * sizeof *q->expressions);
  q->answers = mw_realloc(q->answers, (q->count + 1) * sizeof *q->answers);
  q->answers[q->count] = NULL;
  q->expressions[q->count++] = expression;
}

static void queries_free(queries *q) {
  for (size_t i = 0; i < q->count; i++) {
    free(q->expressions[i]);
    free(q->answers[i]);
  }
  free(q->expressions);
  free(q->answers);
}

/* All expressions at once; if that fails, each half by itself, so that a wrong one does not affect the others. */
static void ask(queries *q, size_t first, size_t count, cuda_lower_names *lower_names, void *context) {
  const char *const *expressions = (const char *const *)q->expressions + first;
  if (count == 0 || lower_names(context, epilogue, expressions, count, q->answers + first) || count == 1) return;
  ask(q, first, count / 2, lower_names, context);
  ask(q, first + count / 2, count - count / 2, lower_names, context);
}

/* Answers those that have an expression. */
static void query(queries *q, cuda_lower_names *lower_names, void *context) {
  queries asked = {0};
  for (size_t i = 0; i < q->count; i++)
    if (q->expressions[i]) add_query(&asked, mw_strdup(q->expressions[i]));
  ask(&asked, 0, asked.count, lower_names, context);
  for (size_t i = 0, k = 0; i < q->count; i++) {
    if (!q->expressions[i]) continue;
    q->answers[i] = asked.answers[k];
    asked.answers[k++] = NULL;
  }
  queries_free(&asked);
}

/* The part of a query between "_Z8__mw_sigI" (or the like) and "EEvv" or "Evv" at the end. Yours. */
static char *inside(const char *query, const char *template) {
  char *start = mw_format("_Z%zu%sI", strlen(template), template);
  size_t skip = strlen(start), length = query ? strlen(query) : 0;
  char *found = NULL;
  if (length > skip + 3 && strncmp(query, start, skip) == 0 && strcmp(query + length - 3, "Evv") == 0)
    found = mw_format("%.*s", (int)(length - skip - 3), query + skip);
  free(start);
  return found;
}

/* Reads "Lm8E" at *at and advances past it. */
static size_t literal(char **at) {
  if (strncmp(*at, "Lm", 2) != 0) return 0;
  size_t value = strtoul(*at + 2, at, 10);
  if (**at == 'E') (*at)++;
  return value;
}

/* ---- structs ---- */

static void query_struct(queries *q, const scanned_struct *s) {
  add_query(q, mw_format("__mw_shape<%s, sizeof(%s), alignof(%s)>", s->name, s->name, s->name));
  for (size_t i = 0; i < s->field_count; i++)
    add_query(q, mw_format("__mw_field<__INTADDR__(&((%s*)0)->%s), sizeof(((%s*)0)->%s), decltype(%s::%s)>", s->name,
                           s->fields[i], s->name, s->fields[i], s->name, s->fields[i]));
}

/* The arguments are the type's own name, its size and its alignment: the last two literals. */
static bool add_shape(mw_text *facts, const char *name, const char *query) {
  char *text = inside(query, "__mw_shape"), *sizes = NULL;
  for (char *at = text; at && (at = strstr(at, "Lm")); at++) /* until two literals are left */
    if (strstr(at + 1, "Lm") && !strstr(strstr(at + 1, "Lm") + 1, "Lm")) sizes = at;
  size_t size = sizes ? literal(&sizes) : 0, align = sizes ? literal(&sizes) : 0;
  if (size) mw_text_addf(facts, "struct\t%s\t%zu\t%zu\n", name, size, align);
  free(text);
  return size != 0;
}

static void add_struct(mw_text *facts, const scanned_struct *s, char **answers) {
  if (!add_shape(facts, s->name, answers[0])) return;
  for (size_t i = 0; i < s->field_count; i++) {
    char *text = inside(answers[i + 1], "__mw_field"), *at = text;
    if (!text) continue;
    size_t offset = literal(&at), size = literal(&at);
    mw_text_addf(facts, "field\t%s\t%zu\t%zu\t%s\n", s->fields[i], offset, size, at);
    free(text);
  }
}

/* ---- variables ---- */

/* Removes unnamed namespaces, and the one that NVRTC puts them into: "_INTERNAL_…". */
char *cuda_source_name(const char *name) {
  static const char *const unnamed[] = {"(anonymous namespace)::", "_INTERNAL_"};
  mw_text out = {0};
  mw_text_add(&out, "", 0);
  while (*name) {
    const char *after = strstr(name, "::");
    if (strncmp(name, unnamed[0], strlen(unnamed[0])) == 0)
      name += strlen(unnamed[0]);
    else if (after && strncmp(name, unnamed[1], strlen(unnamed[1])) == 0)
      name = after + 2;
    else
      mw_text_add(&out, name++, 1);
  }
  return out.data;
}

/* A constant of CCCL's headers, external or internal: in namespaces that their version is a part of. */
static bool is_cccl(const char *linkage) {
  return strstr(linkage, "4cuda3std") || strstr(linkage, "4cuda3ptx") || strstr(linkage, "__cccl_") ||
         (strstr(linkage, "3cub") && strstr(linkage, "CUB_")) ||
         (strstr(linkage, "6thrust") && strstr(linkage, "THRUST_"));
}

bool cuda_is_own(const ptx_variable *variable) {
  return strncmp(variable->linkage, "_ZZ", 3) != 0 && strncmp(variable->linkage, "_ZN4cuda", 8) != 0 &&
         strncmp(variable->linkage, "__unnamed_", 10) != 0 && !strstr(variable->linkage, "__mw_") &&
         !strstr(variable->linkage, "__nv_") && !is_cccl(variable->linkage);
}

static void add_variable(mw_text *facts, const ptx_variable *v, const char *name, const char *query) {
  char *type = inside(query, "__mw_sig");
  mw_text_addf(facts, "variable\t%s\t%s\t%d\t%zu\t%zu\t%s\n", v->linkage, name, v->constant, v->place.size,
               v->place.align, type ? type : "");
  free(type);
}

/* ---- kernels ---- */

/* "fill" of "ns::fill<float, 4>". */
static char *base_name(const char *name) {
  size_t length = strcspn(name, "<"), start = length;
  while (start > 0 && name[start - 1] != ':') start--;
  return mw_format("%.*s", (int)(length - start), name + start);
}

/* The next unused kernel in the text with that name and as many parameters. */
static const scanned_kernel *find_scanned(const scanned *found, const char *name, size_t params, bool *used) {
  char *base = base_name(name);
  const scanned_kernel *result = NULL;
  bool is_template = strchr(name, '<') != NULL;
  for (size_t i = 0; i < found->kernel_count && !result; i++) {
    const scanned_kernel *k = &found->kernels[i];
    if ((used[i] && !is_template) || strcmp(k->name, base) != 0 || k->param_count != params) continue;
    used[i] = true;
    result = k;
  }
  free(base);
  return result;
}

void cuda_add_reads(mw_text *facts, const ptx_text *ptx, const ptx_entry *entry, const char *text) {
  /* Functions that are not inlined may read any of them. */
  const char *body = ptx->calls ? text : entry->body;
  size_t length = ptx->calls ? strlen(text) : entry->body_length;
  for (size_t i = 0; i < ptx->variable_count; i++) {
    const ptx_variable *v = &ptx->variables[i];
    if (v->place.size == 8 && ptx_mentions(body, length, v->linkage)) mw_text_addf(facts, "reads\t%s\n", v->linkage);
  }
}

static void add_kernel(mw_text *facts, const ptx_text *ptx, const ptx_entry *entry, const char *name, const char *query,
                       const scanned_kernel *scan, const char *text) {
  char *type = inside(query, "__mw_sig");
  mw_text_addf(facts, "kernel\t%s\t%s\t%d\t%d\t%s\n", entry->linkage, name, scan ? scan->line : 0, entry->max_threads,
               type ? type : "");
  free(type);
  for (size_t i = 0; i < entry->param_count; i++)
    mw_text_addf(facts, "param\t%zu\t%zu\t%c\t%s\n", entry->params[i].size, entry->params[i].align,
                 entry->params[i].kind, scan ? scan->params[i] : "");
  cuda_add_reads(facts, ptx, entry, text);
}

/* ---- the whole ---- */

void cuda_describe(const mw_source *source, const ptx_text *parsed, const char *text, cuda_lower_names *lower_names,
                   void *context, mw_text *facts) {
  const ptx_text ptx = *parsed;
  scanned found = {0};
  cuda_types names = {0};
  queries q = {0};
  cuda_scan(source->text, source->length, false, &found);
  for (size_t i = 0; i < source->header_count; i++)
    cuda_scan(source->headers[i].text, strlen(source->headers[i].text), true, &found);
  cuda_signature *kernels = mw_alloc((ptx.entry_count + 1) * sizeof *kernels);
  cuda_signature *variables = mw_alloc((ptx.variable_count + 1) * sizeof *variables);
  for (size_t i = 0; i < found.struct_count; i++) query_struct(&q, &found.structs[i]);
  size_t first_variable = q.count;
  for (size_t i = 0; i < ptx.variable_count; i++) {
    cuda_demangle(&names, ptx.variables[i].linkage, &variables[i]);
    char *expression = cuda_source_name(variables[i].name);
    add_query(&q, cuda_is_own(&ptx.variables[i]) ? mw_format("__mw_sig<decltype(%s)>", expression) : NULL);
    free(expression);
  }
  size_t first_kernel = q.count;
  for (size_t i = 0; i < ptx.entry_count; i++) {
    cuda_demangle(&names, ptx.entries[i].linkage, &kernels[i]);
    bool c_linkage = strncmp(ptx.entries[i].linkage, "_Z", 2) != 0;
    add_query(&q, c_linkage ? mw_format("__mw_sig<decltype(%s)>", ptx.entries[i].linkage) : NULL);
  }
  query(&q, lower_names, context);
  size_t n = 0;
  for (size_t i = 0; i < found.struct_count; n += 1 + found.structs[i++].field_count)
    add_struct(facts, &found.structs[i], q.answers + n);
  for (size_t i = 0; i < ptx.variable_count; i++)
    if (cuda_is_own(&ptx.variables[i]))
      add_variable(facts, &ptx.variables[i], variables[i].name, q.answers[first_variable + i]);
  bool *used = mw_alloc(found.kernel_count + 1);
  for (size_t i = 0; i < ptx.entry_count; i++) {
    const ptx_entry *entry = &ptx.entries[i];
    const scanned_kernel *scan = find_scanned(&found, kernels[i].name, entry->param_count, used);
    bool c_linkage = strncmp(entry->linkage, "_Z", 2) != 0;
    add_kernel(facts, &ptx, entry, kernels[i].name, c_linkage ? q.answers[first_kernel + i] : NULL, scan, text);
  }
  free(used);
  free(kernels);
  free(variables);
  queries_free(&q);
  cuda_types_free(&names);
  cuda_scanned_free(&found);
}
