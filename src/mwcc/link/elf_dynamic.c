/* Tables for the dynamic linker: imported and exported symbols, with a hash table for the exports; needed libraries and
 * symbol versions; dynamic relocations. All imports are resolved when the module is opened (BIND_NOW), so that launches
 * neither wait for it nor fail because of it. */
#include "elf.h"

#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

static uint32_t add_name(mw_text *names, const char *name) {
  uint32_t offset = (uint32_t)names->length;
  mw_text_add(names, name, strlen(name) + 1);
  return offset;
}

static bool is_exported(const global *g) {
  return g->definition && (g->visibility == STV_DEFAULT || g->visibility == STV_PROTECTED);
}

/* There are as many buckets as symbols, for about one comparison per lookup, and at least one, since the number is a
   divisor. */
static uint32_t bucket_count(const linker *l) { return l->export_count ? (uint32_t)l->export_count : 1; }

static int compare_buckets(const linker *l, const global *a, const global *b) {
  uint32_t x = a->hash % bucket_count(l), y = b->hash % bucket_count(l);
  return x < y ? -1 : x > y;
}

static void collect_symbols(linker *l) {
  l->dynamic_symbols = mw_alloc((l->global_count + 1) * sizeof(global *));
  for (size_t i = 0; i < l->global_count; i++) {
    global *g = l->globals[i];
    g->is_exported = is_exported(g);
    l->export_count += g->is_exported;
    if (!g->definition) l->dynamic_symbols[l->import_count++] = g;
  }
  size_t end = l->import_count;
  for (size_t i = 0; i < l->global_count; i++) {
    global *g = l->globals[i];
    if (!g->is_exported) continue;
    size_t at = end++;
    for (; at > l->import_count && compare_buckets(l, l->dynamic_symbols[at - 1], g) > 0; at--)
      l->dynamic_symbols[at] = l->dynamic_symbols[at - 1];
    l->dynamic_symbols[at] = g;
  }
  for (size_t i = 0; i < end; i++) l->dynamic_symbols[i]->dynamic = (uint32_t)i + 1;
}

/* ---- versions ---- */

/* The System V ABI's hash, which version names have. */
static uint32_t version_hash(const char *name) {
  uint32_t hash = 0;
  for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
    hash = (hash << 4) + *c;
    uint32_t high = hash & 0xf0000000;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

/* Version numbers: 0 is for local symbols, 1 for symbols without a version. */
enum { FIRST_VERSION = 2 };

/* The first import of the same version of the same library. */
static size_t first_with_version(const linker *l, size_t i) {
  const global *g = l->dynamic_symbols[i];
  for (size_t n = 0; n < i; n++) {
    const global *other = l->dynamic_symbols[n];
    if (other->version && other->library == g->library && strcmp(other->version, g->version) == 0) return n;
  }
  return i;
}

static uint16_t *number_versions(const linker *l) {
  uint16_t *numbers = mw_alloc((l->import_count + 1) * sizeof *numbers), next = FIRST_VERSION;
  for (size_t i = 0; i < l->import_count; i++) {
    numbers[i] = 1;
    if (!l->dynamic_symbols[i]->version) continue;
    size_t first = first_with_version(l, i);
    numbers[i] = first < i ? numbers[first] : next++;
  }
  return numbers;
}

/* .gnu.version_r: a record for each library with versions, followed by one for each version. */
static void describe_versions(linker *l, const uint16_t *numbers) {
  size_t last = 0;
  for (size_t n = 0; n < l->library_count; n++) {
    const library *from = &l->libraries[n];
    Elf64_Verneed need = {.vn_version = 1, .vn_aux = sizeof need};
    mw_text list = {0};
    for (size_t i = 0; i < l->import_count; i++) {
      const global *g = l->dynamic_symbols[i];
      if (!g->version || g->library != from || first_with_version(l, i) != i) continue;
      Elf64_Vernaux one = {.vna_hash = version_hash(g->version),
                           .vna_other = numbers[i],
                           .vna_name = add_name(&l->dynamic_names, g->version),
                           .vna_next = sizeof one};
      mw_text_add(&list, &one, sizeof one);
      need.vn_cnt++;
    }
    if (!need.vn_cnt) continue;
    memset(list.data + list.length - sizeof(uint32_t), 0, sizeof(uint32_t)); /* vna_next, of the last */
    need.vn_file = add_name(&l->dynamic_names, from->file);
    need.vn_next = (uint32_t)(sizeof need + list.length);
    last = l->versions.length;
    mw_text_add(&l->versions, &need, sizeof need);
    mw_text_add(&l->versions, list.data, list.length);
    l->verneed->info++;
    mw_text_free(&list);
  }
  if (l->verneed->info) memset(l->versions.data + last + offsetof(Elf64_Verneed, vn_next), 0, sizeof(uint32_t));
}

/* ---- the tables' contents ---- */

static void write_symbols(linker *l) {
  Elf64_Sym *out = (Elf64_Sym *)(void *)(l->image + l->dynsym->offset) + 1;
  size_t count = l->import_count + l->export_count;
  for (size_t i = 0; i < count; i++, out++) {
    const global *g = l->dynamic_symbols[i];
    out->st_name = add_name(&l->dynamic_names, g->name);
    out->st_info = ELF64_ST_INFO(g->bind, STT_NOTYPE);
    if (!g->definition) continue;
    const symbol *s = g->definition;
    const section *from = s->section == SHN_COMMON ? &l->commons : NULL;
    if (s->section < g->owner->section_count) from = &g->owner->sections[s->section];
    if (!definition_address(l, g->owner, s, &out->st_value))
      object_bad(g->owner, "'%s' is exported, but its section is not part of the module", g->name);
    out->st_info = ELF64_ST_INFO(g->bind, s->type);
    out->st_other = g->visibility;
    out->st_size = s->size;
    out->st_shndx = from ? (uint16_t)from->output->index : SHN_ABS;
  }
}

enum { FILTER_SHIFT = 26 }; /* arbitrary: the Bloom filter's second bit is chosen by the hash's upper bits */

/* The number of 64-bit words of the Bloom filter, a power of two: at least 8 bits for each symbol. */
static uint32_t filter_words(const linker *l) {
  uint32_t words = 1;
  while (words * 8 < l->export_count) words *= 2;
  return words;
}

static uint64_t hash_bytes(const linker *l) {
  return 4 * sizeof(uint32_t) + filter_words(l) * sizeof(uint64_t) +
         (bucket_count(l) + l->export_count) * sizeof(uint32_t);
}

static void write_hash(const linker *l) {
  uint32_t first = (uint32_t)l->import_count + 1, words = filter_words(l);
  uint32_t head[4] = {bucket_count(l), first, words, FILTER_SHIFT};
  unsigned char *at = l->image + l->hash->offset;
  memcpy(at, head, sizeof head);
  uint64_t *filter = (uint64_t *)(void *)(at + sizeof head);
  uint32_t *buckets = (uint32_t *)(void *)(filter + words), *hashes = buckets + head[0];
  for (size_t i = 0; i < l->export_count; i++) {
    const global *g = l->dynamic_symbols[l->import_count + i], *next = l->dynamic_symbols[l->import_count + i + 1];
    filter[g->hash / 64 % words] |= UINT64_C(1) << g->hash % 64 | UINT64_C(1) << (g->hash >> FILTER_SHIFT) % 64;
    uint32_t *bucket = &buckets[g->hash % head[0]];
    if (!*bucket) *bucket = g->dynamic;
    bool last = i + 1 == l->export_count || next->hash % head[0] != g->hash % head[0];
    hashes[i] = (g->hash & ~UINT32_C(1)) | last;
  }
}

static void write_versions(const linker *l) {
  if (!l->versym->size) return;
  uint16_t *out = (uint16_t *)(void *)(l->image + l->versym->offset), *numbers = number_versions(l);
  for (size_t i = 0; i < l->import_count + l->export_count; i++) out[i + 1] = i < l->import_count ? numbers[i] : 1;
  memcpy(l->image + l->verneed->offset, l->versions.data, l->versions.length);
}

/* ---- the dynamic section ---- */

typedef struct entries {
  Elf64_Dyn *at; /* NULL: only counted */
  size_t count;
} entries;

static void add(entries *e, int64_t tag, uint64_t value) {
  if (e->at) e->at[e->count] = (Elf64_Dyn){.d_tag = tag, .d_un = {.d_val = value}};
  e->count++;
}

static void add_functions(const linker *l, entries *e, const char *name, int64_t tag, int64_t size_tag) {
  for (size_t i = 0; i < l->output_count; i++) {
    const output *o = l->outputs[i];
    if (strcmp(o->name, name) != 0) continue;
    add(e, tag, o->address);
    add(e, size_tag, o->size);
  }
}

/* The libraries' names come first in the string table, so that their offsets are known. */
static void describe(const linker *l, entries *e) {
  uint64_t name = 1;
  for (size_t i = 0; i < l->library_count; i++) {
    if (!l->libraries[i].is_needed) continue;
    add(e, DT_NEEDED, name);
    name += strlen(l->libraries[i].file) + 1;
  }
  add_functions(l, e, ".init_array", DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
  add_functions(l, e, ".fini_array", DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
  add(e, DT_GNU_HASH, l->hash->address);
  add(e, DT_STRTAB, l->dynstr->address);
  add(e, DT_SYMTAB, l->dynsym->address);
  add(e, DT_STRSZ, l->dynstr->size);
  add(e, DT_SYMENT, sizeof(Elf64_Sym));
  if (l->rela->size) {
    add(e, DT_RELA, l->rela->address);
    add(e, DT_RELASZ, l->rela->size);
    add(e, DT_RELAENT, sizeof(Elf64_Rela));
    add(e, DT_RELACOUNT, l->relatives);
  }
  add(e, DT_FLAGS, DF_BIND_NOW);
  add(e, DT_FLAGS_1, DF_1_NOW);
  if (l->versym->size) {
    add(e, DT_VERNEED, l->verneed->address);
    add(e, DT_VERNEEDNUM, l->verneed->info);
    add(e, DT_VERSYM, l->versym->address);
  }
  add(e, DT_NULL, 0);
}

void prepare_dynamic(linker *l) {
  collect_symbols(l);
  mw_text_add(&l->dynamic_names, "", 1);
  for (size_t i = 0; i < l->library_count; i++)
    if (l->libraries[i].is_needed) add_name(&l->dynamic_names, l->libraries[i].file);
  uint16_t *numbers = number_versions(l);
  describe_versions(l, numbers);
  free(numbers);
  size_t count = l->import_count + l->export_count;
  l->hash->size = hash_bytes(l);
  l->dynsym->size = (count + 1) * sizeof(Elf64_Sym);
  l->dynstr->size = l->dynamic_names.length;
  for (size_t i = 0; i < count; i++) l->dynstr->size += strlen(l->dynamic_symbols[i]->name) + 1;
  l->versym->size = l->versions.length ? (count + 1) * sizeof(uint16_t) : 0;
  l->verneed->size = l->versions.length;
  l->rela->size = (l->relative_count + l->symbolic_count) * sizeof(Elf64_Rela);
  entries e = {0};
  describe(l, &e);
  l->dynamic->size = e.count * sizeof(Elf64_Dyn);
}

void write_dynamic(linker *l) {
  write_symbols(l);
  memcpy(l->image + l->dynstr->offset, l->dynamic_names.data, l->dynamic_names.length);
  write_hash(l);
  write_versions(l);
  unsigned char *rela = l->image + l->rela->offset;
  size_t relative = l->relatives * sizeof(Elf64_Rela), symbolic = l->symbolics * sizeof(Elf64_Rela);
  if (relative) memcpy(rela, l->relative, relative);
  if (symbolic) memcpy(rela + relative, l->symbolic, symbolic);
  describe(l, &(entries){.at = (Elf64_Dyn *)(void *)(l->image + l->dynamic->offset)});
}
