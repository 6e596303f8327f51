/* Which kernels run on the SIMD tier, and in which variants.
 *
 * A kernel that can be widened has several variants, by how the launch's blocks can be cut into gangs (struct cut),
 * and the loop or fiber variant for launches outside of the class that the others are compiled for: a very large
 * grid, or parameters that the shapes do not hold for (simt.h). variant_dispatch.c selects one at the launch. */
#include "mwcc/support/checked_access.h"
#include "mwcc/widen/widen.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/read/read.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

/* The lanes of a vector: as many as a register has, or as --width says; less than twice the threads that
   __launch_bounds__ allows. */
static int lanes_for(const program *p, const kernel *k) {
  enum { FEWEST = 4 };
  int lanes = register_lanes(p);
  if (p->options->width) return p->options->width;
  while (lanes > FEWEST && k->max_threads && !k->sees_warp && (int)k->max_threads <= lanes / 2) lanes /= 2;
  return lanes;
}

/* All variants rely on what any of them assumes. */
static void add_assumptions(kernel *k, const shapes *s) {
  bool first = !k->most_blocks;
  if (first || s->extent.grid < k->most_blocks) k->most_blocks = s->extent.grid;
  if (first || s->extent.launch < k->most_threads) k->most_threads = s->extent.launch;
  for (int i = 0; i < s->assumption_count; i++) {
    int n = 0;
    while (n < k->assumption_count && k->assumptions[n].parameter != s->assumptions[i].parameter) n++;
    if (n < k->assumption_count) continue; /* there is one assumption for each parameter */
    k->assumptions = mw_realloc(k->assumptions, (size_t)(n + 1) * sizeof *k->assumptions);
    k->assumptions[k->assumption_count++] = s->assumptions[i];
  }
}

/* ---- the variants ---- */

typedef struct variant_query {
  program *p;
  kernel *k;
  const graph *g;
  const order *o;
  const liveness *live;
  const char *why; /* why no variant can be made */
  LLVMValueRef why_at;
  const char *vectors_why; /* why there are so many vectors, or NULL */
  const char *lanes_why;   /* why there are so many lanes, where a register has another number of them; or NULL */
  int vectors_chosen;      /* the number of vectors that pays, into which not every block can be cut */
  bool blocks_registers;   /* register_blocking.c suits its loops */
} variant_query;

/* Why gangs are as large as they are, for the report. */
static char *explain_size(const variant_query *q, const cut *c) {
  const kernel *k = q->k;
  bool is_set = q->p->options->width, fewer = c->vectors < q->vectors_chosen && !k->sees_warp;
  int native = register_lanes(q->p);
  const char *why = is_set           ? "as set by --width"
                    : k->sees_warp   ? "a gang is a warp, since the kernel uses warp functions"
                    : q->g->seamless ? "the whole block is one gang"
                    : q->vectors_why ? q->vectors_why
                                     : "code for blocks of any size";
  const char *lanes = "";
  if (!is_set && q->lanes_why)
    lanes = q->lanes_why;
  else if (!is_set && !k->sees_warp && c->lanes < native)
    lanes = lanes_for(q->p, k) < native
                ? ", fewer lanes because of __launch_bounds__"
                : ", fewer lanes because the block's rows are short (a larger blockDim.x fills the registers)";
  return mw_format("%s%s%s", why, lanes,
                   fewer ? ", fewer vectors because the block's size is not a multiple of the gang's" : "");
}

static void add_variant(variant_query *q, cut c) {
  static const char *const names[] = {
      [CUT_ROW] = "row", [CUT_ROWS] = "rows", [CUT_PLANE] = "plane", [CUT_SINGLE] = "single", [CUT_LINE] = "line"};
  kernel *k = q->k;
  if (q->why) return;
  shapes s = shapes_of(q->g, q->o, c);
  char *name = mw_format("%s%dx%d.%s", names[c.kind], c.lanes, c.vectors, k->linkage);
  bool with_fallback = may_fall_back(q->p, k, q->g, &c);
  shapes single = {0};
  variant made;
  speculation x = {0};
  if (q->p->options->launch_kernel) find_speculation(q->g, q->o, &s, &x);
  if (with_fallback) single = shapes_given(q->g, q->o, (cut){CUT_ROWS, c.lanes, 1, 1}, NULL, 0, &s);
  k->tests_runs = k->tests_near = false;
  if (widen_kernel(q->p, k, q->g, &s, q->live, &x, with_fallback ? &single : NULL, name, &q->why, &q->why_at, &made)) {
    k->variants[k->variant_count++] = made;
    if (q->blocks_registers) add_text_attribute(q->p, made.function, REGISTER_BLOCKED, "");
    add_assumptions(k, &s);
    if (made.fallback) add_assumptions(k, &single);
    if (x.count) add_assumptions(k, &x.shapes);
    if (x.rows) add_assumptions(k, &x.rows_proved), add_assumptions(k, &x.rows->shapes);
    char *size = explain_size(q, &c);
    if (q->p->options->report) report_cut(&s, size, stdout);
    free(size);
    if (q->p->options->report && takes_rows_of_blocks(k, &s)) puts("  adjacent blocks are interleaved row by row");
    if (q->p->options->report && k->skips_blocks)
      puts("  blocks whose threads all fail the first condition are skipped");
    if (q->p->options->report && k->tests_runs)
      puts("  accesses test whether their lanes are in two runs, as where one is clamped");
    if (q->p->options->report && k->tests_near)
      puts("  accesses test whether their lanes are near each other, as in butterflies");
    if (q->p->options->report && q->p->gangs > 1)
      puts("  gang sharing: in grids of few blocks, several workers run the gangs of one block");
    if (q->p->options->report && q->p->packed > 1)
      printf("  block packing: %u adjacent blocks run as one\n", q->p->packed);
    if (q->p->options->report && k->has_flags) puts("  flags of threads are conditions");
    if (q->p->options->report && q->p->merged > 1) puts("  block merging: two adjacent blocks run as one");
    if (q->p->options->report && k->iterations_end)
      puts(k->private_shared ? "  grid-stride loop: strip-mined over blocks, with privatised shared memory"
           : k->saves_state  ? "  grid-stride loop: strip-mined over blocks, with accumulators saved between strips"
           : k->iterations
               ? "  grid-stride loop: interchanged with the loop over blocks, iterations shared by the workers"
               : "  grid-stride loop: interchanged with the loop over blocks");
    if (q->p->options->report && x.count)
      report_cut(&x.shapes, "speculative path for gangs whose indices are contiguous", stdout);
    if (q->p->options->report && x.rows) report_cut(&x.rows->shapes, "row by row, where rows end in a gang", stdout);
    if (q->p->options->report && k->joins_blocks)
      puts("  gangs go on from one block to the next, up to the end of a row");
  }
  if (with_fallback) shapes_free(&single);
  free_speculation(&x);
  shapes_free(&s);
  free(name);
}

static void explain(kernel *k, const char *why, LLVMValueRef why_at) {
  const char *file;
  unsigned line = 0, column;
  if (why_at) program_position(why_at, &file, &line, &column);
  k->tier_reason = line ? mw_format("%s; it is not vectorised: line %u: %s", k->tier_reason, line, why)
                        : mw_format("%s; it is not vectorised: %s", k->tier_reason, why);
}

static bool reads_id(const graph *g, const char *id) {
  for (int i = 0; i < g->value_count; i++)
    if (LLVMIsACallInst(g->values[i]) && strcmp(callee_name(g->values[i]), id) == 0) return true;
  return false;
}

/* Where threads see their warps, a gang is a warp. Warps are cut from the linear id: short rows may form a warp
   together, and where rows are not whole warps threadIdx is arbitrary in a gang, except for blocks of a single row if
   the kernel reads no other axis. */
static cut warp_cut(const variant_query *q, int lanes, const unsigned block[3]) {
  enum { SHORTEST = 4 };
  bool flat = !reads_id(q->g, "llvm.nvvm.read.ptx.sreg.tid.y") && !reads_id(q->g, "llvm.nvvm.read.ptx.sreg.tid.z");
  if (lanes > WARP_LANES) lanes = WARP_LANES;
  cut c = {CUT_LINE, lanes, WARP_LANES / lanes, 1};
  if (!block) return c;
  unsigned row = block[0], rows = row ? WARP_LANES / row : 0;
  bool whole = row >= SHORTEST && row < WARP_LANES && WARP_LANES % row == 0 && block[1] % rows == 0;
  if (block[0] % WARP_LANES == 0) {
    c.kind = CUT_ROWS;
  } else if (flat && block[1] * block[2] == 1) {
    c.kind = CUT_SINGLE;
  } else if (whole && (lanes == (int)row || !q->p->options->width)) {
    c = (cut){CUT_PLANE, (int)row, (int)rows, 1};
  }
  return c;
}

/* The lanes of a warp's vectors. Tiles of fewer threads than a vector has lanes often have rows of their own, which are
   contiguous in vectors of one tile alone. */
static int lanes_of_warp(variant_query *q, int lanes) {
  enum { FEWEST = 4, GAIN = 2 };
  const unsigned *block = q->p->options->launch_kernel ? q->p->block : NULL;
  int best = lanes, gathers = 0;
  if (!q->k->sees_warp || q->p->options->width || notes_accesses(q->p->options)) return lanes;
  for (int count = lanes; count >= FEWEST; count /= 2) {
    shapes s = shapes_at_best(q->g, q->o, warp_cut(q, count, block));
    int found = count_gathers(&s);
    shapes_free(&s);
    if (count < lanes && found * GAIN >= gathers) continue;
    best = count, gathers = found;
    if (!found) break;
  }
  if (best < lanes) q->lanes_why = ", with fewer lanes, whose rows are contiguous";
  return best;
}

/* How blocks are cut, where their size is known and where not. */
static cut choose_cut(variant_query *q, int lanes, int vector_count) {
  enum { LONG_RUNS = 4 };
  const unsigned *block = q->p->options->launch_kernel ? q->p->block : NULL;
  if (q->k->sees_warp) return warp_cut(q, lanes, block);
  if (!block) return (cut){CUT_ROW, lanes, vector_count, 1};
  cut wide = cut_block(block, lanes, LONG_RUNS);
  if (!q->p->options->width && vector_count < LONG_RUNS && runs_by_rows(q->g, q->o, wide)) {
    q->vectors_why = "the end of a row ends its gangs";
    return wide;
  }
  return rows_that_pay(q->g, q->o, cut_block(block, lanes, vector_count), block, &q->vectors_why);
}

/* Watched code for blocks of any size has variants for common ones, in which threadIdx is regular: rows of whole warps,
   and rows of 16 threads, two of which are a warp. Without them all accesses would be gathers, and calls of the runtime
   would pass a word for each lane. */
static void add_watched_variants(variant_query *q, int lanes) {
  enum { SHORT_ROW = 16 };
  if (!q->k->sees_warp || !q->p->options->observe || q->p->options->launch_kernel) return;
  if (lanes > SHORT_ROW) lanes = SHORT_ROW;
  add_variant(q, (cut){CUT_ROWS, lanes, WARP_LANES / lanes, 1});
  q->why = NULL;
  add_variant(q, (cut){CUT_PLANE, lanes, WARP_LANES / lanes, SHORT_ROW / lanes});
  q->why = NULL;
}

static bool pays(variant_query *q, const shapes *s) {
  q->k->gather_bound =
      !q->k->waits && !notes_accesses(q->p->options) && !q->p->options->width && mostly_gathers(q->k, q->g, q->o, s);
  q->k->vectorisable = q->k->gather_bound && has_pass(q->p, PASS_THREAD_LOOPS) &&
                       has_vectorisable_loops(q->g, q->o, s, &q->k->stores_rows);
  if (q->k->gather_bound)
    q->why = "a divergent loop consists mostly of gathers, so scalar code is faster (--width=16 vectorises it anyway)";
  else if (!q->k->waits && !q->p->options->width && has_pass(q->p, PASS_THREAD_LOOPS) &&
           suits_one_thread(q->g, q->o, s))
    q->why =
        "its inner loops write or sum rows of each thread, and are vectorised for one thread at a time (--width=16 "
        "makes lanes of threads)";
  else if ((q->why_at = waits_for_other_warps(q->g, q->o)))
    q->why = "a loop polls memory that another warp writes: wait at a barrier instead";
  return !q->why;
}

static char *describe_cut(const cut *c, const char *vectors_why) {
  if (c->vectors == 1) return mw_format("%d threads of a row are the lanes of vector registers", c->lanes);
  return mw_format("%d threads of a row are the lanes of vector registers, and a gang has %d of these%s%s", c->lanes,
                   c->vectors, vectors_why ? ": " : "", vectors_why ? vectors_why : "");
}

/* The launches that the variants do not cover, and how they run: a slow tier is always reported. */
static char *describe_class(const kernel *k) {
  enum { MOST_GANGS = 1024 }; /* of a block: each with a row of one thread */
  mw_text text = {0};
  const char *other = k->waits ? "fibers" : "one thread after the other";
  mw_text_addf(&text, "%s", "");
  if (k->most_threads < LOOSE_EXTENT.launch)
    mw_text_addf(&text, "more than %lld blocks or %lld threads along an axis", (long long)k->most_blocks,
                 (long long)k->most_threads);
  for (int i = 0; i < k->assumption_count; i++) {
    const assumption *a = &k->assumptions[i];
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetParam(k->body, (unsigned)a->parameter), &length);
    mw_text_addf(&text, "%s%s outside of %lld to %lld", text.length ? ", or " : "", length ? name : "a parameter",
                 (long long)a->low, (long long)a->high);
  }
  const variant *v = &k->variants[0];
  if (v->waiting * MOST_GANGS > SAVED_MOST)
    mw_text_addf(&text, "%sblocks of more than %llu gangs of %d threads", text.length ? ", or " : "",
                 (unsigned long long)(SAVED_MOST / v->waiting), v->cut.lanes * v->cut.vectors);
  char *result = text.length ? mw_format("; launches with %s run as %s", text.data, other) : mw_strdup("");
  mw_text_free(&text);
  return result;
}

static uint32_t depth_of_loops(const order *o) {
  int deepest = 0;
  for (int l = 0; l < o->loop_count; l++)
    if (o->loops[l].depth > deepest) deepest = o->loops[l].depth;
  return (uint32_t)deepest;
}

/* Whether a whole block as one gang would be too much code, apart from code that threadIdx.x guards or with it. Where
   registers are small the limit is by threads: there, gangs that wait for each other cost as much as the additional code
   of whole blocks. */
static bool is_much_code(const program *p, const kernel *k, int lanes, bool guarded) {
  enum { MOST = TUNE_ONE_GANG_CODE, LARGE = 16, MOST_BY_THREADS = TUNE_ONE_GANG_CODE_SMALL };
  bool large = register_lanes(p) >= LARGE;
  size_t count = operations_of_block(k->body, p->block, large ? (unsigned)lanes : 1, guarded);
  if (p->options->checks & MW_CHECK_INITIALISATION) count /= 2; /* the other half is of shadows */
  return count > (large ? MOST : MOST_BY_THREADS);
}

static bool widen_with_cut(program *p, kernel *k, int lanes, int vector_count, bool seamless) {
  graph g;
  variant_query q = {.p = p, .k = k, .g = &g};
  if (!graph_build(p, k->body, seamless, &g, &q.why)) {
    if (!seamless) explain(k, q.why, NULL);
    return false;
  }
  flow f = graph_flow(&g);
  order o = order_of(&f);
  liveness live = liveness_of(&g);
  q.o = &o, q.live = &live;
  if (lanes == 1) q.vectors_why = "one thread after the other up to each barrier", q.lanes_why = "";
  k->loop_depth = depth_of_loops(&o);
  shapes s = shapes_at_best(&g, &o, (cut){CUT_ROW, lanes, 1, 1});
  if (!vector_count) vector_count = p->options->launch_kernel ? vectors_that_pay(&g, &o, &s, &q.vectors_why) : 1;
  q.vectors_chosen = vector_count;
  q.blocks_registers = suits_register_blocking(&g, &o, &s);
  bool may_be_wider = p->options->launch_kernel && !p->options->width && !seamless;
  if (may_be_wider) lanes = lanes_that_pay(&g, &o, &s, p->block, k->waits, &q.lanes_why);
  lanes = lanes_of_warp(&q, lanes);
  bool too_wide = seamless && suits_small_gangs(&g, &o, &s, vector_count);
  too_wide = too_wide || (seamless && is_much_code(p, k, lanes, true) && accesses_apart(&s, &o));
  if (!too_wide && pays(&q, &s)) {
    add_watched_variants(&q, lanes);
    add_variant(&q, choose_cut(&q, lanes, vector_count));
    /* gangs of several vectors may need more memory for local arrays than there is: try one vector */
    if (q.why && !seamless && vector_count > 1) {
      q.why = NULL;
      add_variant(&q, choose_cut(&q, lanes, 1));
    }
  }
  if (k->variant_count) list_candidates(p, k, &g, &o, &s);
  if (k->variant_count && p->options->report) report_candidates(k);
  shapes_free(&s);
  if (k->variant_count) {
    k->tier = "simd";
    char *cut_text = k->sees_warp ? mw_strdup("the threads of a warp are the lanes of vector registers")
                                  : describe_cut(&k->variants[0].cut, q.vectors_why);
    char *class_text = describe_class(k);
    k->tier_reason = mw_format("%s%s", cut_text, class_text);
    free(cut_text), free(class_text);
    if (p->options->report && strchr(k->tier_reason, ';'))
      printf("kernel %s: %s\n", k->name, strchr(k->tier_reason, ';') + 2);
  } else if (!seamless) {
    explain(k, q.why, q.why_at);
  }
  liveness_free(&g, &live);
  order_free(&o);
  graph_free(&g);
  return k->variant_count > 0;
}

/* A second variant, for packs of small blocks: block_packing.c. */
static void widen_packed(program *p, kernel *k, int lanes) {
  graph g;
  variant_query q = {.p = p, .k = k, .g = &g};
  int gathers = 0;
  for (bool packed = false;; packed = true) {
    if (packed) k->pack = (int)begin_packing(p, k, lanes);
    if (!graph_build(p, k->body, false, &g, &q.why)) break;
    flow f = graph_flow(&g);
    order o = order_of(&f);
    liveness live = liveness_of(&g);
    q.o = &o, q.live = &live;
    shapes s = shapes_at_best(&g, &o, (cut){CUT_ROW, lanes, 1, 1});
    if (!packed)
      gathers = count_gathers(&s);
    else if (packing_pays(p, &s, gathers))
      add_variant(&q, cut_block(p->block, lanes, vectors_that_pay(&g, &o, &s, &q.vectors_why)));
    shapes_free(&s);
    liveness_free(&g, &live);
    order_free(&o);
    graph_free(&g);
    if (packed) break;
  }
  if (k->variant_count <= PACKED_VARIANT) k->pack = 1;
  end_packing(p);
}

/* The number of vectors of a whole block as one gang; 0: it cannot be one, or is too much code. */
static int vectors_of_block(const program *p, const kernel *k, int lanes) {
  enum { MOST_THREADS = TUNE_ONE_GANG_THREADS };
  const unsigned *block = p->block;
  if (!p->options->launch_kernel || !k->waits || k->sees_warp) return 0;
  unsigned threads = block[0] * block[1] * block[2];
  cut c = cut_block(block, lanes, MOST_VECTORS);
  if (threads > MOST_THREADS || c.kind == CUT_ROW || (unsigned)(c.lanes * c.vectors) != threads) return 0;
  return is_much_code(p, k, c.lanes, false) ? 0 : c.vectors;
}

/* A whole block as one gang: no gang waits for another, and nothing has to be saved at barriers. Where registers are
   small a vector may be several of them: for a row of the block, since memory is then accessed by whole rows, and
   where there would be more vectors than a gang can have. */
static int whole_block(const program *p, const kernel *k, int *lanes) {
  enum { LINE = 16 };
  int row = (int)p->block[0];
  if (p->options->width) return vectors_of_block(p, k, *lanes);
  if (row > *lanes && row <= LINE && row % *lanes == 0) *lanes = row;
  int count = vectors_of_block(p, k, *lanes);
  for (; !count && *lanes < LINE; count = vectors_of_block(p, k, *lanes)) *lanes *= 2;
  return count;
}

static void widen_one(program *p, kernel *k, int lanes, int vector_count) {
  place_choices(p, k, lanes);
  if ((run_by_threads(p, k, lanes) && widen_with_cut(p, k, 1, 1, false)) || lanes == 1) return;
  /* notes of a whole block's accesses would be much code */
  int block_lanes = lanes, whole = notes_accesses(p->options) ? 0 : whole_block(p, k, &block_lanes);
  if (whole && widen_with_cut(p, k, block_lanes, whole, true)) return;
  rematerialize_in_gangs(p, k);
  if (!widen_with_cut(p, k, lanes, vector_count, false)) {
    if (p->options->report) printf("kernel %s: %s: %s\n", k->name, k->tier, k->tier_reason);
  } else if (can_pack_blocks(p, k, lanes)) {
    widen_packed(p, k, lanes);
  }
}

void widen_kernels(program *p) {
  int vector_count = p->options->vectors; /* 0: chosen by the cost model */
  choose_lane_axis(p);
  if (!p->turned) merge_blocks(p);
  for (size_t i = 0; i < p->kernel_count && !p->follows; i++)
    widen_one(p, &p->kernels[i], lanes_for(p, &p->kernels[i]), vector_count);
  inline_cold(p);
  verify_module(p, "widening");
}
