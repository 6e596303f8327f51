/* Symbol resolution: of several definitions the strongest wins, and among weak ones the first. A COMDAT group (an
 * inline function, a template's instance) is taken from the first object that has it. */
#include "elf.h"

#include <string.h>

uint32_t elf_hash(const char *name) {
  uint32_t hash = 5381;
  for (const unsigned char *c = (const unsigned char *)name; *c; c++) hash = hash * 33 + *c;
  return hash;
}

/* ---- the table of names ---- */

static size_t find_bucket(const linker *l, const char *name, uint32_t hash) {
  size_t b = hash & (l->bucket_count - 1);
  while (l->buckets[b]) {
    const global *g = l->globals[l->buckets[b] - 1];
    if (g->hash == hash && strcmp(g->name, name) == 0) break;
    b = (b + 1) & (l->bucket_count - 1);
  }
  return b;
}

static void grow(linker *l) {
  l->bucket_count = l->bucket_count ? l->bucket_count * 2 : 64;
  l->buckets = mw_alloc(l->bucket_count * sizeof *l->buckets);
  l->globals = mw_realloc(l->globals, l->bucket_count * sizeof *l->globals);
  for (size_t i = 0; i < l->global_count; i++)
    l->buckets[find_bucket(l, l->globals[i]->name, l->globals[i]->hash)] = (uint32_t)i + 1;
}

global *linker_find(const linker *l, const char *name) {
  if (!l->bucket_count) return NULL;
  uint32_t number = l->buckets[find_bucket(l, name, elf_hash(name))];
  return number ? l->globals[number - 1] : NULL;
}

static global *find_or_add(linker *l, const char *name) {
  global *g = linker_find(l, name);
  if (g) return g;
  if (2 * l->global_count >= l->bucket_count) grow(l);
  g = mw_alloc(sizeof *g);
  *g = (global){.name = name, .hash = elf_hash(name), .bind = STB_WEAK, .visibility = STV_DEFAULT};
  l->globals[l->global_count++] = g;
  l->buckets[find_bucket(l, name, g->hash)] = (uint32_t)l->global_count;
  return g;
}

/* ---- definitions ---- */

static bool is_defined(const object *o, const symbol *s) {
  if (s->section == SHN_UNDEF) return false;
  return s->section == SHN_ABS || s->section == SHN_COMMON || !o->sections[s->section].dropped;
}

/* A definition's precedence: weak ones are the weakest, then common variables. */
static int strength(const symbol *s) { return s->bind == STB_WEAK ? 1 : s->section == SHN_COMMON ? 2 : 3; }

static void define(global *g, const object *o, const symbol *s) {
  int now = g->definition ? strength(g->definition) : 0, next = strength(s);
  if (now == 3 && next == 3) object_bad(o, "it defines '%s', which '%s' defines as well", s->name, g->owner->name);
  bool larger = now == 2 && next == 2 && s->size > g->definition->size;
  if (next <= now && !larger) return;
  g->owner = o, g->definition = s, g->bind = s->bind;
}

/* A symbol's visibility is the most restrictive one of all objects. */
static void narrow(global *g, unsigned char visibility) {
  static const int order[] = {[STV_DEFAULT] = 0, [STV_PROTECTED] = 1, [STV_HIDDEN] = 2, [STV_INTERNAL] = 3};
  if (order[visibility] > order[g->visibility]) g->visibility = visibility;
}

/* ---- groups ---- */

static bool is_known_group(linker *l, const char *name) {
  for (size_t i = 0; i < l->groups.count; i++)
    if (strcmp(l->groups.items[i], name) == 0) return true;
  strings_add(&l->groups, name);
  return false;
}

/* A group section has a word of flags and the indices of its sections; its header has the symbol that is the group's
   name, and is read again from the object. */
static void read_group(linker *l, object *o, size_t number) {
  Elf64_Ehdr file;
  Elf64_Shdr header;
  memcpy(&file, o->data, sizeof file);
  memcpy(&header, o->data + file.e_shoff + number * sizeof header, sizeof header);
  const section *s = &o->sections[number];
  uint32_t word;
  if (header.sh_info >= o->symbol_count || s->size < sizeof word || s->size % sizeof word)
    object_bad(o, "a section group is invalid");
  memcpy(&word, s->data, sizeof word);
  if (!(word & GRP_COMDAT) || !is_known_group(l, o->symbols[header.sh_info].name)) return;
  for (uint64_t at = sizeof word; at < s->size; at += sizeof word) {
    memcpy(&word, s->data + at, sizeof word);
    if (word >= o->section_count) object_bad(o, "a section group has a section that does not exist");
    o->sections[word].dropped = true;
  }
}

/* ---- adding objects ---- */

/* Assemblers add the symbol _GLOBAL_OFFSET_TABLE_ to objects whose code uses the table, although relocations of its
   entries do not refer to the symbol. */
static bool is_formality(const symbol *s) {
  return s->section == SHN_UNDEF && strcmp(s->name, "_GLOBAL_OFFSET_TABLE_") == 0;
}

void linker_add(linker *l, object *o) {
  l->objects = mw_realloc(l->objects, (l->object_count + 1) * sizeof(object *));
  l->objects[l->object_count++] = o;
  for (size_t i = 1; i < o->section_count; i++)
    if (o->sections[i].type == SHT_GROUP) read_group(l, o, i);
  for (size_t i = 1; i < o->symbol_count; i++) {
    symbol *s = &o->symbols[i];
    if (s->bind == STB_LOCAL || is_formality(s)) continue;
    s->global = find_or_add(l, s->name);
    narrow(s->global, s->visibility);
    if (is_defined(o, s))
      define(s->global, o, s);
    else if (!s->global->definition && s->bind == STB_GLOBAL)
      s->global->bind = STB_GLOBAL; /* a reference that is not weak requires a definition */
  }
}

global **linker_imports(const linker *l, size_t *count) {
  global **list = mw_alloc((l->global_count + 1) * sizeof(global *));
  *count = 0;
  for (size_t i = 0; i < l->global_count; i++)
    if (!l->globals[i]->definition) list[(*count)++] = l->globals[i];
  return list;
}

const symbol *symbol_definition(const object **o, const symbol *s) {
  if (!s->global) return s;
  if (s->global->definition) *o = s->global->owner;
  return s->global->definition;
}

bool definition_address(const linker *l, const object *o, const symbol *definition, uint64_t *address) {
  *address = definition->value;
  if (definition->section == SHN_ABS) return true;
  if (definition->section == SHN_UNDEF) return false;
  bool common = definition->section == SHN_COMMON;
  const section *s = common ? &l->commons : &o->sections[definition->section];
  if (!s->output) return false;
  *address = s->output->address + s->offset + (common ? definition->global->common_offset : definition->value);
  return true;
}
