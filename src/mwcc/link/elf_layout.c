/* Selects the sections of the result and assigns their addresses.
 *
 * As in other linkers, input sections of one kind are merged into one output section: .text.unlikely. into .text.
 * Sections with the same permissions form a segment, of which there are at most four: read-only, code, RELRO, data.
 * Segments start on pages of their own in memory, but are adjacent in the file; a page of the file that has parts of
 * two segments is mapped twice. Most kernels are smaller than a page, so padding would be most of the file. */
#include "elf.h"

#include <stdlib.h>
#include <string.h>

/* A segment has the alignment of its most aligned section: the dynamic linker sees segments only. */
uint64_t page_of(const linker *l) {
  uint64_t page = l->machine == EM_AARCH64 ? 65536 : 4096;
  for (size_t i = 0; i < l->output_count; i++)
    if (l->outputs[i]->place != PLACE_FILE && l->outputs[i]->align > page) page = l->outputs[i]->align;
  return page;
}

output *add_output(linker *l, const char *name, uint32_t type, uint64_t flags, output_place place, uint64_t align) {
  output *o = mw_alloc(sizeof *o);
  *o = (output){.name = name, .type = type, .flags = flags, .place = place, .align = align};
  l->outputs = mw_realloc(l->outputs, (l->output_count + 1) * sizeof(output *));
  return l->outputs[l->output_count++] = o;
}

/* ---- output sections ---- */

static const char *output_name(const char *name) {
  static const char *const kinds[] = {".text",       ".rodata",     ".data.rel.ro",      ".data",
                                      ".init_array", ".fini_array", ".gcc_except_table", ".bss"};
  for (size_t i = 0; i < MW_COUNT(kinds); i++) {
    size_t length = strlen(kinds[i]);
    if (strncmp(name, kinds[i], length) == 0 && (!name[length] || name[length] == '.')) return kinds[i];
  }
  return name;
}

static output_place place_of(const char *name, uint64_t flags) {
  static const char *const relocated[] = {".data.rel.ro", ".init_array", ".fini_array", ".moonwarp"};
  if (!(flags & SHF_ALLOC)) return PLACE_FILE;
  if (flags & SHF_EXECINSTR) return PLACE_CODE;
  if (!(flags & SHF_WRITE)) return PLACE_READ;
  for (size_t i = 0; i < MW_COUNT(relocated); i++)
    if (strcmp(name, relocated[i]) == 0) return PLACE_RELOCATED;
  return PLACE_DATA;
}

/* Whether a section is part of the result: not those that are input for the linker, that it generates itself, or that
   are notes about one object. */
static bool is_linked(const linker *l, const object *o, const section *s) {
  bool again = o != l->objects[0] && strcmp(s->name, ".comment") == 0;
  if (s->dropped || s->flags & SHF_EXCLUDE || again || strcmp(s->name, ".eh_frame") == 0) return false;
  switch (s->type) {
  case SHT_PROGBITS:
  case SHT_INIT_ARRAY:
  case SHT_FINI_ARRAY: return s->flags & SHF_ALLOC || strcmp(s->name, ".note.GNU-stack") != 0;
  case SHT_NOBITS: return s->flags & SHF_ALLOC;
  case SHT_NULL:
  case SHT_SYMTAB:
  case SHT_STRTAB:
  case SHT_RELA:
  case SHT_GROUP:
  case SHT_NOTE: return false;
  default: /* such as .llvm_addrsig or .ARM.attributes: not part of a program */
    if (s->flags & SHF_ALLOC) object_bad(o, "the section %s has an unsupported type (%u)", s->name, s->type);
    return false;
  }
}

static output *find_output(linker *l, const char *name, const section *s) {
  output_place place = place_of(name, s->flags);
  for (size_t i = 0; i < l->output_count; i++)
    if (l->outputs[i]->place == place && strcmp(l->outputs[i]->name, name) == 0) return l->outputs[i];
  return add_output(l, name, s->type, s->flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR), place, 1);
}

/* The priority of constructors and destructors, from their section's name; those without one come last. */
static long order_of(const section *s) {
  bool ordered = s->type == SHT_INIT_ARRAY || s->type == SHT_FINI_ARRAY;
  const char *dot = ordered ? strrchr(s->name + 1, '.') : NULL;
  return dot ? strtol(dot + 1, NULL, 10) : ordered ? 65536 : 0;
}

static void put(output *o, section *s) {
  o->pieces = mw_realloc(o->pieces, (o->piece_count + 1) * sizeof(section *));
  size_t i = o->piece_count++;
  for (; i > 0 && order_of(o->pieces[i - 1]) > order_of(s); i--) o->pieces[i] = o->pieces[i - 1];
  o->pieces[i] = s;
  s->output = o;
  if (s->type != SHT_NOBITS) o->type = s->type;
}

static void place_commons(linker *l) {
  section *c = &l->commons;
  *c = (section){.name = ".bss", .type = SHT_NOBITS, .flags = SHF_ALLOC | SHF_WRITE, .align = 1};
  for (size_t i = 0; i < l->global_count; i++) {
    global *g = l->globals[i];
    if (!g->definition || g->definition->section != SHN_COMMON) continue;
    uint64_t align = g->definition->value;
    if (align > c->align) c->align = align;
    g->common_offset = (c->size + align - 1) & ~(align - 1);
    c->size = g->common_offset + g->definition->size;
  }
  if (c->size) put(find_output(l, ".bss", c), c);
}

static uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

/* A cache line: the position of loops in cache lines, and so their speed, should not depend on tables before the
   code. */
enum { CODE_ALIGN = 64 };

/* Assign consecutive offsets to an output's sections. */
static void measure(output *o) {
  for (size_t i = 0; i < o->piece_count; i++) {
    section *s = o->pieces[i];
    if (s->align > o->align) o->align = s->align;
    s->offset = align_up(o->size, s->align);
    o->size = s->offset + s->size;
  }
  if (o->place == PLACE_CODE && o->align < CODE_ALIGN) o->align = CODE_ALIGN;
}

void choose_outputs(linker *l) {
  for (size_t n = 0; n < l->object_count; n++) {
    object *o = l->objects[n];
    for (size_t i = 1; i < o->section_count; i++) {
      section *s = &o->sections[i];
      if (is_linked(l, o, s)) put(find_output(l, output_name(s->name), s), s);
    }
  }
  place_commons(l);
  for (size_t i = 0; i < l->output_count; i++) measure(l->outputs[i]);
}

/* ---- addresses ---- */

/* Outputs are sorted by segment, zero-initialised ones last, and stay in the order of their addition otherwise. */
static int rank(const output *o) { return 2 * (int)o->place + (o->type == SHT_NOBITS); }

static void sort_outputs(linker *l) {
  size_t count = 0;
  for (size_t i = 0; i < l->output_count; i++)
    if (l->outputs[i]->size) l->outputs[count++] = l->outputs[i];
  l->output_count = count;
  for (size_t i = 1; i < count; i++) {
    output *o = l->outputs[i];
    size_t at = i;
    for (; at > 0 && rank(l->outputs[at - 1]) > rank(o); at--) l->outputs[at] = l->outputs[at - 1];
    l->outputs[at] = o;
  }
  for (size_t i = 0; i < count; i++) l->outputs[i]->index = (uint32_t)i + 1;
}

size_t count_segments(const linker *l) {
  size_t count = 2; /* PT_DYNAMIC, PT_GNU_STACK */
  bool seen[PLACE_FILE + 1] = {[PLACE_READ] = true};
  for (size_t i = 0; i < l->output_count; i++) seen[l->outputs[i]->place] = true;
  for (int p = PLACE_READ; p < PLACE_FILE; p++) count += seen[p];
  return count + seen[PLACE_RELOCATED] + (l->frame_header->size != 0);
}

void lay_out(linker *l) {
  sort_outputs(l);
  uint64_t page = page_of(l), offset = sizeof(Elf64_Ehdr) + count_segments(l) * sizeof(Elf64_Phdr), address = offset;
  output_place now = PLACE_READ;
  for (size_t i = 0; i < l->output_count; i++) {
    output *o = l->outputs[i];
    if (o->place == PLACE_FILE) {
      offset = o->offset = align_up(offset, o->align);
    } else {
      if (o->place != now) address = align_up(address, page) + offset % page;
      uint64_t start = align_up(address, o->align);
      if (o->type != SHT_NOBITS) offset += start - address;
      o->address = start, o->offset = offset;
      address = start + o->size;
    }
    if (o->type != SHT_NOBITS) offset += o->size;
    now = o->place;
  }
  if (address > INT32_MAX || offset > INT32_MAX)
    die("the module's code and data are larger than 2 GiB: divide the source into several modules");
  l->image_size = (size_t)offset;
}
