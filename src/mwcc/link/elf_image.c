/* Writes the file: headers, sections, and the symbol table for debuggers and profilers. */
#include "elf.h"

#include <stdlib.h>
#include <string.h>

/* ---- the symbol table ---- */

/* Whether a local symbol is listed: not sections, and not labels such as those of constant pools (.L…). */
static bool is_shown(const object *o, const symbol *s) {
  if (s->bind != STB_LOCAL || !*s->name || strncmp(s->name, ".L", 2) == 0) return false;
  if (s->type == STT_SECTION || s->section == SHN_UNDEF) return false;
  return s->section == SHN_ABS || o->sections[s->section].output;
}

static uint32_t add_name(mw_text *names, const char *name) {
  uint32_t offset = (uint32_t)names->length;
  mw_text_add(names, name, strlen(name) + 1);
  return offset;
}

/* Add a symbol without its value, which write_symbols fills in when addresses are known. */
static void add_symbol(linker *l, const symbol *s, unsigned char bind) {
  if ((l->symbol_count & (l->symbol_count - 1)) == 0)
    l->symbols = mw_realloc(l->symbols, (2 * l->symbol_count + 1) * sizeof *l->symbols);
  l->symbols[l->symbol_count++] = (Elf64_Sym){.st_name = add_name(&l->names, s->name),
                                              .st_info = ELF64_ST_INFO(bind, s->type),
                                              .st_other = s->visibility,
                                              .st_size = s->size};
}

static bool becomes_local(const global *g) { return g->definition && !g->is_exported; }

/* Call what(l, o, s, bind) for each symbol in the table's order: local symbols of each object, hidden ones, and those
   that are imported or exported. */
typedef void visit(linker *l, const object *o, const symbol *s, unsigned char bind);

static size_t visit_symbols(linker *l, visit *what) {
  size_t locals = 1;
  for (size_t n = 0; n < l->object_count; n++) {
    const object *o = l->objects[n];
    for (size_t i = 1; i < o->symbol_count; i++) {
      if (!is_shown(o, &o->symbols[i])) continue;
      what(l, o, &o->symbols[i], STB_LOCAL);
      locals++;
    }
  }
  for (size_t i = 0; i < l->global_count; i++) {
    const global *g = l->globals[i];
    if (!becomes_local(g)) continue;
    what(l, g->owner, g->definition, STB_LOCAL);
    locals++;
  }
  static const symbol undefined = {.name = "", .section = SHN_UNDEF};
  for (size_t i = 0; i < l->import_count + l->export_count; i++) {
    const global *g = l->dynamic_symbols[i];
    symbol import = undefined;
    import.name = g->name;
    what(l, g->owner, g->definition ? g->definition : &import, g->bind);
  }
  return locals;
}

static void note_symbol(linker *l, const object *o, const symbol *s, unsigned char bind) {
  (void)o;
  add_symbol(l, s, bind);
}

static void prepare_symbols(linker *l) {
  mw_text_add(&l->names, "", 1);
  add_symbol(l, &(symbol){.name = ""}, STB_LOCAL);
  l->local_count = visit_symbols(l, note_symbol);
  l->symtab->size = l->symbol_count * sizeof *l->symbols;
  l->strtab->size = l->names.length;
}

static void place_symbol(linker *l, const object *o, const symbol *s, unsigned char bind) {
  (void)bind;
  Elf64_Sym *out = &l->symbols[l->symbol_count++];
  if (s->section == SHN_UNDEF) return;
  const section *from = s->section == SHN_ABS      ? NULL
                        : s->section == SHN_COMMON ? &l->commons
                                                   : &o->sections[s->section];
  if (!definition_address(l, o, s, &out->st_value)) return; /* its section is not in the result */
  out->st_shndx = from ? (uint16_t)from->output->index : SHN_ABS;
}

static void write_symbols(linker *l) {
  l->symbol_count = 1;
  visit_symbols(l, place_symbol);
  memcpy(l->image + l->symtab->offset, l->symbols, l->symtab->size);
  memcpy(l->image + l->strtab->offset, l->names.data, l->names.length);
}

/* ---- the sections that the linker makes ---- */

static void add_tables(linker *l) {
  const uint64_t read = SHF_ALLOC;
  l->hash = add_output(l, ".gnu.hash", SHT_GNU_HASH, read, PLACE_READ, 8);
  l->dynsym = add_output(l, ".dynsym", SHT_DYNSYM, read, PLACE_READ, 8);
  l->dynstr = add_output(l, ".dynstr", SHT_STRTAB, read, PLACE_READ, 1);
  l->versym = add_output(l, ".gnu.version", SHT_GNU_versym, read, PLACE_READ, 2);
  l->verneed = add_output(l, ".gnu.version_r", SHT_GNU_verneed, read, PLACE_READ, 8);
  l->rela = add_output(l, ".rela.dyn", SHT_RELA, read, PLACE_READ, 8);
  l->frame_header = add_output(l, ".eh_frame_hdr", SHT_PROGBITS, read, PLACE_READ, 4);
  l->frames = add_output(l, ".eh_frame", SHT_PROGBITS, read, PLACE_READ, 8);
}

static void add_more_tables(linker *l) {
  l->stubs = add_output(l, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PLACE_CODE, 16);
  l->slots = add_output(l, ".got", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, PLACE_RELOCATED, 8);
  l->dynamic = add_output(l, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, PLACE_RELOCATED, 8);
  l->symtab = add_output(l, ".symtab", SHT_SYMTAB, 0, PLACE_FILE, 8);
  l->strtab = add_output(l, ".strtab", SHT_STRTAB, 0, PLACE_FILE, 1);
  l->shstrtab = add_output(l, ".shstrtab", SHT_STRTAB, 0, PLACE_FILE, 1);
}

static void tie_tables(linker *l) {
  l->hash->link = l->versym->link = l->rela->link = l->dynsym;
  l->dynsym->link = l->verneed->link = l->dynamic->link = l->dynstr;
  l->symtab->link = l->strtab;
  l->dynsym->info = 1;
  l->symtab->info = (uint32_t)l->local_count;
  l->dynsym->entry = l->symtab->entry = sizeof(Elf64_Sym);
  l->rela->entry = sizeof(Elf64_Rela);
  l->dynamic->entry = sizeof(Elf64_Dyn);
  l->versym->entry = sizeof(uint16_t);
}

/* ---- headers ---- */

static void write_header(const linker *l, uint64_t sections) {
  Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_machine = l->machine,
                       .e_version = EV_CURRENT,
                       .e_phoff = sizeof header,
                       .e_shoff = sections,
                       .e_ehsize = sizeof header,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = (uint16_t)count_segments(l),
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = (uint16_t)(l->output_count + 1),
                       .e_shstrndx = (uint16_t)l->shstrtab->index};
  memcpy(l->image, &header, sizeof header);
}

static Elf64_Phdr segment_of(const output *o, uint32_t type, uint32_t flags) {
  return (Elf64_Phdr){.p_type = type,
                      .p_flags = flags,
                      .p_offset = o->offset,
                      .p_vaddr = o->address,
                      .p_paddr = o->address,
                      .p_filesz = o->size,
                      .p_memsz = o->size,
                      .p_align = o->align};
}

/* Extend the RELRO segment to the end of its page: only whole pages can be made read-only, and nothing else is on its
   last one. All of it has to be mapped, since a system with smaller pages changes the permissions of each of them. */
static void fill_page(Elf64_Phdr *s) {
  uint64_t end = (s->p_vaddr + s->p_memsz + s->p_align - 1) & ~(s->p_align - 1);
  s->p_memsz = end - s->p_vaddr;
}

static Elf64_Phdr load_segment(const linker *l, output_place place) {
  static const uint32_t flags[] = {
      [PLACE_READ] = PF_R, [PLACE_CODE] = PF_R | PF_X, [PLACE_RELOCATED] = PF_R | PF_W, [PLACE_DATA] = PF_R | PF_W};
  Elf64_Phdr s = {0};
  for (size_t i = 0; i < l->output_count; i++) {
    const output *o = l->outputs[i];
    if (o->place != place) continue;
    if (!s.p_type) s = segment_of(o, PT_LOAD, flags[place]), s.p_filesz = 0;
    if (o->type != SHT_NOBITS) s.p_filesz = o->address + o->size - s.p_vaddr;
    s.p_memsz = o->address + o->size - s.p_vaddr;
  }
  s.p_align = page_of(l);
  if (place == PLACE_RELOCATED) fill_page(&s);
  if (place != PLACE_READ) return s;
  s.p_filesz += s.p_offset, s.p_memsz += s.p_offset; /* includes the headers */
  s.p_offset = s.p_vaddr = s.p_paddr = 0;
  return s;
}

static void write_segments(const linker *l) {
  Elf64_Phdr segments[PLACE_FILE + 4], *next = segments;
  for (output_place p = PLACE_READ; p < PLACE_FILE; p++) {
    *next = load_segment(l, p);
    if (next->p_type) next++;
  }
  *next++ = segment_of(l->dynamic, PT_DYNAMIC, PF_R | PF_W);
  if (l->frame_header->size) *next++ = segment_of(l->frame_header, PT_GNU_EH_FRAME, PF_R);
  *next++ = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
  *next = load_segment(l, PLACE_RELOCATED);
  next->p_type = PT_GNU_RELRO, next->p_flags = PF_R, next->p_align = 1;
  next++;
  memcpy(l->image + sizeof(Elf64_Ehdr), segments, (size_t)(next - segments) * sizeof *segments);
}

static void write_sections(const linker *l, uint64_t at) {
  for (size_t i = 0; i < l->output_count; i++) {
    const output *o = l->outputs[i];
    Elf64_Shdr header = {.sh_name = o->name_offset,
                         .sh_type = o->type,
                         .sh_flags = o->flags,
                         .sh_addr = o->address,
                         .sh_offset = o->offset,
                         .sh_size = o->size,
                         .sh_link = o->link ? o->link->index : 0,
                         .sh_info = o->info,
                         .sh_addralign = o->align,
                         .sh_entsize = o->entry};
    memcpy(l->image + at + (i + 1) * sizeof header, &header, sizeof header);
  }
}

/* ---- contents ---- */

static void copy_sections(linker *l) {
  for (size_t i = 0; i < l->output_count; i++) {
    const output *o = l->outputs[i];
    for (size_t n = 0; n < o->piece_count; n++) {
      const section *s = o->pieces[n];
      if (s->data && s->size) memcpy(l->image + o->offset + s->offset, s->data, s->size);
    }
  }
}

typedef void section_work(linker *l, const object *o, const section *s);

static void for_sections(linker *l, section_work *work) {
  for (size_t n = 0; n < l->object_count; n++) {
    const object *o = l->objects[n];
    for (size_t i = 1; i < o->section_count; i++) work(l, o, &o->sections[i]);
  }
}

static void count_if_carried(linker *l, const object *o, const section *s) {
  if (s->output || (strcmp(s->name, ".eh_frame") == 0 && !s->dropped)) count_relocations(l, o, s);
}

static void prepare_names(linker *l) {
  mw_text_add(&l->section_names, "", 1);
  for (size_t i = 0; i < l->output_count; i++)
    if (l->outputs[i]->size || l->outputs[i] == l->shstrtab)
      l->outputs[i]->name_offset = add_name(&l->section_names, l->outputs[i]->name);
  l->shstrtab->size = l->section_names.length;
}

static void prepare(linker *l) {
  add_tables(l);
  choose_outputs(l);
  add_more_tables(l);
  for_sections(l, count_if_carried);
  l->slots->size = 8 * l->slot_count;
  l->stubs->size = (l->machine == EM_AARCH64 ? 16 : 8) * l->stub_count;
  read_frames(l);
  prepare_dynamic(l);
  prepare_symbols(l);
  prepare_names(l);
  lay_out(l);
  tie_tables(l);
  l->relative = mw_alloc((l->relative_count + 1) * sizeof(Elf64_Rela));
  l->symbolic = mw_alloc((l->symbolic_count + 1) * sizeof(Elf64_Rela));
}

unsigned char *linker_write(linker *l, size_t spare, size_t *size) {
  for (size_t i = 0; i < l->object_count; i++) l->objects[i]->understood = true;
  prepare(l);
  uint64_t sections = (l->image_size + 7) & ~UINT64_C(7);
  *size = (size_t)sections + (l->output_count + 1) * sizeof(Elf64_Shdr);
  l->image = mw_alloc(*size + spare);
  copy_sections(l);
  for_sections(l, relocate_section);
  write_frames(l);
  write_stubs(l);
  write_slots(l);
  write_dynamic(l);
  write_symbols(l);
  memcpy(l->image + l->shstrtab->offset, l->section_names.data, l->section_names.length);
  write_header(l, sections);
  write_segments(l);
  write_sections(l, sections);
  return l->image;
}
