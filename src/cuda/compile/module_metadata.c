/* Reading the facts that describe.c or mwcc (src/mwcc/gpu/metadata.c) wrote. Types first, since the other lines refer
 * to them: by a linkage name (describe.c), or by "#" and a number (mwcc). */
#include "module_metadata.h"
#include "core/launch/watch.h"
#include "device/moonwarp/measured_run/layout.h"

#include <stdlib.h>
#include <string.h>

/* All lines of a copy of the text. The first line's first field is the start of that copy. */
fact_line *fact_lines(const char *facts, size_t *count) {
  char *text = mw_strdup(facts);
  fact_line *lines = mw_alloc(sizeof *lines);
  *count = 0;
  lines[0].fields[0] = text;
  for (char *at = text; *at;) {
    lines = mw_realloc(lines, (*count + 1) * sizeof *lines);
    fact_line *l = &lines[(*count)++];
    *l = (fact_line){.count = 1};
    l->fields[0] = at;
    for (; *at && *at != '\n'; at++)
      if (*at == '\t') {
        *at = '\0';
        if (l->count < FACT_FIELDS) l->fields[l->count++] = at + 1;
      }
    if (*at) *at++ = '\0';
    for (size_t i = l->count; i < FACT_FIELDS; i++) l->fields[i] = "";
  }
  return lines;
}

void fact_lines_free(fact_line *lines) {
  free(lines[0].fields[0]);
  free(lines);
}

bool fact_is(const fact_line *line, const char *what) { return strcmp(line->fields[0], what) == 0; }
size_t fact_number(const fact_line *line, int field) { return strtoul(line->fields[field], NULL, 10); }
bool fact_belongs(const fact_line *line) {
  return fact_is(line, "param") || fact_is(line, "reads") || fact_is(line, "found");
}

static char *keep(cuda_types *types, const char *text) { return cuda_types_text(types, text, strlen(text)); }

/* ---- types ---- */

static size_t round_up(size_t value, size_t align) { return (value + align - 1) / align * align; }

/* Whether the fields account for the struct's size, apart from padding; members of a union overlap. Otherwise a scan
   of the source missed fields (of bases, private ones, those of unnamed types). */
static bool accounts_for_size(const mw_type *type) {
  size_t end = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < type->count; i++) {
      const mw_field *field = &type->fields[i];
      size_t last = field->offset + field->type->size;
      if (last <= end || field->offset > round_up(end, field->type->align)) continue;
      end = last;
      more = true;
    }
  }
  return round_up(end, type->align) == type->size;
}

static void read_structs(const fact_line *lines, size_t count, cuda_types *types) {
  size_t first = types->struct_count;
  for (size_t i = 0; i < count; i++)
    if (fact_is(&lines[i], "struct"))
      cuda_types_struct(types, lines[i].fields[1], fact_number(&lines[i], 2), fact_number(&lines[i], 3));
  mw_type *type = NULL;
  for (size_t i = 0; i < count; i++) {
    const fact_line *l = &lines[i];
    if (fact_is(l, "struct")) {
      size_t fields = 0;
      type = types->structs[first++];
      while (i + 1 + fields < count && fact_is(&lines[i + 1 + fields], "field")) fields++;
      type->fields = cuda_types_alloc(types, (fields + 1) * sizeof *type->fields);
      continue;
    }
    const mw_type *member = type && fact_is(l, "field") ? cuda_demangle_type(types, l->fields[4]) : NULL;
    if (!member || member->size != fact_number(l, 3)) continue;
    ((mw_field *)type->fields)[type->count++] = (mw_field){keep(types, l->fields[1]), member, fact_number(l, 2)};
  }
  for (size_t i = 0; i < types->struct_count; i++)
    if (!accounts_for_size(types->structs[i])) types->structs[i]->count = 0;
}

/* mwcc's "type" lines in the order of their numbers, each followed by its struct's members. They may refer to later
   types. */
static void read_numbered(const fact_line *lines, size_t count, cuda_types *types) {
  size_t total = 0, at = 0;
  for (size_t i = 0; i < count; i++) total += fact_is(&lines[i], "type");
  types->numbered = cuda_types_alloc(types, (total + 1) * sizeof *types->numbered);
  types->numbered_count = total;
  for (size_t i = 0; i < total; i++) types->numbered[i] = cuda_types_alloc(types, sizeof **types->numbered);
  for (size_t i = 0; i < count; i++) {
    const fact_line *l = &lines[i];
    if (!fact_is(l, "type")) continue;
    size_t element = fact_number(l, 7), kind = fact_number(l, 2);
    mw_type *type = types->numbered[at++];
    *type = (mw_type){.kind = kind <= MW_TYPE_ARRAY ? (mw_type_kind)kind : MW_TYPE_STRUCT,
                      .is_const = fact_number(l, 3) != 0,
                      .size = fact_number(l, 4),
                      .align = fact_number(l, 5) ? fact_number(l, 5) : 1,
                      .name = keep(types, l->fields[8]),
                      .element = element >= 1 && element <= total ? types->numbered[element - 1] : NULL,
                      .count = fact_number(l, 6)};
    if (type->kind != MW_TYPE_STRUCT) continue;
    mw_field *fields = cuda_types_alloc(types, (count - i + 1) * sizeof *fields);
    type->fields = fields;
    type->count = 0;
    for (size_t k = i + 1; k < count && fact_is(&lines[k], "member"); k++) {
      size_t of = fact_number(&lines[k], 3);
      if (of < 1 || of > total) continue;
      fields[type->count++] =
          (mw_field){keep(types, lines[k].fields[1]), types->numbered[of - 1], fact_number(&lines[k], 2)};
    }
  }
}

/* A type in either form; NULL if it is neither. */
static const mw_type *type_named(cuda_types *types, const char *name) {
  if (*name != '#') return *name ? cuda_demangle_type(types, name) : NULL;
  size_t n = strtoul(name + 1, NULL, 10);
  return n >= 1 && n <= types->numbered_count ? types->numbered[n - 1] : NULL;
}

/* "texture:element:dimensions:read", or a linkage name. */
static const mw_reference *reference_named(cuda_types *types, const char *name) {
  bool texture = strncmp(name, "texture:", 8) == 0;
  if (!texture && strncmp(name, "surface:", 8) != 0) return cuda_demangle_reference(types, name);
  char *at;
  size_t element = strtoul(name + 8, &at, 10);
  mw_reference *out = cuda_types_alloc(types, sizeof *out);
  out->kind = texture ? MW_REFERENCE_TEXTURE : MW_REFERENCE_SURFACE;
  if (element < 1 || element > types->numbered_count) return NULL;
  out->element = types->numbered[element - 1];
  if (*at == ':') out->dimensions = (int)strtol(at + 1, &at, 10);
  if (*at == ':') out->read = (mw_read_mode)strtol(at + 1, &at, 10);
  if (!texture) out->read = MW_READ_AUTO;
  return out;
}

/* A type for what has none here (such as an enumeration): an opaque one of that size. */
static const mw_type *opaque(cuda_types *types, const char *name, size_t size, size_t align, char kind) {
  if (kind == 'f') return mw_dtype(size == 2 ? "half" : size == 4 ? "float" : "double");
  if (kind != '-' && !name) {
    if (size < 8) return mw_dtype(size == 1 ? "char" : size == 2 ? "short" : "int");
    static const mw_type bytes = {.kind = MW_TYPE_VOID, .align = 1, .name = "void"};
    static const mw_type pointer = {
        .kind = MW_TYPE_POINTER, .size = 8, .align = 8, .name = "void *", .element = &bytes};
    return &pointer;
  }
  mw_type *type = cuda_types_alloc(types, sizeof *type);
  *type = (mw_type){.kind = kind == '-' ? MW_TYPE_STRUCT : MW_TYPE_INT,
                    .size = size,
                    .align = align ? align : 1,
                    .name = name ? name : keep(types, "bytes")};
  if (kind == '-') type->fields = cuda_types_alloc(types, sizeof *type->fields);
  return type;
}

/* Whether the type that was read agrees with PTX: the same size, and a class where PTX has bytes. Halves may be
   either. */
static bool agrees(const mw_type *type, size_t size, char kind) {
  bool is_class = type->kind == MW_TYPE_STRUCT || type->kind == MW_TYPE_VECTOR;
  if (type->size != size) return false;
  return size == 2 || (kind == '-' ? is_class : !is_class);
}

/* The type that was read if PTX agrees with it, else an opaque one. */
static const mw_type *settle(cuda_types *types, const mw_type *type, size_t size, size_t align, char kind) {
  if (type && agrees(type, size, kind)) return type;
  /* A texture reference as a parameter is a pointer; an empty class is one byte. */
  return opaque(types, type && type->size == 0 ? type->name : NULL, size, align, kind);
}

/* ---- variables ---- */

static void read_variable(const fact_line *l, cuda_types *types, cuda_unit *unit) {
  size_t size = fact_number(l, 4), align = fact_number(l, 5);
  const mw_reference *reference = reference_named(types, *l->fields[7] ? l->fields[7] : l->fields[6]);
  const mw_type *type = type_named(types, l->fields[6]);
  bool constant = fact_number(l, 3) != 0;
  unit->symbols = mw_realloc(unit->symbols, (unit->symbol_count + 1) * sizeof *unit->symbols);
  cuda_symbol *symbol = &unit->symbols[unit->symbol_count++];
  *symbol = (cuda_symbol){.info = {.name = keep(types, l->fields[2]),
                                   .linkage = keep(types, l->fields[1]),
                                   .type = type && type->size == size ? type : opaque(types, NULL, size, align, '-'),
                                   .size = size,
                                   .constant = constant,
                                   .reference = reference}};
}

/* ---- kernels ---- */

static size_t find_symbol(const cuda_unit *unit, const char *linkage) {
  size_t i = 0;
  while (i < unit->symbol_count && strcmp(unit->symbols[i].info.linkage, linkage) != 0) i++;
  return i;
}

static void place(cuda_kernel *kernel, const fact_line *l, const mw_source *origin) {
  int at = (int)fact_number(l, 3);
  kernel->info.file = at ? origin->file : NULL;
  kernel->info.line = at ? at + (origin->line > 1 ? origin->line - 1 : 0) : 0;
}

/* Reads a kernel and the lines that belong to it; returns their number. */
static size_t read_kernel(const fact_line *lines, size_t left, const mw_source *origin, cuda_types *types,
                          cuda_unit *unit) {
  const fact_line *l = &lines[0];
  size_t rest = 1, params = 0;
  for (; rest < left && fact_belongs(&lines[rest]); rest++) params += fact_is(&lines[rest], "param");
  unit->kernels = mw_realloc(unit->kernels, (unit->kernel_count + 1) * sizeof *unit->kernels);
  cuda_kernel *kernel = &unit->kernels[unit->kernel_count++];
  *kernel = (cuda_kernel){0};
  mw_kernel_info *info = &kernel->info;
  cuda_signature signature = {0};
  info->linkage = keep(types, l->fields[1]);
  cuda_demangle(types, info->linkage, &signature);
  if (*l->fields[5]) cuda_demangle_function(types, l->fields[5], &signature);
  *info = (mw_kernel_info){.name = keep(types, l->fields[2]),
                           .linkage = info->linkage,
                           .max_threads = (int)fact_number(l, 4),
                           .tier = "",
                           .tier_reason = ""};
  place(kernel, l, origin);
  mw_param *list = cuda_types_alloc(types, (params + 1) * sizeof *list);
  const char **reads = cuda_types_alloc(types, (rest + 1) * sizeof *reads);
  size_t *places = cuda_types_alloc(types, (rest + 1) * sizeof *places), offset = 0;
  kernel->found = cuda_types_alloc(types, (rest + 1) * sizeof *kernel->found);
  kernel->only_read = cuda_types_alloc(types, (rest + 1) * sizeof *kernel->only_read);
  for (size_t i = 1; i < rest; i++) {
    const fact_line *part = &lines[i];
    if (fact_is(part, "found")) {
      size_t which = fact_number(part, 1);
      if (which >= params) continue;
      kernel->only_read[kernel->found_count] = fact_number(part, 2) != 0;
      kernel->found[kernel->found_count++] = which;
      continue;
    }
    if (fact_is(part, "reads")) {
      size_t symbol = find_symbol(unit, part->fields[1]);
      if (symbol == unit->symbol_count || !unit->symbols[symbol].info.reference) continue;
      reads[info->reference_count] = unit->symbols[symbol].info.linkage;
      places[info->reference_count++] = symbol;
      continue;
    }
    size_t size = fact_number(part, 1), align = fact_number(part, 2) ? fact_number(part, 2) : 1,
           n = info->param_count++;
    const mw_type *type = signature.params && signature.param_count == params ? signature.params[n] : NULL;
    if (*part->fields[5]) type = type_named(types, part->fields[5]);
    offset = (offset + align - 1) / align * align;
    list[n] = (mw_param){keep(types, part->fields[4]), settle(types, type, size, align, part->fields[3][0]), offset};
    kernel->is_aligned |= align > 16 || (list[n].type && list[n].type->align > 16);
    offset += size;
  }
  info->params = list;
  info->param_bytes = offset;
  info->references = reads;
  kernel->reference_symbols = places;
  return rest;
}

/* Places of a unit that tells a checked run what it does. */
static void read_site(const fact_line *line, cuda_types *types, cuda_unit *unit) {
  unit->sites = mw_realloc(unit->sites, (unit->site_count + 1) * sizeof *unit->sites);
  unit->sites[unit->site_count++] = (cuda_site){.line = (int)fact_number(line, 1),
                                                .bytes = (unsigned)fact_number(line, 2),
                                                .name = keep(types, line->fields[3]),
                                                .file = keep(types, line->fields[4])};
}

static const char *keep_any(cuda_types *types, const char *text) { return *text ? keep(types, text) : NULL; }

/* Places of a unit that counts what its warps do. */
static void read_place(const fact_line *line, cuda_types *types, cuda_unit *unit) {
  enum { ISSUED = 8, FLOPS = 10, WORK = 11, TEXTS = WORK + MW_MEASURED_CLASSES };
  mw_watched_site *site = cuda_types_alloc(types, sizeof *site);
  *site = (mw_watched_site){.kind = (unsigned)fact_number(line, 1),
                            .space = (unsigned)fact_number(line, 2),
                            .bytes = (unsigned)fact_number(line, 3),
                            .detail = (unsigned)fact_number(line, 4),
                            .line = (int)fact_number(line, 5),
                            .column = (unsigned)fact_number(line, 6),
                            .outer_line = (int)fact_number(line, 7),
                            .file = keep_any(types, line->fields[TEXTS]),
                            .outer_file = keep_any(types, line->fields[TEXTS + 1]),
                            .name = keep_any(types, line->fields[TEXTS + 2]),
                            .function = keep_any(types, line->fields[TEXTS + 3])};
  unit->places = mw_realloc(unit->places, (unit->place_count + 1) * sizeof *unit->places);
  cuda_place *place = &unit->places[unit->place_count++];
  *place = (cuda_place){
      .site = site, .issued = (unsigned)fact_number(line, ISSUED), .flops = (unsigned)fact_number(line, FLOPS)};
  for (int n = 0; n < MW_MEASURED_CLASSES; n++) place->work[n] = (unsigned)fact_number(line, WORK + n);
}

void cuda_facts_read(const char *facts, const mw_source *origin, cuda_types *types, cuda_unit *unit) {
  size_t count;
  fact_line *lines = fact_lines(facts, &count);
  read_numbered(lines, count, types);
  read_structs(lines, count, types);
  for (size_t i = 0; i < count; i++)
    if (fact_is(&lines[i], "variable")) read_variable(&lines[i], types, unit);
  for (size_t i = 0; i < count;)
    i += fact_is(&lines[i], "kernel") ? read_kernel(&lines[i], count - i, origin, types, unit) : 1;
  for (size_t i = 0; i < count; i++) {
    if (fact_is(&lines[i], "site")) read_site(&lines[i], types, unit);
    if (fact_is(&lines[i], "place")) read_place(&lines[i], types, unit);
    if (fact_is(&lines[i], "followed")) unit->followed = true, unit->follows = (unsigned)fact_number(&lines[i], 1);
    unit->measured |= fact_is(&lines[i], "watched");
    if (!fact_is(&lines[i], "numbered")) continue;
    unit->numbered = true;
    unit->checked = fact_number(&lines[i], 1) != 0;
  }
  for (size_t i = 0; i < unit->kernel_count; i++) unit->kernels[i].unit = unit;
  fact_lines_free(lines);
}
