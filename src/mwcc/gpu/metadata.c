/* The description of a GPU module for the host, as comments after its PTX: lines that begin with "//mw" and have fields
 * separated by tabs.
 *
 *   type      number  kind  const  size  align  count  number of its element  name      0 is no type
 *   member    name  offset  number of its type                               of the type before it, a struct
 *   variable  linkage  name  constant  size  align  type  a reference's kind:element:dimensions:read
 *   kernel    linkage  name  line  most threads                              followed by:
 *     param   size  align  kind  name  type                                  reads   linkage of a reference
 *     found   parameter: the host passes the extent of the array that it points into
 *   followed  uses               of a checked run (--checks): mw_follow_uses; kernels take the launch's address as well
 *   site      line  bytes  array  file                                     places that findings name, from number 1
 *   watched                      kernels take the address of what a measured run counts as well (mwcc --observe)
 *   place     kind  space  bytes  detail  line  column  outer line  issued  texture  flops  work, of each class
 *             file  outer file  name  function              a watched site, from number 0: mw_site
 *   numbered  checked            kernels take the launch's number as well; checked: they check their accesses
 *   depends   size mtime_ns path                                           log       a line of clang's warnings
 *
 * --emit=facts writes only this description, for a source that another compiler generates code for.
 *
 * The GPU driver's describe.c makes the same description of modules that NVRTC compiled. Types are "#" and a number
 * here, mangled names there. */
#include "gpu.h"
#include "mwcc/analysis/watched_site.h"

#include <stdlib.h>
#include <string.h>

typedef struct numbers {
  const ctype **types;
  size_t count;
} numbers;

/* Types are numbered from 1 in the order of their first use; a type's number is followed by those of the types it
   uses. */
static size_t number_of(numbers *n, const ctype *type) {
  if (!type) return 0;
  for (size_t i = 0; i < n->count; i++)
    if (n->types[i] == type) return i + 1;
  n->types = mw_realloc(n->types, (n->count + 1) * sizeof *n->types);
  n->types[n->count++] = type;
  size_t own = n->count;
  number_of(n, type->element);
  if (type->type.kind == MW_TYPE_STRUCT)
    for (size_t i = 0; i < type->type.count; i++) number_of(n, type->fields[i].type);
  return own;
}

static void add_types(numbers *n, mw_text *out) {
  for (size_t i = 0; i < n->count; i++) {
    const ctype *t = n->types[i];
    mw_text_addf(out, "//mw\ttype\t%zu\t%d\t%d\t%zu\t%zu\t%zu\t%zu\t%s\n", i + 1, (int)t->type.kind, t->type.is_const,
                 t->type.size, t->type.align, t->type.count, number_of(n, t->element), t->type.name);
    if (t->type.kind != MW_TYPE_STRUCT) continue;
    for (size_t k = 0; k < t->type.count; k++)
      mw_text_addf(out, "//mw\tmember\t%s\t%zu\t%zu\n", t->fields[k].name, t->fields[k].offset,
                   number_of(n, t->fields[k].type));
  }
}

static void add_variable(numbers *n, const variable *v, mw_text *out) {
  mw_text_addf(out, "//mw\tvariable\t%s\t%s\t%d\t%zu\t%zu\t", v->linkage, v->name, v->constant, v->size, v->align);
  mw_text_addf(out, "#%zu\t", number_of(n, v->type));
  if (v->reference)
    mw_text_addf(out, "%s:%zu:%d:%d", v->reference == MW_REFERENCE_TEXTURE ? "texture" : "surface",
                 number_of(n, v->element), v->dimensions, v->read);
  mw_text_addf(out, "\n");
}

/* The kind of a parameter in PTX: u, s or f, or '-' for bytes. */
static char kind_of(const ctype *type) {
  switch (type->type.kind) {
  case MW_TYPE_BOOL:
  case MW_TYPE_UINT: return 'u';
  case MW_TYPE_INT: return 's';
  case MW_TYPE_FLOAT: return 'f';
  case MW_TYPE_POINTER: return 'u';
  default: return '-';
  }
}

static void add_kernel(const program *p, numbers *n, const kernel *k, mw_text *out) {
  bool own = strcmp(k->file, p->options->input) == 0;
  mw_text_addf(out, "//mw\tkernel\t%s\t%s\t%d\t%u\t\n", k->linkage, k->name, own ? k->line : 0, k->max_threads);
  for (size_t i = 0; i < k->param_count; i++) {
    const ctype *type = k->params[i].type;
    mw_text_addf(out, "//mw\tparam\t%zu\t%zu\t%c\t%s\t#%zu\n", type->type.size, type->type.align, kind_of(type),
                 k->params[i].name, number_of(n, type));
  }
  for (size_t i = 0; i < k->param_count && p->options->check_memory; i++)
    if (has_passed_extent(k, i))
      mw_text_addf(out, "//mw\tfound\t%zu\t%d\n", i, p->options->checks && i < 32 && !(k->written_params >> i & 1));
  for (size_t i = 0; i < k->reference_count; i++)
    mw_text_addf(out, "//mw\treads\t%s\n", p->variables[k->references[i]].linkage);
}

static const char *text_of(const char *text) { return text ? text : ""; }

static void add_places(const program *p, mw_text *out) {
  mw_text_addf(out, "//mw\twatched\n");
  for (size_t i = 0; i < p->site_count; i++) {
    const watched_site *s = &p->sites[i];
    const mw_site *of = &s->of;
    mw_text_addf(out, "//mw\tplace\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u", of->kind, of->space, of->bytes, of->detail,
                 of->line, of->column, of->outer_line, of->issued, of->is_texture, of->flops);
    for (size_t n = 0; n < MW_WORK_CLASSES; n++) mw_text_addf(out, "\t%u", of->work[n]);
    mw_text_addf(out, "\t%s\t%s\t%s\t%s\n", text_of(s->file), text_of(s->outer_file), text_of(s->name),
                 text_of(s->function));
  }
}

void add_ptx_facts(const program *p, mw_text *out) {
  numbers n = {0};
  mw_text rest = {0};
  mw_text_add(&rest, "", 0);
  for (size_t i = 0; i < p->variable_count; i++)
    if (!p->variables[i].internal) add_variable(&n, &p->variables[i], &rest);
  for (size_t i = 0; i < p->kernel_count; i++) add_kernel(p, &n, &p->kernels[i], &rest);
  if (p->options->stoppable) mw_text_addf(&rest, "//mw\tnumbered\t%d\n", p->options->check_memory);
  if (p->options->observe) add_places(p, &rest);
  if (p->options->checks) mw_text_addf(&rest, "//mw\tfollowed\t%u\n", p->follow_uses);
  if (p->followed_sites.length) mw_text_add(&rest, p->followed_sites.data, p->followed_sites.length);
  for (const char *line = p->dependencies.data; line && *line;) {
    size_t length = strcspn(line, "\n");
    mw_text_addf(&rest, "//mw\tdepends\t%.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
  for (const char *line = p->log.data; line && *line;) {
    size_t length = strcspn(line, "\n");
    mw_text_addf(&rest, "//mw\tlog\t%.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
  mw_text_addf(out, "\n");
  add_types(&n, out);
  mw_text_add(out, rest.data, rest.length);
  mw_text_free(&rest);
  free(n.types);
}

void make_facts(const program *p) {
  mw_text out = {0};
  add_ptx_facts(p, &out);
  write_output(p->options->output, out.data, out.length);
}
