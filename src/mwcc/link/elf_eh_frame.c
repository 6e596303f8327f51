/* .eh_frame, by which debuggers, profilers and exceptions unwind the stack, and .eh_frame_hdr, its table sorted by
 * address.
 *
 * The section is a sequence of records: a CIE has what many functions have in common; an FDE describes one function and
 * refers to its CIE by the distance to it. Records of dropped functions are removed and equal CIEs are merged, so
 * records move, each as a whole. A function's address is a 4-byte distance from the field itself, as in the small code
 * model. ("Linux Standard Base Core" 10.6; DWARF 4, 6.4) */
#include "elf.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 8, NONE = 0 }; /* a record starts with its length and the distance to its CIE (0 in a CIE), as words */

static uint32_t word_at(const section *s, uint64_t offset) {
  uint32_t word;
  memcpy(&word, s->data + offset, sizeof word);
  return word;
}

/* ---- reading ---- */

/* Whether the function that an FDE describes is in the result. */
static bool is_live(const linker *l, const frame_record *r) {
  const object *o = r->object;
  const section *s = r->section;
  Elf64_Rela rela = {0};
  if (r->relocation < s->relocation_count) rela = relocation_at(s, r->relocation);
  if (rela.r_offset != r->offset + HEAD ||
      ELF64_R_TYPE(rela.r_info) != (l->machine == EM_AARCH64 ? R_AARCH64_PREL32 : R_X86_64_PC32))
    object_bad(o, "a record of %s refers to its function by an unsupported relocation", s->name);
  const symbol *about = symbol_definition(&o, relocation_symbol(o, s, rela));
  if (!about) return false;
  return about->section == SHN_ABS ||
         (about->section < o->section_count && about->section && o->sections[about->section].output);
}

/* Whether a CIE has no relocations, so that comparing bytes suffices. */
static bool is_plain(const frame_record *r) {
  return r->relocation >= r->section->relocation_count ||
         relocation_at(r->section, r->relocation).r_offset >= r->offset + r->size;
}

static size_t find_equal_cie(const linker *l, const frame_record *r) {
  for (size_t i = 0; i < l->record_count; i++) {
    const frame_record *other = &l->records[i];
    if (other->cie == i && other->size == r->size && is_plain(r) && is_plain(other) &&
        memcmp(other->section->data + other->offset, r->section->data + r->offset, r->size) == 0)
      return i;
  }
  return l->record_count;
}

static void keep(linker *l, const frame_record *r) {
  if ((l->record_count & (l->record_count - 1)) == 0)
    l->records = mw_realloc(l->records, (2 * l->record_count + 1) * sizeof *l->records);
  l->records[l->record_count++] = *r;
  l->frames->size += r->size;
}

/* A CIE of the current section: its offset there, and its record. */
typedef struct known_cie {
  uint64_t offset;
  size_t record;
} known_cie;

static void read_record(linker *l, frame_record *r, known_cie **cies, size_t *cie_count) {
  uint32_t distance = word_at(r->section, r->offset + 4);
  if (distance == 0) {
    *cies = mw_realloc(*cies, (*cie_count + 1) * sizeof **cies);
    r->cie = find_equal_cie(l, r);
    (*cies)[(*cie_count)++] = (known_cie){r->offset, r->cie};
    if (r->cie == l->record_count) keep(l, r);
    return;
  }
  size_t i = *cie_count;
  while (i > 0 && (*cies)[i - 1].offset != r->offset + 4 - distance) i--;
  if (i == 0) object_bad(r->object, "a record of %s refers to a CIE that does not exist", r->section->name);
  r->cie = (*cies)[i - 1].record;
  if (is_live(l, r)) keep(l, r);
}

static void read_section(linker *l, const object *o, const section *s) {
  known_cie *cies = NULL;
  size_t cie_count = 0, relocation = 0;
  for (uint64_t at = 0; at + 4 <= s->size;) {
    uint64_t size = (uint64_t)word_at(s, at) + 4;
    if (size == 4) break; /* the terminator */
    if (size < 2 * HEAD || size > s->size - at) object_bad(o, "a record of %s is truncated", s->name);
    while (relocation < s->relocation_count && relocation_at(s, relocation).r_offset < at) relocation++;
    frame_record r = {.object = o, .section = s, .offset = at, .size = size, .relocation = relocation};
    read_record(l, &r, &cies, &cie_count);
    at += size;
  }
  free(cies);
}

/* Unwind information for the stubs, which save nothing and do not move the stack pointer: a CIE and an FDE, in which
   the stubs' address and size are filled in. */
static const unsigned char x86_64_stubs[] = {
    20,   0, 0, 0, 0,  0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, /* pc-relative words */
    12,   7, 8,                                                       /* the CFA is rsp + 8 */
    0x90, 1,                                                          /* the return address is at CFA - 8 */
    0,    0,                                                          /* */
    20,   0, 0, 0, 28, 0, 0, 0, 0, 0,   0,   0, 0, 0,    0,  0, 0,    0, 0, 0, 0, 0, 0, 0};
static const unsigned char aarch64_stubs[] = {
    16, 0,  0, 0, 0,  0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 30, 1, 0x1b, /* the return address is in x30 */
    12, 31, 0,                                                       /* the CFA is sp */
    20, 0,  0, 0, 24, 0, 0, 0, 0, 0,   0,   0, 0, 0,    0,  0, 0,    0, 0, 0, 0, 0, 0, 0};

static uint64_t stubs_record(const linker *l, const unsigned char **bytes) {
  *bytes = l->machine == EM_AARCH64 ? aarch64_stubs : x86_64_stubs;
  if (!l->stub_count) return 0;
  return l->machine == EM_AARCH64 ? sizeof aarch64_stubs : sizeof x86_64_stubs;
}

static size_t count_functions(const linker *l) {
  size_t count = l->stub_count != 0;
  for (size_t i = 0; i < l->record_count; i++) count += l->records[i].cie != i;
  return count;
}

void read_frames(linker *l) {
  const unsigned char *bytes;
  for (size_t n = 0; n < l->object_count; n++) {
    object *o = l->objects[n];
    for (size_t i = 1; i < o->section_count; i++) {
      section *s = &o->sections[i];
      if (strcmp(s->name, ".eh_frame") != 0 || s->dropped || !s->data) continue;
      l->frames->type = s->type;
      read_section(l, o, s);
    }
  }
  l->frames->size += stubs_record(l, &bytes);
  if (!l->frames->size) return;
  l->frames->size += 4; /* the terminator */
  l->frame_header->size = 12 + 8 * count_functions(l);
}

/* ---- writing ---- */

static void store(unsigned char *at, uint64_t value) {
  uint32_t word = (uint32_t)value;
  memcpy(at, &word, sizeof word);
}

typedef struct row {
  int32_t function, record; /* distances from the header */
} row;

static int compare_rows(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->function != y->function) return x->function < y->function ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}

/* The table's row for the FDE at `address`, whose bytes are at `at`. */
static row row_of(const linker *l, const unsigned char *at, uint64_t address) {
  int32_t distance;
  memcpy(&distance, at + HEAD, sizeof distance);
  uint64_t base = l->frame_header->address;
  return (row){(int32_t)(address + HEAD + (uint64_t)(int64_t)distance - base), (int32_t)(address - base)};
}

static void write_record(linker *l, frame_record *r, size_t number) {
  unsigned char *at = l->image + l->frames->offset + r->target;
  uint64_t address = l->frames->address + r->target;
  const section *s = r->section;
  memcpy(at, s->data + r->offset, r->size);
  for (size_t i = r->relocation; i < s->relocation_count; i++) {
    Elf64_Rela rela = relocation_at(s, i);
    uint64_t within = rela.r_offset - r->offset;
    if (within >= r->size) break;
    relocate(l, r->object, s, rela, at + within, r->size - within, address + within);
  }
  if (r->cie != number) store(at + 4, r->target + 4 - l->records[r->cie].target);
}

static void write_table(const linker *l, const row *rows, size_t count) {
  unsigned char *at = l->image + l->frame_header->offset;
  static const unsigned char head[] = {1, 0x1b, 3, 0x3b}; /* version; encodings: pc-, absolute, header-relative */
  memcpy(at, head, sizeof head);
  store(at + 4, l->frames->address - (l->frame_header->address + 4));
  store(at + 8, count);
  memcpy(at + 12, rows, count * sizeof *rows);
}

void write_frames(linker *l) {
  if (!l->frames->size) return;
  size_t count = 0;
  row *rows = mw_alloc((count_functions(l) + 1) * sizeof *rows);
  uint64_t target = 0;
  for (size_t i = 0; i < l->record_count; i++) {
    frame_record *r = &l->records[i];
    r->target = target;
    target += r->size;
    write_record(l, r, i);
    if (r->cie != i)
      rows[count++] = row_of(l, l->image + l->frames->offset + r->target, l->frames->address + r->target);
  }
  const unsigned char *bytes;
  uint64_t size = stubs_record(l, &bytes), fde = target + size - 24;
  if (size) {
    unsigned char *at = l->image + l->frames->offset + target;
    memcpy(at, bytes, size);
    store(at + size - 24 + HEAD, l->stubs->address - (l->frames->address + fde + HEAD));
    store(at + size - 24 + HEAD + 4, l->stubs->size);
    rows[count++] = row_of(l, l->image + l->frames->offset + fde, l->frames->address + fde);
  }
  qsort(rows, count, sizeof *rows, compare_rows);
  write_table(l, rows, count);
}
