/* A decoder of x86-64 instructions up to the memory operand (Intel's manual, volume 2, chapter 2): prefixes, opcode,
 * ModRM, SIB, displacement. Operands relative to the instruction pointer and segments are ignored, since they cannot be
 * wild. Only called for instructions that faulted, so invalid encodings need not be detected. */
#include "x86_operand.h"

#if defined(__x86_64__)

#include <string.h>

typedef struct instruction {
  const unsigned char *at; /* the next byte to read */
  unsigned map;            /* 0: one byte; 1: 0F; 2: 0F38; 3: 0F3A */
  unsigned pp;             /* 0, 1: 66, 2: F3, 3: F2 */
  unsigned opcode;
  unsigned reg, index, base; /* bits above those in ModRM and SIB: 0 or 8 */
  bool wide, vector, evex, broadcast;
  unsigned length; /* vector length: 0: 16 bytes, 1: 32, 2: 64 */
} instruction;

static void read_prefixes(instruction *i) {
  for (;; i->at++) {
    switch (*i->at) {
    case 0x66: i->pp = 1; break;
    case 0xf3: i->pp = 2; break;
    case 0xf2: i->pp = 3; break;
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x26:
    case 0x64:
    case 0x65:
    case 0x67:
    case 0xf0: break;
    default: return;
    }
  }
}

static void read_rex(instruction *i) {
  unsigned rex = *i->at;
  if ((rex & 0xf0) != 0x40) return;
  i->wide = rex & 8;
  i->reg = rex & 4 ? 8 : 0, i->index = rex & 2 ? 8 : 0, i->base = rex & 1 ? 8 : 0;
  i->at++;
}

/* VEX and EVEX carry the bits of REX inverted. */
static void read_vector_prefix(instruction *i) {
  const unsigned char *p = i->at;
  i->vector = true;
  i->reg = p[1] & 0x80 ? 0 : 8;
  i->map = 1;
  unsigned last = p[1];
  if (*p != 0xc5) {
    i->index = p[1] & 0x40 ? 0 : 8, i->base = p[1] & 0x20 ? 0 : 8;
    i->map = p[1] & 7;
    last = p[2];
    i->wide = last & 0x80;
  }
  i->pp = last & 3;
  i->evex = *p == 0x62;
  i->length = i->evex ? p[3] >> 5 & 3 : last >> 2 & 1;
  i->broadcast = i->evex && p[3] & 0x10;
  i->at += *p == 0xc5 ? 2 : *p == 0xc4 ? 3 : 4;
}

static void read_opcode(instruction *i) {
  read_prefixes(i);
  read_rex(i);
  if (*i->at == 0xc4 || *i->at == 0xc5 || *i->at == 0x62) {
    read_vector_prefix(i);
  } else if (*i->at == 0x0f) {
    i->map = i->at[1] == 0x38 ? 2 : i->at[1] == 0x3a ? 3 : 1;
    i->at += i->map == 1 ? 1 : 2;
  }
  i->opcode = *i->at++;
}

/* EVEX: one-byte displacements are scaled by the size of the memory operand. */
static int64_t unit(const instruction *i) {
  if (!i->evex) return 1;
  if (i->pp >= 2 || i->broadcast) return i->wide ? 8 : 4;
  return (int64_t)16 << i->length;
}

/* The address that ModRM encodes; false for a register or an address relative to the instruction pointer. */
static bool read_address(instruction *i, const uint64_t registers[16], uint64_t *address) {
  unsigned modrm = *i->at++, mode = modrm >> 6, low = modrm & 7;
  int32_t displacement = 0;
  bool based = true;
  if (mode == 3 || (mode == 0 && low == 5)) return false;
  *address = 0;
  if (low == 4) {
    unsigned sib = *i->at++, index = (sib >> 3 & 7) + i->index;
    low = sib & 7;
    if (index != 4) *address = registers[index] << (sib >> 6);
    based = mode != 0 || low != 5;
  }
  if (based) *address += registers[low + i->base];
  if (mode == 2 || !based)
    memcpy(&displacement, i->at, sizeof displacement);
  else if (mode == 1)
    displacement = (int8_t)*i->at;
  *address += (uint64_t)(mode == 1 ? displacement * unit(i) : displacement);
  return true;
}

static bool has_modrm(const instruction *i) {
  unsigned o = i->opcode;
  if (i->map > 0) return true;
  if (o < 0x40) return (o & 7) < 4;
  return o == 0x63 || o == 0x69 || o == 0x6b || (o >= 0x80 && o < 0x90) || (o & 0xfe) == 0xc0 || (o & 0xfe) == 0xc6 ||
         (o & 0xfc) == 0xd0 || (o & 0xf8) == 0xd8 || (o & 0xf6) == 0xf6;
}

/* Whether a one-byte opcode writes memory; some opcodes encode the operation in ModRM. */
static bool is_plain_store(unsigned opcode, unsigned modrm) {
  unsigned what = modrm >> 3 & 7;
  if (opcode < 0x40) return opcode < 0x38 && (opcode & 7) < 2;                           /* add … xor, not cmp */
  if (opcode < 0x90) return opcode < 0x84 ? what != 7 : opcode >= 0x86 && opcode < 0x8a; /* the same; xchg, mov */
  if (opcode < 0xf0) return opcode < 0xd8;                  /* shifts and mov; the rest is x87 */
  return opcode < 0xf8 ? what == 2 || what == 3 : what < 2; /* not, neg; inc, dec */
}

/* With i->at at ModRM. */
static bool is_store(const instruction *i) {
  unsigned o = i->opcode;
  switch (i->map) {
  case 0: return is_plain_store(o, *i->at);
  case 1:
    return o == 0x11 || o == 0x13 || o == 0x17 || o == 0x29 || o == 0x2b || o == 0x7f || o == 0xd6 || o == 0xe7 ||
           (o == 0x7e && i->pp == 1) || (o & 0xfe) == 0xb0 || (o & 0xfe) == 0xc0 || o == 0xc7;
  case 2: return i->vector && o >= 0xa0 && o <= 0xa3;
  default: return false;
  }
}

/* Gathers and scatters. */
static bool has_lanes(const instruction *i) {
  return i->vector && i->map == 2 && ((i->opcode >= 0x90 && i->opcode <= 0x93) || is_store(i));
}

/* call and jmp: the target is in the register or in memory at the address. */
static operand jump(instruction *i, const uint64_t registers[16]) {
  operand out = {.use = OPERAND_JUMP};
  unsigned modrm = *i->at;
  if (modrm >> 6 == 3)
    out.address = registers[(modrm & 7) + i->base];
  else if (!read_address(i, registers, &out.address))
    out.use = OPERAND_UNKNOWN;
  return out;
}

operand operand_of(const unsigned char *code, const uint64_t registers[16]) {
  instruction i = {.at = code};
  operand out = {.use = OPERAND_UNKNOWN};
  read_opcode(&i);
  if (i.map == 0) {
    switch (i.opcode) {
    case 0xa4: /* movs */
    case 0xa5:
      if (!operand_is_wild(registers[7])) return (operand){.use = OPERAND_READ, .address = registers[6]};
      return (operand){.use = OPERAND_WRITE, .address = registers[7]};
    case 0xaa: /* stos */
    case 0xab: return (operand){.use = OPERAND_WRITE, .address = registers[7]};
    case 0xc2: /* ret */
    case 0xc3:
      memcpy(&out.address, (const void *)(uintptr_t)registers[4], sizeof out.address);
      out.use = OPERAND_JUMP;
      return out;
    case 0xff:
      if ((*i.at >> 3 & 7) >= 2 && (*i.at >> 3 & 7) <= 5) return jump(&i, registers);
      break;
    default: break;
    }
  }
  if (!has_modrm(&i)) return out;
  out.gather = has_lanes(&i);
  bool store = is_store(&i);
  if (out.gather || read_address(&i, registers, &out.address)) out.use = store ? OPERAND_WRITE : OPERAND_READ;
  return out;
}

#endif
