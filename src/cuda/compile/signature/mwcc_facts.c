/* Matches facts by mwcc with the PTX of another compiler: types as they are, then variables and kernels under the
 * linkage names of the PTX, which differ for static names and those in an unnamed namespace. See mwcc_facts.h. */
#include "mwcc_facts.h"
#include "describe.h"
#include "cuda/compile/module_metadata.h"

#include <stdlib.h>
#include <string.h>

typedef struct matcher {
  cuda_types names;
  fact_line *lines;
  size_t count;
  const ptx_text *ptx;
  const char *text;
  mw_text out;
} matcher;

/* ---- finding lines ---- */

/* The line of that kind for a linkage name, or else the only one with that name in the source. */
static size_t find_line(const matcher *t, const char *kind, const char *linkage, const char *name) {
  size_t found = t->count, by_name = 0;
  for (size_t i = 0; i < t->count; i++) {
    const fact_line *l = &t->lines[i];
    if (!fact_is(l, kind)) continue;
    if (strcmp(l->fields[1], linkage) == 0) return i;
    if (strcmp(l->fields[2], name) == 0) found = i, by_name++;
  }
  return by_name == 1 ? found : t->count;
}

/* ---- variables ---- */

static bool match_variable(matcher *t, const ptx_variable *v) {
  cuda_signature read;
  cuda_demangle(&t->names, v->linkage, &read);
  char *name = cuda_source_name(read.name);
  size_t i = find_line(t, "variable", v->linkage, name);
  free(name);
  if (i == t->count || fact_number(&t->lines[i], 4) != v->place.size) return false;
  const fact_line *l = &t->lines[i];
  mw_text_addf(&t->out, "variable\t%s\t%s\t%d\t%zu\t%zu\t%s\t%s\n", v->linkage, l->fields[2], v->constant,
               v->place.size, v->place.align, l->fields[6], l->fields[7]);
  return true;
}

/* ---- kernels ---- */

/* Classes are bytes in PTX, and nothing else is, so a struct is never taken for a pointer. Halves may be either. */
static bool same_param(const fact_line *l, const ptx_place *place) {
  bool bytes = l->fields[3][0] == '-', half = fact_number(l, 1) == 2;
  bool agrees = fact_number(l, 1) == place->size && fact_number(l, 2) == place->align;
  return agrees && (half || bytes == (place->kind == '-'));
}

static bool match_kernel(matcher *t, const ptx_entry *entry) {
  cuda_signature read;
  cuda_demangle(&t->names, entry->linkage, &read);
  char *name = cuda_source_name(read.name);
  size_t at = find_line(t, "kernel", entry->linkage, name), params = 0;
  free(name);
  if (at == t->count) return false;
  mw_text_addf(&t->out, "kernel\t%s\t%s\t%s\t%d\t\n", entry->linkage, t->lines[at].fields[2], t->lines[at].fields[3],
               entry->max_threads);
  for (size_t i = at + 1; i < t->count && fact_belongs(&t->lines[i]); i++) {
    const fact_line *l = &t->lines[i];
    if (!fact_is(l, "param")) continue;
    if (params == entry->param_count || !same_param(l, &entry->params[params++])) return false;
    mw_text_addf(&t->out, "param\t%s\t%s\t%s\t%s\t%s\n", l->fields[1], l->fields[2], l->fields[3], l->fields[4],
                 l->fields[5]);
  }
  cuda_add_reads(&t->out, t->ptx, entry, t->text);
  return params == entry->param_count;
}

/* ---- the whole ---- */

static void copy_types(matcher *t) {
  for (size_t i = 0; i < t->count; i++) {
    const fact_line *l = &t->lines[i];
    if (!fact_is(l, "type") && !fact_is(l, "member")) continue;
    for (size_t k = 0; k < l->count; k++) mw_text_addf(&t->out, "%s%s", k ? "\t" : "", l->fields[k]);
    mw_text_add(&t->out, "\n", 1);
  }
}

bool cuda_match_facts(const char *lines, const ptx_text *ptx, const char *text, mw_text *facts) {
  matcher t = {.ptx = ptx, .text = text};
  bool matched = true;
  t.lines = fact_lines(lines, &t.count);
  copy_types(&t);
  for (size_t i = 0; i < ptx->variable_count && matched; i++)
    matched = !cuda_is_own(&ptx->variables[i]) || match_variable(&t, &ptx->variables[i]);
  for (size_t i = 0; i < ptx->entry_count && matched; i++) matched = match_kernel(&t, &ptx->entries[i]);
  if (matched) mw_text_add(facts, t.out.data ? t.out.data : "", t.out.length);
  fact_lines_free(t.lines);
  cuda_types_free(&t.names);
  mw_text_free(&t.out);
  return matched;
}
