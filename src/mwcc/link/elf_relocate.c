/* Relocations: fields of code and data whose values depend on addresses.
 *
 * Each type is a row of a table: the formula, the encoding of the field, and whether S in the formula is the symbol
 * itself, its slot in the global offset table (where the dynamic linker writes an imported symbol's address), or a
 * stub, which jumps through the slot and is what calls of imported functions call (a PLT entry without lazy binding). A
 * is the addend, P the field's address. Names and formulas are those of the ABIs ("System V ABI, AMD64 supplement" 4.4;
 * "ELF for the Arm 64-bit Architecture" 5.7). */
#include "elf.h"

#include <string.h>

typedef enum formula { NOTHING, ABSOLUTE, RELATIVE, PAGES } formula; /* -; S+A; S+A-P; Page(S+A)-Page(P) */
typedef enum via { ITSELF, SLOT, STUB } via;
typedef enum field {
  WORD64,
  WORD32,   /* signed or unsigned */
  WORD16,   /* the same */
  SIGNED32, /* a distance */
  ADR21,    /* AArch64: an instruction's bits 5..23 and 29..30 */
  ADRP21,   /* the same, in pages */
  LOW12,    /* bits 10..21: the last 12 bits, in units of 1 << shift bytes */
  BITS26,   /* bits 0..25, 5..23, 5..18: a distance in instructions */
  BITS19,
  BITS14,
} field;

typedef struct reloc_rule {
  const char *name; /* NULL: not supported */
  formula formula;
  field field;
  via via;
  int shift;
} reloc_rule;

static const reloc_rule x86_64[] = {
    [R_X86_64_NONE] = {"NONE", NOTHING, WORD16, ITSELF, 0},
    [R_X86_64_64] = {"64", ABSOLUTE, WORD64, ITSELF, 0},
    [R_X86_64_PC32] = {"PC32", RELATIVE, SIGNED32, ITSELF, 0},
    [R_X86_64_PLT32] = {"PLT32", RELATIVE, SIGNED32, STUB, 0},
    [R_X86_64_GOTPCREL] = {"GOTPCREL", RELATIVE, SIGNED32, SLOT, 0},
    [R_X86_64_32] = {"32", ABSOLUTE, WORD32, ITSELF, 0},
    [R_X86_64_32S] = {"32S", ABSOLUTE, SIGNED32, ITSELF, 0},
    [R_X86_64_16] = {"16", ABSOLUTE, WORD16, ITSELF, 0},
    [R_X86_64_PC64] = {"PC64", RELATIVE, WORD64, ITSELF, 0},
    [R_X86_64_GOTPCRELX] = {"GOTPCRELX", RELATIVE, SIGNED32, SLOT, 0},
    [R_X86_64_REX_GOTPCRELX] = {"REX_GOTPCRELX", RELATIVE, SIGNED32, SLOT, 0},
};

/* Missing in older versions of <elf.h>. */
enum { ARM_NONE_TOO = 256, ARM_PLT32 = 314, ARM_GOTPCREL32 = 315 };

static const reloc_rule aarch64[] = {
    [R_AARCH64_NONE] = {"NONE", NOTHING, WORD16, ITSELF, 0},
    [ARM_NONE_TOO] = {"NONE", NOTHING, WORD16, ITSELF, 0},
    [R_AARCH64_ABS64] = {"ABS64", ABSOLUTE, WORD64, ITSELF, 0},
    [R_AARCH64_ABS32] = {"ABS32", ABSOLUTE, WORD32, ITSELF, 0},
    [R_AARCH64_ABS16] = {"ABS16", ABSOLUTE, WORD16, ITSELF, 0},
    [R_AARCH64_PREL64] = {"PREL64", RELATIVE, WORD64, ITSELF, 0},
    [R_AARCH64_PREL32] = {"PREL32", RELATIVE, SIGNED32, ITSELF, 0},
    [R_AARCH64_PREL16] = {"PREL16", RELATIVE, WORD16, ITSELF, 0},
    [R_AARCH64_LD_PREL_LO19] = {"LD_PREL_LO19", RELATIVE, BITS19, ITSELF, 0},
    [R_AARCH64_ADR_PREL_LO21] = {"ADR_PREL_LO21", RELATIVE, ADR21, ITSELF, 0},
    [R_AARCH64_ADR_PREL_PG_HI21] = {"ADR_PREL_PG_HI21", PAGES, ADRP21, ITSELF, 0},
    [R_AARCH64_ADR_PREL_PG_HI21_NC] = {"ADR_PREL_PG_HI21_NC", PAGES, ADRP21, ITSELF, 0},
    [R_AARCH64_ADD_ABS_LO12_NC] = {"ADD_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 0},
    [R_AARCH64_LDST8_ABS_LO12_NC] = {"LDST8_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 0},
    [R_AARCH64_LDST16_ABS_LO12_NC] = {"LDST16_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 1},
    [R_AARCH64_LDST32_ABS_LO12_NC] = {"LDST32_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 2},
    [R_AARCH64_LDST64_ABS_LO12_NC] = {"LDST64_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 3},
    [R_AARCH64_LDST128_ABS_LO12_NC] = {"LDST128_ABS_LO12_NC", ABSOLUTE, LOW12, ITSELF, 4},
    [R_AARCH64_TSTBR14] = {"TSTBR14", RELATIVE, BITS14, STUB, 0},
    [R_AARCH64_CONDBR19] = {"CONDBR19", RELATIVE, BITS19, STUB, 0},
    [R_AARCH64_JUMP26] = {"JUMP26", RELATIVE, BITS26, STUB, 0},
    [R_AARCH64_CALL26] = {"CALL26", RELATIVE, BITS26, STUB, 0},
    [R_AARCH64_ADR_GOT_PAGE] = {"ADR_GOT_PAGE", PAGES, ADRP21, SLOT, 0},
    [R_AARCH64_LD64_GOT_LO12_NC] = {"LD64_GOT_LO12_NC", ABSOLUTE, LOW12, SLOT, 3},
    [ARM_PLT32] = {"PLT32", RELATIVE, SIGNED32, STUB, 0},
    [ARM_GOTPCREL32] = {"GOTPCREL32", RELATIVE, SIGNED32, SLOT, 0},
};

static const reloc_rule *find_rule(const linker *l, const object *o, const section *s, uint32_t type) {
  bool arm = l->machine == EM_AARCH64;
  const reloc_rule *rules = arm ? aarch64 : x86_64;
  if (type >= (arm ? MW_COUNT(aarch64) : MW_COUNT(x86_64)) || !rules[type].name)
    object_bad(o, "relocation %u in %s is not supported", type, s->name);
  return &rules[type];
}

/* Report a relocation that cannot be applied. A symbol without a name is identified by its section. */
static _Noreturn void refuse(const object *o, const section *s, const reloc_rule *r, const symbol *about,
                             const char *why) {
  const char *name = *about->name                        ? about->name
                     : about->section < o->section_count ? o->sections[about->section].name
                                                         : "?";
  object_bad(o, "relocation %s of '%s' in %s %s", r->name, name ? name : "?", s->name, why);
}

static bool is_loaded(const section *s) { return s->flags & SHF_ALLOC; }

/* ---- scanning: slots, stubs and dynamic relocations that are needed ---- */

static uint32_t *slot_of(symbol *s) { return s->global ? &s->global->slot : &s->slot; }

static bool is_fixed(const object *o, const symbol *s) {
  const symbol *definition = symbol_definition(&o, s);
  return definition && definition->section == SHN_ABS;
}

static void require_slot(linker *l, const object *o, symbol *s) {
  if (*slot_of(s)) return;
  *slot_of(s) = (uint32_t)++l->slot_count;
  if (s->global && !s->global->definition)
    l->symbolic_count++;
  else if (!is_fixed(o, s))
    l->relative_count++;
}

static void require_stub(linker *l, const object *o, symbol *s) {
  if (!s->global || s->global->definition || s->global->stub) return;
  s->global->stub = (uint32_t)++l->stub_count;
  require_slot(l, o, s);
}

void count_relocations(linker *l, const object *o, const section *s) {
  if (!is_loaded(s)) return;
  for (size_t i = 0; i < s->relocation_count; i++) {
    Elf64_Rela r = relocation_at(s, i);
    const reloc_rule *rule = find_rule(l, o, s, ELF64_R_TYPE(r.r_info));
    if (rule->formula == NOTHING) continue;
    symbol *about = relocation_symbol(o, s, r);
    if (rule->via == SLOT) require_slot(l, o, about);
    if (rule->via == STUB) require_stub(l, o, about);
    if (rule->via != ITSELF || rule->formula != ABSOLUTE || rule->field != WORD64) continue;
    if (about->global && !about->global->definition)
      l->symbolic_count++;
    else if (!is_fixed(o, about))
      l->relative_count++;
  }
}

/* ---- dynamic relocations ---- */

static void add_dynamic(linker *l, uint64_t address, const global *import, int64_t addend, bool in_slot) {
  bool arm = l->machine == EM_AARCH64;
  uint32_t type = !import   ? (arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE)
                  : in_slot ? (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT)
                            : (arm ? R_AARCH64_ABS64 : R_X86_64_64);
  Elf64_Rela entry = {.r_offset = address, .r_info = ELF64_R_INFO(0, type), .r_addend = addend};
  if (import) entry.r_info = ELF64_R_INFO((uint64_t)import->dynamic, type);
  if (import ? l->symbolics == l->symbolic_count : l->relatives == l->relative_count)
    die("internal: more dynamic relocations than were counted: use the system's linker, MOONWARP_LD=ld");
  if (import)
    l->symbolic[l->symbolics++] = entry;
  else
    l->relative[l->relatives++] = entry;
}

/* ---- encodings of fields ---- */

static uint32_t load32(const unsigned char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static void store32(unsigned char *at, uint32_t word) { memcpy(at, &word, sizeof word); }

static void put_bits(unsigned char *at, uint64_t value, int low, int count) {
  uint32_t mask = ((UINT32_C(1) << count) - 1) << low;
  store32(at, (load32(at) & ~mask) | ((uint32_t)value << low & mask));
}

static bool fits(int64_t value, int bits) {
  return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

/* Write a distance between instructions into `bits` bits of the instruction, from bit `low` on. */
static bool put_distance(unsigned char *at, int64_t value, int low, int bits) {
  if (value & 3 || !fits(value, bits + 2)) return false;
  put_bits(at, (uint64_t)value >> 2, low, bits);
  return true;
}

static bool put_adr(unsigned char *at, int64_t value) {
  if (!fits(value, 21)) return false;
  put_bits(at, (uint64_t)value & 3, 29, 2);
  put_bits(at, (uint64_t)value >> 2, 5, 19);
  return true;
}

static bool put_low(unsigned char *at, uint64_t value, int shift) {
  uint64_t low = value & 4095;
  if (low & ((UINT64_C(1) << shift) - 1)) return false; /* not a multiple of the instruction's unit */
  put_bits(at, low >> shift, 10, 12);
  return true;
}

/* Returns false if the value does not fit. */
static bool put_value(unsigned char *at, const reloc_rule *r, uint64_t value) {
  int64_t distance = (int64_t)value;
  switch (r->field) {
  case WORD64: memcpy(at, &value, sizeof value); return true;
  case WORD32: store32(at, (uint32_t)value); return fits(distance, 32) || value <= UINT32_MAX;
  case SIGNED32: store32(at, (uint32_t)value); return fits(distance, 32);
  case WORD16:
    memcpy(at, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
    return fits(distance, 16) || value <= UINT16_MAX;
  case ADR21: return put_adr(at, distance);
  case ADRP21: return put_adr(at, distance >> 12);
  case LOW12: return put_low(at, value, r->shift);
  case BITS26: return put_distance(at, distance, 0, 26);
  case BITS19: return put_distance(at, distance, 5, 19);
  case BITS14: return put_distance(at, distance, 5, 14);
  }
  return false;
}

static uint64_t bytes_of(const reloc_rule *r) { return r->field == WORD64 ? 8 : r->field == WORD16 ? 2 : 4; }

/* ---- values ---- */

static uint64_t slot_address(const linker *l, uint32_t slot) { return l->slots->address + 8 * (uint64_t)(slot - 1); }

static uint64_t stub_bytes(const linker *l) { return l->machine == EM_AARCH64 ? 16 : 8; }

static uint64_t stub_address(const linker *l, uint32_t stub) { return l->stubs->address + stub_bytes(l) * (stub - 1); }

/* The value in debug information for addresses of dropped sections: 0, or 1 in lists of ranges, which a 0 would end. */
static uint64_t tombstone(const section *s) {
  return strcmp(s->name, ".debug_ranges") == 0 || strcmp(s->name, ".debug_loc") == 0;
}

/* The address that the relocation refers to. Returns false if *address is the value to write as it is, a tombstone. */
static bool find_address(linker *l, const object *o, const section *s, const reloc_rule *rule, symbol *about,
                         uint64_t *address) {
  const object *owner = o;
  const symbol *definition = symbol_definition(&owner, about);
  if (rule->via == SLOT && is_loaded(s)) {
    *address = slot_address(l, *slot_of(about));
    return true;
  }
  if (!definition && rule->via == STUB && is_loaded(s)) {
    *address = stub_address(l, about->global->stub);
    return true;
  }
  if (definition && definition_address(l, owner, definition, address)) return true;
  if (!is_loaded(s)) {
    *address = tombstone(s);
    return false;
  }
  if (definition) refuse(o, s, rule, about, "refers to a section that is not in the module");
  if (rule->formula != ABSOLUTE || rule->field != WORD64)
    refuse(o, s, rule, about, "is relative to a symbol outside the module");
  *address = 0;
  return true;
}

void relocate(linker *l, const object *o, const section *s, Elf64_Rela r, unsigned char *at, uint64_t size,
              uint64_t address) {
  const reloc_rule *rule = find_rule(l, o, s, ELF64_R_TYPE(r.r_info));
  if (rule->formula == NOTHING) return;
  symbol *about = relocation_symbol(o, s, r);
  uint64_t value = 0;
  if (bytes_of(rule) > size) refuse(o, s, rule, about, "lies outside the section");
  if (!find_address(l, o, s, rule, about, &value)) {
    put_value(at, rule, value);
    return;
  }
  value += (uint64_t)r.r_addend;
  if (is_loaded(s) && rule->formula == ABSOLUTE && rule->field != LOW12 && rule->via == ITSELF && !is_fixed(o, about)) {
    if (rule->field != WORD64) refuse(o, s, rule, about, "is too narrow for an address");
    if (!(s->flags & SHF_WRITE))
      refuse(o, s, rule, about, "has to be applied by the dynamic linker, in a section that is not writable");
    const global *import = about->global && !about->global->definition ? about->global : NULL;
    add_dynamic(l, address, import, import ? r.r_addend : (int64_t)value, false);
    value = 0;
  }
  const uint64_t page = ~UINT64_C(4095);
  if (rule->formula == RELATIVE) value -= address;
  if (rule->formula == PAGES) value = (value & page) - (address & page);
  if (!put_value(at, rule, value)) refuse(o, s, rule, about, "is out of range or not aligned");
}

void relocate_section(linker *l, const object *o, const section *s) {
  if (!s->output) return;
  unsigned char *start = l->image + s->output->offset + s->offset;
  uint64_t address = s->output->address + s->offset;
  for (size_t i = 0; i < s->relocation_count; i++) {
    Elf64_Rela r = relocation_at(s, i);
    uint64_t left = r.r_offset < s->size ? s->size - r.r_offset : 0;
    relocate(l, o, s, r, start + (left ? r.r_offset : 0), left, address + r.r_offset);
  }
}

/* ---- stubs, and the global offset table ---- */

static void write_stub(const linker *l, const global *g) {
  uint64_t place = stub_address(l, g->stub), slot = slot_address(l, g->slot);
  unsigned char *at = l->image + l->stubs->offset + (place - l->stubs->address);
  if (l->machine == EM_AARCH64) {
    static const uint32_t code[] = {0x90000010,  /* adrp x16, slot */
                                    0xf9400211,  /* ldr x17, [x16, slot] */
                                    0xd61f0220,  /* br x17 */
                                    0xd503201f}; /* nop */
    memcpy(at, code, sizeof code);
    put_adr(at, (int64_t)((slot >> 12) - (place >> 12)));
    put_low(at + 4, slot, 3);
  } else {
    static const unsigned char code[] = {0xff, 0x25, 0, 0, 0, 0, 0x66, 0x90}; /* jmp *slot(%rip); nop */
    memcpy(at, code, sizeof code);
    store32(at + 2, (uint32_t)(slot - (place + 6)));
  }
}

void write_stubs(linker *l) {
  for (size_t i = 0; i < l->global_count; i++)
    if (l->globals[i]->stub) write_stub(l, l->globals[i]);
}

static void write_slot(linker *l, const object *o, symbol *s, uint32_t slot) {
  uint64_t place = slot_address(l, slot), value;
  const symbol *definition = symbol_definition(&o, s);
  if (!definition) {
    add_dynamic(l, place, s->global, 0, true);
  } else if (!definition_address(l, o, definition, &value)) {
    object_bad(o, "'%s', whose address is used, is not in the module", definition->name);
  } else if (is_fixed(o, definition)) {
    memcpy(l->image + l->slots->offset + (place - l->slots->address), &value, sizeof value);
  } else {
    add_dynamic(l, place, NULL, (int64_t)value, false);
  }
}

/* Write each slot once, for the first symbol that refers to it. */
void write_slots(linker *l) {
  bool *done = mw_alloc(l->slot_count + 1);
  for (size_t n = 0; n < l->object_count; n++) {
    object *o = l->objects[n];
    for (size_t i = 0; i < o->symbol_count; i++) {
      uint32_t slot = *slot_of(&o->symbols[i]);
      if (!slot || done[slot]) continue;
      done[slot] = true;
      write_slot(l, o, &o->symbols[i], slot);
    }
  }
}
