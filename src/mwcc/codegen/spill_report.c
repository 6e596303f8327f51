/* mwcc --report=spills: the size of a kernel's code, and register spills by source line.
 *
 * LLVM marks spills and reloads in comments of the assembly text ("Spill", "Reload"), also where they are folded into
 * other instructions. Spilled values have no names at that point, so they are counted by the instructions' source
 * lines. */
#include "mwcc/analysis/simt.h"
#include "codegen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
  unsigned line, spills, reloads;
} tally;

typedef struct function_code {
  char *name;
  unsigned instructions;
  tally *lines;
  size_t line_count;
} function_code;

static tally *tally_of(function_code *f, unsigned line) {
  for (size_t i = 0; i < f->line_count; i++)
    if (f->lines[i].line == line) return &f->lines[i];
  f->lines = mw_realloc(f->lines, (f->line_count + 1) * sizeof *f->lines);
  f->lines[f->line_count] = (tally){.line = line};
  return &f->lines[f->line_count++];
}

static int by_line(const void *left, const void *right) {
  const tally *a = left, *b = right;
  return (a->line > b->line) - (a->line < b->line);
}

static void write_code(function_code *f, FILE *out) {
  if (!f->instructions) return; /* data */
  fprintf(out, "code %s: %u instructions\n", f->name, f->instructions);
  if (f->line_count) qsort(f->lines, f->line_count, sizeof *f->lines, by_line);
  for (size_t i = 0; i < f->line_count; i++) {
    char where[16] = "";
    if (f->lines[i].line) snprintf(where, sizeof where, "%u", f->lines[i].line);
    fprintf(out, "%8s  spills: %u stores, %u reloads\n", where, f->lines[i].spills, f->lines[i].reloads);
  }
  if (!f->line_count) fprintf(out, "%8s  no spills\n", "");
  free(f->name);
  free(f->lines);
  *f = (function_code){0};
}

/* A label that is not local begins a function. The text before the first one is data. */
static void read_line(function_code *f, const char *text, unsigned *line, FILE *out) {
  unsigned file, number;
  size_t name = strcspn(text, ":# \t");
  if (*text != '\t' && *text != '.' && *text != '#' && text[name] == ':') {
    write_code(f, out);
    f->name = mw_format("%.*s", (int)name, text);
    *line = 0;
    return;
  }
  if (sscanf(text, "\t.loc\t%u %u", &file, &number) == 2) *line = file == 1 ? number : 0;
  if (*text != '\t' || text[1] == '.' || text[1] == '#') return;
  f->instructions++;
  if (strstr(text, " Spill")) tally_of(f, *line)->spills++;
  if (strstr(text, " Reload")) tally_of(f, *line)->reloads++;
}

void report_spills(program *p, FILE *out) {
  LLVMSetTargetMachineAsmVerbosity(p->machine, 1);
  LLVMMemoryBufferRef assembly = generate(p, LLVMAssemblyFile);
  char *text = mw_format("%.*s", (int)LLVMGetBufferSize(assembly), LLVMGetBufferStart(assembly));
  function_code f = {0};
  unsigned line = 0;
  for (char *here = text, *next; here; here = next) {
    next = strchr(here, '\n');
    if (next) *next++ = '\0';
    read_line(&f, here, &line, out);
  }
  write_code(&f, out);
  free(text);
}
