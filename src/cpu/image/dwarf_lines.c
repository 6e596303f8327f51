/* A reader of DWARF line tables, versions 2 to 5 (DWARF 5, section 6.2; mwcc writes version 4).
 *
 * A line table is a program for a state machine whose registers are an address, a file, a line and a column. It emits
 * rows; row i applies to the addresses up to that of row i+1. Rows up to an end mark form a sequence. The table may be
 * damaged: everything is read through a cursor that stops at the table's end and records that it did. */
#include "dwarf_lines.h"

#include <stdio.h>
#include <string.h>

/* ---- the cursor ---- */

typedef struct cursor {
  const unsigned char *at, *end;
  bool bad; /* a read went past the end; all later reads return 0 */
} cursor;

static cursor cursor_over(elf_bytes bytes) {
  const unsigned char *start = bytes.data ? bytes.data : (const unsigned char *)"";
  return (cursor){start, start + bytes.size, false};
}
static size_t left(const cursor *c) { return (size_t)(c->end - c->at); }

static void stop(cursor *c) {
  c->bad = true;
  c->at = c->end;
}

static void skip(cursor *c, uint64_t bytes) {
  if (bytes > left(c))
    stop(c);
  else
    c->at += bytes;
}

/* An unsigned number of 1 to 8 bytes; both processors are little-endian. */
static uint64_t number(cursor *c, size_t bytes) {
  uint64_t value = 0;
  if (bytes > left(c) || bytes > sizeof value) {
    stop(c);
    return 0;
  }
  memcpy(&value, c->at, bytes);
  c->at += bytes;
  return value;
}

static uint64_t uleb(cursor *c) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint64_t byte = number(c, 1);
    if (shift < 64) value |= (byte & 127) << shift;
    if (!(byte & 128)) return value;
  }
}

static int64_t sleb(cursor *c) {
  uint64_t value = 0, byte;
  unsigned shift = 0;
  do {
    byte = number(c, 1);
    if (shift < 64) value |= (byte & 127) << shift;
    shift += 7;
  } while (byte & 128);
  if (shift < 64 && byte & 64) value |= ~UINT64_C(0) << shift;
  return (int64_t)value;
}

/* A string in place; "" at the end. */
static const char *string(cursor *c) {
  const unsigned char *start = c->at, *end = left(c) ? memchr(start, 0, left(c)) : NULL;
  if (!end) {
    stop(c);
    return "";
  }
  c->at = end + 1;
  return (const char *)start;
}

/* ---- one unit's header ---- */

enum {
  FORM_BLOCK2 = 3,
  FORM_BLOCK4,
  FORM_DATA2,
  FORM_DATA4,
  FORM_DATA8,
  FORM_STRING,
  FORM_BLOCK,
  FORM_BLOCK1,
  FORM_DATA1
};
enum { FORM_STRP = 14, FORM_UDATA, FORM_DATA16 = 30, FORM_LINE_STRP };
enum { CONTENT_PATH = 1, CONTENT_DIRECTORY };

typedef struct unit {
  elf_bytes line_strings, strings; /* .debug_line_str and .debug_str */
  int version;
  size_t word; /* 4, or 8 in the 64-bit format */
  unsigned min_instruction, line_range, opcode_base;
  int line_base;
  const unsigned char *lengths; /* of standard opcodes' operands */
  cursor tables;                /* folders and files */
  cursor program;
} unit;

/* The format of an entry of a version 5 table: pairs of a content type and a form. */
typedef struct entry {
  const char *path;
  uint64_t directory;
} entry;

static const char *string_at(elf_bytes section, uint64_t offset) {
  cursor c = cursor_over(section);
  skip(&c, offset);
  return string(&c);
}

static void read_form(const unit *u, cursor *c, uint64_t form, const char **text, uint64_t *value) {
  switch (form) {
  case FORM_STRING: *text = string(c); break;
  case FORM_LINE_STRP: *text = string_at(u->line_strings, number(c, u->word)); break;
  case FORM_STRP: *text = string_at(u->strings, number(c, u->word)); break;
  case FORM_UDATA: *value = uleb(c); break;
  case FORM_DATA1: *value = number(c, 1); break;
  case FORM_DATA2: *value = number(c, 2); break;
  case FORM_DATA4: *value = number(c, 4); break;
  case FORM_DATA8: *value = number(c, 8); break;
  case FORM_DATA16: skip(c, 16); break; /* an MD5 sum */
  case FORM_BLOCK: skip(c, uleb(c)); break;
  case FORM_BLOCK1: skip(c, number(c, 1)); break;
  case FORM_BLOCK2: skip(c, number(c, 2)); break;
  case FORM_BLOCK4: skip(c, number(c, 4)); break;
  default: stop(c); /* unknown, and so of unknown length */
  }
}

/* Read a version 5 table up to entry `index` (or all of it); true if the table has that entry. */
static bool read_table(const unit *u, cursor *c, uint64_t index, entry *out) {
  uint64_t pairs = number(c, 1);
  cursor format = *c;
  for (uint64_t i = 0; i < 2 * pairs; i++) uleb(c);
  uint64_t count = pairs ? uleb(c) : 0;
  bool found = false;
  for (uint64_t i = 0; i < count && !c->bad; i++) {
    cursor f = format;
    entry e = {"", 0};
    for (uint64_t pair = 0; pair < pairs; pair++) {
      uint64_t content = uleb(&f), form = uleb(&f), value = 0;
      const char *text = "";
      read_form(u, c, form, &text, &value);
      if (content == CONTENT_PATH) e.path = text;
      if (content == CONTENT_DIRECTORY) e.directory = value;
    }
    if (i == index && !c->bad) {
      *out = e;
      found = true;
    }
  }
  return found;
}

/* Folder 0 is the compiler's working directory: it is not part of a name that was passed to the compiler. */
static void make_path(const char *folder, uint64_t index, const char *name, char *out, size_t size) {
  if (index == 0 || !*folder || *name == '/')
    snprintf(out, size, "%s", name);
  else
    snprintf(out, size, "%s/%s", folder, name);
}

static bool file_name_5(const unit *u, uint64_t index, char *out, size_t size) {
  cursor c = u->tables, again = u->tables;
  entry file, folder = {"", 0};
  read_table(u, &c, UINT64_MAX, &file);
  if (!read_table(u, &c, index, &file)) return false;
  read_table(u, &again, file.directory, &folder);
  make_path(folder.path, file.directory, file.path, out, size);
  return true;
}

/* Versions 2 to 4: folders numbered from 1, ended by an empty one; then files likewise. */
static bool file_name_4(const unit *u, uint64_t index, char *out, size_t size) {
  cursor c = u->tables;
  while (*string(&c)) {}
  for (uint64_t i = 1; !c.bad; i++) {
    const char *name = string(&c), *path = "";
    if (!*name) return false;
    uint64_t folder = uleb(&c);
    uleb(&c); /* time */
    uleb(&c); /* length */
    if (i != index) continue;
    cursor folders = u->tables;
    for (uint64_t k = 0; k < folder && !folders.bad; k++) {
      path = string(&folders);
      if (!*path) return false;
    }
    make_path(path, folder, name, out, size);
    return true;
  }
  return false;
}

/* ---- the program ---- */

typedef struct row {
  uint64_t address, file;
  int64_t line, column;
} row;

enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, NEGATE, BASIC_BLOCK, CONST_ADD_PC, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

typedef struct machine {
  row now;      /* the registers */
  row previous; /* the row emitted last in this sequence */
  row named;    /* the last one with a line: instructions without a line belong to the code before them */
  bool started; /* whether the sequence has a row */
  bool live;    /* false in the sequence of a function that the linker discarded: its address is 0 */
} machine;

static void begin_sequence(machine *m) { *m = (machine){.now = {.file = 1, .line = 1}, .live = true}; }

/* Emit a row: true if the wanted address lies between the previous row and this one. */
static bool emit(machine *m, uint64_t address) {
  bool found = m->started && m->live && m->previous.address <= address && address < m->now.address;
  if (found) return true;
  m->previous = m->now;
  m->started = true;
  if (m->now.line > 0) m->named = m->now;
  return false;
}

static void advance(const unit *u, machine *m, uint64_t operations) {
  m->now.address += operations * u->min_instruction;
}

/* Add with wrap-around, since a damaged table may contain any numbers. */
static void add_line(machine *m, int64_t by) { m->now.line = (int64_t)((uint64_t)m->now.line + (uint64_t)by); }

static bool extended(cursor *c, machine *m, uint64_t address) {
  uint64_t length = uleb(c);
  if (length == 0 || length > left(c)) {
    stop(c);
    return false;
  }
  cursor operand = {c->at, c->at + length, false};
  skip(c, length);
  switch (number(&operand, 1)) {
  case END_SEQUENCE:
    if (emit(m, address)) return true;
    begin_sequence(m);
    break;
  case SET_ADDRESS:
    m->now.address = number(&operand, left(&operand));
    m->live = m->now.address != 0;
    break;
  default: break; /* a discriminator, or a vendor extension */
  }
  return false;
}

static bool standard(const unit *u, cursor *c, machine *m, unsigned opcode, uint64_t address) {
  switch (opcode) {
  case COPY: return emit(m, address);
  case ADVANCE_PC: advance(u, m, uleb(c)); break;
  case ADVANCE_LINE: add_line(m, sleb(c)); break;
  case SET_FILE: m->now.file = uleb(c); break;
  case SET_COLUMN: m->now.column = (int64_t)uleb(c); break;
  case CONST_ADD_PC: advance(u, m, (255 - u->opcode_base) / u->line_range); break;
  case FIXED_ADVANCE_PC: m->now.address += number(c, 2); break;
  default:
    for (unsigned i = 0; i < u->lengths[opcode - 1]; i++) uleb(c);
  }
  return false;
}

/* Run the program until a row covers `address`, which is in the function that starts at `start`. */
static bool run(const unit *u, uint64_t address, uint64_t start, row *out) {
  machine m;
  begin_sequence(&m);
  cursor c = u->program;
  while (left(&c)) {
    unsigned opcode = (unsigned)number(&c, 1);
    bool found;
    if (opcode >= u->opcode_base) {
      advance(u, &m, (opcode - u->opcode_base) / u->line_range);
      add_line(&m, u->line_base + (int64_t)((opcode - u->opcode_base) % u->line_range));
      found = emit(&m, address);
    } else {
      found = opcode ? standard(u, &c, &m, opcode, address) : extended(&c, &m, address);
    }
    if (!found) continue;
    *out = m.previous.line > 0 ? m.previous : m.named;
    if (m.previous.line <= 0 && out->address < start) return false; /* another function's */
    return out->line > 0 && out->line <= INT32_MAX;
  }
  return false;
}

/* Read the header of the unit at the cursor, and advance the cursor past the unit. */
static bool read_unit(cursor *section, unit *u) {
  uint64_t length = number(section, 4);
  u->word = length == 0xffffffff ? 8 : 4;
  if (u->word == 8) length = number(section, 8);
  if (length > left(section)) {
    stop(section);
    return false;
  }
  cursor c = {section->at, section->at + length, false};
  skip(section, length);
  u->version = (int)number(&c, 2);
  if (u->version < 2 || u->version > 5) return false;
  if (u->version == 5) skip(&c, 2); /* sizes of addresses and segment selectors */
  uint64_t header = number(&c, u->word);
  if (header > left(&c)) return false;
  u->program = (cursor){c.at + header, c.end, false};
  c.end = u->program.at;
  u->min_instruction = (unsigned)number(&c, 1);
  if (u->version >= 4) skip(&c, 1); /* operations an instruction: 1 on these processors */
  skip(&c, 1);                      /* is_stmt */
  u->line_base = (int8_t)number(&c, 1);
  u->line_range = (unsigned)number(&c, 1);
  u->opcode_base = (unsigned)number(&c, 1);
  if (c.bad || u->line_range == 0 || u->opcode_base == 0) return false;
  u->lengths = c.at;
  skip(&c, u->opcode_base - 1);
  u->tables = c;
  return !c.bad;
}

bool lines_find(elf_bytes file, uint64_t address, line_position *out) {
  uint64_t start = elf_function(file, address);
  elf_bytes lines;
  unit u = {0};
  if (!elf_section(file, ".debug_line", &lines)) return false;
  elf_section(file, ".debug_line_str", &u.line_strings);
  elf_section(file, ".debug_str", &u.strings);
  for (cursor section = cursor_over(lines); left(&section);) {
    row found;
    if (!read_unit(&section, &u) || !run(&u, address, start, &found)) continue;
    out->line = (int)found.line;
    out->column = found.column > 0 && found.column <= INT32_MAX ? (int)found.column : 0;
    return u.version == 5 ? file_name_5(&u, found.file, out->file, sizeof out->file)
                          : file_name_4(&u, found.file, out->file, sizeof out->file);
  }
  return false;
}
