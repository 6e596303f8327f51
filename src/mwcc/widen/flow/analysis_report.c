/* The results of the analyses as text (mwcc --dump=graph|shapes|rows|plane|live, and --report): why an access is a
 * gather, which branches are divergent, which values are live across a barrier. One line a fact: position in the
 * source, result, instruction. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/read/read.h"
#include "mwcc/divergence/access_predicates.h"
#include "mwcc/divergence/division_method.h"
#include "mwcc/divergence/access_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* The instructions as LLVM writes them, by number. The function is printed as a whole, since LLVM numbers all unnamed
   values of a function again for each single one that is printed. An instruction's line is the one that is indented. */
static char **print_instructions(const graph *g) {
  char *printed = LLVMPrintValueToString(g->function);
  char **texts = mw_alloc((size_t)(g->value_count + 1) * sizeof *texts);
  int number = 0;
  for (char *line = printed, *next; line && number < g->value_count; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (strncmp(line, "  ", 2) != 0 || line[2] == ' ' || line[2] == '#') continue;
    char *end = strstr(line, ", !");
    if (end) *end = 0;
    if (LLVMIsACallInst(g->values[number]) && (end = strstr(line, " #"))) *end = 0;
    texts[number++] = mw_strdup(line + 2);
  }
  LLVMDisposeMessage(printed);
  return texts;
}

static void free_texts(const graph *g, char **texts) {
  for (int i = 0; i < g->value_count; i++) free(texts[i]);
  free(texts);
}

static const char *position_of(LLVMValueRef value) {
  static char text[32];
  const char *file;
  unsigned line, column;
  text[0] = 0;
  if (program_position(value, &file, &line, &column)) snprintf(text, sizeof text, "%u:%u", line, column);
  return text;
}

static void write_line(FILE *out, LLVMValueRef value, const char *found, const char *text) {
  fprintf(out, "%8s  %-44s  %s\n", position_of(value), found, text ? text : "");
}

static void write_node_name(FILE *out, const graph *g, int n) {
  const char *name = LLVMGetBasicBlockName(g->nodes[n].block);
  fprintf(out, "n%d%s%s", n, *name ? " " : "", name);
}

static const char *name_of(LLVMValueRef function) {
  size_t length;
  return LLVMGetValueName2(function, &length);
}

static const char *kernel_name(const graph *g) {
  for (size_t i = 0; i < g->program->kernel_count; i++)
    if (g->program->kernels[i].body == g->function) return g->program->kernels[i].name;
  return name_of(g->function);
}

/* ---- the graph ---- */

static void write_edges(FILE *out, const graph *g, int n) {
  const node *here = &g->nodes[n];
  for (int s = 0; s < here->succ_count; s++) fprintf(out, "%s n%d", s ? "," : " ->", here->succs[s]);
  if (here->barrier) fputs(", after a barrier", out);
  if (here->returns) fputs(", returns", out);
  if (!here->succ_count && !here->returns) fputs(", ends the launch", out);
}

void report_graph(const graph *g, const order *o, FILE *out) {
  fprintf(out, "kernel %s: %d nodes, %d loops%s\n", kernel_name(g), g->count, o->loop_count,
          o->reducible ? "" : ", irreducible");
  for (int i = 0; i < o->rpo_count; i++) {
    int n = o->rpo[i];
    write_node_name(out, g, n);
    write_edges(out, g, n);
    fprintf(out, "; dominated by n%d", o->idom[n]);
    if (o->ipdom[n] >= 0) fprintf(out, ", post-dominated by n%d", o->ipdom[n]);
    if (o->innermost[n] >= 0) {
      const loop *l = &o->loops[o->innermost[n]];
      fprintf(out, ", in loop n%d at depth %d%s", l->header, l->depth, l->header == n ? " (header)" : "");
    }
    fputc('\n', out);
  }
}

/* ---- shapes ---- */

static void describe(shape s, char *text, size_t size) {
  static const char *const kinds[] = {"dead",   "block-uniform", "raced",  "gang-uniform",
                                      "affine", "vector-affine", "varying"};
  int used = snprintf(text, size, "%s", kinds[s.kind]);
  if (s.kind == SHAPE_AFFINE || s.kind == SHAPE_VECTOR_AFFINE)
    used += snprintf(text + used, size - (size_t)used, " %lld", (long long)s.stride);
  if (s.kind == SHAPE_AFFINE && s.step)
    used += snprintf(text + used, size - (size_t)used, " and %lld", (long long)s.step);
  if (s.align && s.align < 63 && s.kind != SHAPE_VARYING)
    used += snprintf(text + used, size - (size_t)used, ", multiple of %llu", 1ull << s.align);
  if (s.no_wrap) used += snprintf(text + used, size - (size_t)used, ", no wrap");
  if (s.positive && s.kind >= SHAPE_AFFINE) snprintf(text + used, size - (size_t)used, ", positive");
}

/* The access class. `what` is "load" or "store". */
static char *describe_place(const shapes *s, LLVMValueRef address, long long bytes, const char *what) {
  bool load = strcmp(what, "load") == 0;
  shape a = shape_of(s, address);
  if (is_uniform_kind(a.kind)) return mw_strdup(load ? "broadcast load" : "store by one lane");
  bool strided = a.kind == SHAPE_AFFINE || a.kind == SHAPE_VECTOR_AFFINE;
  if (strided && a.stride == 0)
    return mw_format(load ? "broadcast load in each vector" : "store by one lane of each vector");
  if (strided && a.stride == bytes) return mw_format("contiguous %s", what);
  if (strided && a.stride == -bytes) return mw_format("reversed %s", what);
  if (reaches_rows(s, address, (uint64_t)bytes))
    return mw_format("transposed %s, rows %lld bytes apart", what, (long long)a.stride);
  if (strided) return mw_format("%s with a stride of %lld bytes", what, (long long)a.stride);
  if (memory_of(address) == MEMORY_LOCAL) return mw_format("%s of local memory", what);
  return mw_strdup(load ? "gather" : "scatter");
}

/* The access class of a load or store, or the method of a division; NULL: neither. */
static char *describe_access(const shapes *s, LLVMValueRef i) {
  const char *division = describe_division(s, i);
  if (division) return mw_strdup(division);
  if (LLVMIsACallInst(i)) {
    if (starts_with(callee_name(i), PRIVATE_ADD)) return mw_strdup("privatised atomic of several blocks");
    const char *function = called_by_lanes(s->graph->program, i);
    if (function && shape_of(s, i).kind > SHAPE_GANG) return mw_format("serialised call of %s", function);
    bool copies = starts_with(callee_name(i), "llvm.memcpy.") || starts_with(callee_name(i), "llvm.memmove.");
    if (!copies || !LLVMIsAConstantInt(LLVMGetOperand(i, 2))) return NULL;
    long long bytes = LLVMConstIntGetSExtValue(LLVMGetOperand(i, 2));
    char *from = describe_place(s, LLVMGetOperand(i, 1), bytes, "load");
    char *to = describe_place(s, LLVMGetOperand(i, 0), bytes, "store"), *both = mw_format("%s, %s", from, to);
    free(from);
    free(to);
    return both;
  }
  if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) return mw_strdup(describe_atomic(s, i));
  bool load = LLVMIsALoadInst(i) != NULL;
  if (!load && !LLVMIsAStoreInst(i)) return NULL;
  const char *what = load ? "load" : "store";
  if (shape_of(s, LLVMGetOperand(i, load ? 0 : 1)).kind == SHAPE_VARYING && follows_pattern(s, i))
    return mw_format("permuted %s", what);
  if (LLVMGetVolatile(i)) return mw_format("volatile %s", what);
  if (LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic) return mw_format("atomic %s", what);
  LLVMTypeRef type = LLVMTypeOf(load ? i : LLVMGetOperand(i, 0));
  long long bytes = (long long)LLVMABISizeOfType(s->graph->program->layout, type);
  if (load && is_walked_row(s, i)) {
    char *place = describe_place(s, LLVMGetOperand(i, 0), bytes, what);
    bool together = !s->divergent[graph_node_of(s->graph, i)];
    char *both = mw_format("%s along a row of each lane, %s", place,
                           !has_pass(s->graph->program, PASS_ROW_TILES) ? "without row-tiles"
                           : together                                   ? "by tiles"
                                      : "not by tiles: lanes leave the loop one by one");
    free(place);
    return both;
  }
  if (is_member_of_record(s, i)) {
    char *place = describe_place(s, LLVMGetOperand(i, load ? 0 : 1), bytes, what);
    char *both = mw_format("%s of a record, with other members", place);
    free(place);
    return both;
  }
  if (shape_of(s, LLVMGetOperand(i, load ? 0 : 1)).kind == SHAPE_VARYING && follows_unless_wrapped(s, i))
    return mw_format("contiguous %s if no index wraps", what);
  selected_address places;
  if (load && selects_places(s, i, &places)) return mw_format("load of %d places, by choice", places.count);
  return describe_place(s, LLVMGetOperand(i, load ? 0 : 1), bytes, what);
}

static void write_shape(const shapes *s, LLVMValueRef i, int at, const char *instruction, FILE *out) {
  char text[160];
  char *access = describe_access(s, i);
  text[0] = 0;
  if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind)
    describe(shape_of(s, i), text, sizeof text);
  else if (i == s->graph->nodes[at].last && s->graph->nodes[at].succ_count == 2)
    snprintf(text, sizeof text, "%s", s->divergent[at] ? "divergent branch" : "uniform branch");
  size_t used = strlen(text);
  if (access) snprintf(text + used, sizeof text - used, "%s(%s)", used ? " " : "", access);
  write_line(out, i, text, instruction);
  free(access);
}

void report_shapes(const shapes *s, FILE *out) {
  const graph *g = s->graph;
  static const char *const cuts[] = {"", ", rows are whole gangs", ", rows are vectors", ", blocks are rows",
                                     ", of blocks of any shape"};
  fprintf(out, "kernel %s, %d lanes", kernel_name(g), s->cut.lanes);
  if (s->cut.vectors > 1) fprintf(out, " in each of %d vectors", s->cut.vectors);
  fprintf(out, "%s\n", cuts[s->cut.kind]);
  const char *warp = observes_warp(g);
  char **texts = print_instructions(g);
  if (warp) fprintf(out, "sees its warp: %s\n", warp);
  for (int i = 0; i < s->assumption_count; i++) {
    const assumption *a = &s->assumptions[i];
    fprintf(out, "assumes %lld <= %s <= %lld\n", (long long)a->low, name_of(LLVMGetParam(g->function, a->parameter)),
            (long long)a->high);
  }
  if (s->extent.grid == TIGHT_EXTENT.grid)
    fprintf(out, "assumes gridDim <= %lld, gridDim * blockDim <= %lld\n", (long long)s->extent.grid,
            (long long)s->extent.launch);
  for (int l = 0; l < s->order->loop_count; l++)
    if (leaves_one_by_one(s, l)) fprintf(out, "loop n%d is divergent\n", s->order->loops[l].header);
  for (int i = 0; i < s->order->rpo_count; i++) {
    int n = s->order->rpo[i], number = graph_number(g, g->nodes[n].first);
    write_node_name(out, g, n);
    write_edges(out, g, n);
    fputc('\n', out);
    for (; number < g->value_count && g->node_of[number] == n; number++)
      write_shape(s, g->values[number], n, texts[number], out);
  }
  free_texts(g, texts);
}

/* ---- vectorised kernels ---- */

void report_cut(const shapes *s, const char *reason, FILE *out) {
  const graph *g = s->graph;
  fprintf(out, "kernel %s: simd, gangs of %d x %d lanes: %s\n", kernel_name(g), s->cut.vectors, s->cut.lanes, reason);
  for (int i = 0; i < s->order->rpo_count; i++) {
    int n = s->order->rpo[i], number = graph_number(g, g->nodes[n].first);
    for (; number < g->value_count && g->node_of[number] == n; number++) {
      char *access = describe_access(s, g->values[number]);
      if (access) fprintf(out, "%8s  %s\n", position_of(g->values[number]), access);
      free(access);
    }
    if (s->divergent[n]) fprintf(out, "%8s  divergent branch\n", position_of(g->nodes[n].last));
  }
}

/* ---- liveness ---- */

void report_live(const graph *g, const liveness *l, FILE *out) {
  char **texts = print_instructions(g);
  fprintf(out, "kernel %s\n", kernel_name(g));
  for (int n = 0; n < g->count; n++) {
    if (!g->nodes[n].barrier) continue;
    char found[64];
    snprintf(found, sizeof found, "saves %zu", l->across[n].count);
    write_line(out, g->nodes[n].last, found, texts[graph_number(g, g->nodes[n].last)]);
    for (size_t i = 0; i < l->across[n].count; i++) {
      LLVMValueRef value = l->across[n].values[i];
      write_line(out, value, "  saved", texts[graph_number(g, value)]);
    }
  }
  free_texts(g, texts);
}

/* ---- all kernels ---- */

enum { DUMP_LANES = 16 };

bool dump_kernels(program *p, const char *what) {
  static const char *const words[] = {"graph", "shapes", "rows", "plane", "live"};
  static const cut_kind cuts[] = {[1] = CUT_ROW, CUT_ROWS, CUT_PLANE};
  size_t which = 0;
  while (which < MW_COUNT(words) && strcmp(words[which], what) != 0) which++;
  if (which == MW_COUNT(words)) return false;
  for (size_t i = 0; i < p->kernel_count; i++) {
    graph g;
    const char *why;
    if (!graph_build(p, p->kernels[i].body, false, &g, &why)) {
      printf("kernel %s cannot be vectorised: it has %s\n", p->kernels[i].name, why);
      continue;
    }
    flow f = graph_flow(&g);
    order o = order_of(&f);
    if (which == 0) report_graph(&g, &o, stdout);
    if (which > 0 && which < 4) {
      cut c = {cuts[which], p->options->width ? p->options->width : DUMP_LANES,
               p->options->vectors ? p->options->vectors : 1, 1};
      if (p->options->launch_kernel) c = cut_block(p->block, c.lanes, c.vectors);
      shapes s = shapes_of(&g, &o, c);
      report_shapes(&s, stdout);
      shapes_free(&s);
    }
    if (which == 4) {
      liveness l = liveness_of(&g);
      report_live(&g, &l, stdout);
      liveness_free(&g, &l);
    }
    order_free(&o);
    graph_free(&g);
  }
  return true;
}
