/* The block function of the SIMD tier: see widen.h and linearization.h.
 *
 *   for each block
 *     state = the first region
 *     while there is a state
 *       for each gang: load its saved values, run the region, and save values at the barrier that ends it
 *       state = the region after the barrier that the gangs reached
 *
 * Where only one region can follow, control goes there directly. barrier_regions.c finds the regions and their
 * order. */
#include "emission.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

/* ---- one region for all gangs ---- */

counted begin_counted(emission *e, LLVMValueRef slot, LLVMValueRef limit, unsigned step) {
  widener *w = &e->w;
  counted c = {.slot = slot, .step = step};
  LLVMBuildStore(w->b, LLVMConstNull(LLVMTypeOf(limit)), slot);
  /* a constant count makes addresses constant too, so that store_sandbox.c sees their range */
  if (LLVMIsAConstantInt(limit) && LLVMConstIntGetZExtValue(limit) <= step) return c;
  c.head = new_block(e, "each"), c.done = new_block(e, "done");
  LLVMBasicBlockRef body = new_block(e, "body");
  LLVMBuildBr(w->b, c.head);
  continue_at(e, c.head);
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, load_slot(e, LLVMTypeOf(limit), slot), limit, ""), body,
                  c.done);
  continue_at(e, body);
  return c;
}

void end_counted(emission *e, counted c) {
  if (!c.head) return;
  LLVMTypeRef type = LLVMGetAllocatedType(c.slot);
  LLVMBuildStore(e->w.b, LLVMBuildNUWAdd(e->w.b, load_slot(e, type, c.slot), LLVMConstInt(type, c.step, 0), ""),
                 c.slot);
  LLVMBuildBr(e->w.b, c.head);
  continue_at(e, c.done);
}

/* The slots where the gang's mask of lanes that have not returned is saved. */
static vectors alive_slots(emission *e) {
  widener *w = &e->w;
  vectors slots = {0};
  LLVMValueRef gang = load_slot(e, w->p->i32, w->gang);
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef at = LLVMBuildAdd(w->b, LLVMBuildMul(w->b, gang, constant_i32(w->p, (unsigned)w->vectors), ""),
                                   constant_i32(w->p, (unsigned)u), "");
    slots.of[u] = LLVMBuildInBoundsGEP2(w->b, stored_type_of(w, mask_type(e)), e->alive, &at, 1, "");
  }
  return slots;
}

LLVMValueRef count_threads(widener *w) {
  return LLVMBuildMul(w->b, w->ntid[0], LLVMBuildMul(w->b, w->ntid[1], w->ntid[2], ""), "");
}

/* The lanes that enter the region. */
static mask entering_lanes(emission *e, int region) {
  widener *w = &e->w;
  mask m = {0};
  if (e->can_die && region != 0) return (mask){.lanes = load_waiting(w, mask_type(e), alive_slots(e), w->vectors)};
  cut_kind kind = w->shapes->cut.kind;
  if (kind == CUT_ROWS || kind == CUT_PLANE) return (mask){.all = true};
  LLVMValueRef end = kind == CUT_LINE ? count_threads(w) : w->ntid[0];
  for (int u = 0; u < w->vectors; u++) {
    LLVMValueRef first = LLVMBuildAdd(w->b, first_id(w, 0), constant_i32(w->p, (unsigned)(u * w->width)), "");
    LLVMValueRef x = LLVMBuildAdd(w->b, splat(w, first), lane_numbers(w, w->p->i32), "");
    m.lanes.of[u] = LLVMBuildICmp(w->b, LLVMIntULT, x, splat(w, end), "");
  }
  return m;
}

LLVMValueRef begin_gang(emission *e) {
  LLVMBasicBlockRef gang = new_block(e, "gang");
  LLVMValueRef branch = LLVMBuildBr(e->w.b, gang);
  continue_at(e, gang);
  e->w.stamp++;
  return branch;
}

/* Barriers that end a region lead to the same region only if they are the same barrier. */
static void emit_region(emission *e, int region) {
  widener *w = &e->w;
  int entry = e->regions[region];
  e->path = &e->paths[0];
  begin_slots(w);
  if (!begin_path(e, e->path, w->shapes->divergent, entry)) return;
  e->end = new_block(e, "region.end");
  LLVMBuildStore(w->b, constant_i32(w->p, (unsigned)STATE_EXIT), e->next_state);
  begin_votes(e);
  gang_loop gangs;
  begin_gangs(e, &gangs);
  LLVMValueRef start = begin_gang(e);
  w->gang_begins = LLVMGetInsertBlock(w->b);
  LLVMBasicBlockRef passed = e->may_disagree ? begin_if_next(e, region) : NULL;
  e->path->root = entering_lanes(e, region);
  if (e->can_die) store_mask(e, no_lanes(w), e->alive_new);
  if (!e->path->root.all && region != 0) {
    LLVMBasicBlockRef some = new_block(e, "some");
    LLVMBuildCondBr(w->b, any_lane(w, e->path->root.lanes), some, e->end);
    continue_at(e, some);
  }
  load_saved(e, region);
  emit_gang(e, entry);
  continue_at(e, e->end);
  w->stamp++;
  if (e->can_die) store_waiting(w, mask_type(e), load_mask(e, e->alive_new), alive_slots(e), w->vectors);
  if (passed) end_if_next(e, passed);
  end_gangs(e, &gangs);
  empty_slots(w, 0, start);
  publish_uniform(e);
  if (w->several_regions) screen_barrier(w);
  free_path(e->path);
}

/* ---- the function ---- */

static LLVMValueRef frame_field(widener *w, size_t offset, unsigned axis) {
  return load_invariant(w->p, w->b, w->p->i32, w->frame, offset + axis * sizeof(uint32_t));
}

static void load_arguments(widener *w) {
  program *p = w->p;
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  LLVMValueRef params = load_invariant(p, w->b, p->pointer, w->frame, offsetof(mw_frame, params));
  for (unsigned i = 0; i < w->k->param_count; i++) {
    LLVMValueRef argument = LLVMGetParam(w->g->function, i), form;
    size_t offset = w->k->params[i].offset;
    if (LLVMGetEnumAttributeAtIndex(w->g->function, i + 1, byval)) {
      LLVMValueRef at = constant_i64(p, offset);
      form = LLVMBuildInBoundsGEP2(w->b, p->i8, params, &at, 1, "");
    } else if (LLVMTypeOf(argument) == p->i1) {
      form = LLVMBuildICmp(w->b, LLVMIntNE, load_invariant(p, w->b, p->i8, params, offset), LLVMConstNull(p->i8), "");
    } else {
      form = load_invariant(p, w->b, LLVMTypeOf(argument), params, offset);
    }
    widened_of(w, argument)->saved = form;
  }
}

static void check_params(widener *w) {
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < w->k->param_count; i++)
    if (LLVMGetEnumAttributeAtIndex(w->g->function, i + 1, byval) && !is_only_read(LLVMGetParam(w->g->function, i)))
      refuse(w, NULL, "it modifies a struct parameter: copy that to a local variable first");
}

/* The number of gangs of a block. */
static LLVMValueRef count_gangs(widener *w) {
  program *p = w->p;
  unsigned threads = (unsigned)w->width * (unsigned)w->vectors;
  if (w->shapes->cut.kind == CUT_PLANE) {
    unsigned rows_of_gang = (unsigned)(w->vectors / w->shapes->cut.columns);
    LLVMValueRef deep = LLVMBuildUDiv(w->b, w->ntid[1], constant_i32(p, rows_of_gang), "");
    return LLVMBuildMul(w->b, deep, w->ntid[2], "");
  }
  bool line = w->shapes->cut.kind == CUT_LINE;
  LLVMValueRef rows = line ? constant_i32(p, 1) : LLVMBuildMul(w->b, w->ntid[1], w->ntid[2], "");
  LLVMValueRef row = LLVMBuildAdd(w->b, line ? count_threads(w) : w->ntid[0], constant_i32(p, threads - 1), "");
  return LLVMBuildMul(w->b, LLVMBuildUDiv(w->b, row, constant_i32(p, threads), ""), rows, "");
}

void begin_function(emission *e) {
  widener *w = &e->w;
  program *p = w->p;
  LLVMSetLinkage(w->function, LLVMInternalLinkage);
  add_attribute(p, w->function, "nounwind");
  add_attribute(p, w->function, "null_pointer_is_valid");
  add_text_attribute(p, w->function, "frame-pointer", "non-leaf");
  prefer_widest(p, w->function);
  e->scope = program_new_scope(p, w->k, w->function);
  w->frame = LLVMGetParam(w->function, 0);
  w->worker = LLVMGetParam(w->function, 1);
  w->b = LLVMCreateBuilderInContext(p->context);
  w->entry = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef top = new_block(e, "entry"), start = new_block(e, "start");
  continue_at(e, top);
  for (unsigned axis = 0; axis < 3; axis++) w->ntid[axis] = frame_field(w, offsetof(mw_frame, block), axis);
  if (w->shapes->cut.kind == CUT_PLANE) w->ntid[0] = constant_i32(p, (unsigned)(w->width * w->shapes->cut.columns));
  for (unsigned axis = 0; axis < 3; axis++)
    if (block_size(p, (char)('x' + axis))) w->ntid[axis] = constant_i32(p, block_size(p, (char)('x' + axis)));
  w->gangs = count_gangs(w);
  LLVMValueRef branch = LLVMBuildBr(w->b, start);
  LLVMPositionBuilderBefore(w->entry, branch);
  continue_at(e, start);
  load_arguments(w);
  LLVMValueRef *ids[] = {&w->tid[0],   &w->tid[1], &w->tid[2],     &w->ctaid[0],       &w->ctaid[1],
                         &w->ctaid[2], &e->w.gang, &e->next_state, &w->prefetch_count, &w->most_prefetches};
  for (size_t i = 0; i < MW_COUNT(ids); i++) *ids[i] = LLVMBuildAlloca(w->entry, p->i32, "");
  e->state = e->next_state;
  if (e->may_disagree) {
    e->state = LLVMBuildAlloca(w->entry, p->i32, "");
    e->states = LLVMBuildArrayAlloca(w->entry, p->i32, w->gangs, "states");
  }
  e->alive_new = new_slots(w, mask_type(e), w->vectors);
  if (e->can_die)
    e->alive =
        LLVMBuildArrayAlloca(w->entry, stored_type_of(w, mask_type(e)),
                             LLVMBuildMul(w->entry, w->gangs, constant_i32(p, (unsigned)w->vectors), ""), "alive");
  e->votes = mw_alloc((size_t)(w->g->count + 1) * sizeof *e->votes);
  e->voted = mw_alloc((size_t)(w->g->count + 1) * sizeof *e->voted);
  for (int n = 0; n < w->g->count; n++) {
    const node *here = &w->g->nodes[n];
    if (!here->barrier || !LLVMGetFirstUse(here->last)) continue;
    e->votes[n] = LLVMBuildAlloca(w->entry, p->i32, "");
    e->voted[n] = LLVMBuildAlloca(w->entry, p->i32, "");
  }
}

static void emit_states(emission *e) {
  widener *w = &e->w;
  if (e->region_count == 1) {
    emit_region(e, 0);
    return;
  }
  LLVMBasicBlockRef dispatch = new_block(e, "dispatch"), finished = new_block(e, "finished");
  LLVMBasicBlockRef *starts = mw_alloc((size_t)e->region_count * sizeof(LLVMBasicBlockRef));
  for (int i = 0; i < e->region_count; i++) starts[i] = new_block(e, "region");
  LLVMBuildBr(w->b, starts[0]);
  continue_at(e, dispatch);
  LLVMValueRef choice =
      LLVMBuildSwitch(w->b, load_slot(e, w->p->i32, e->next_state), finished, (unsigned)e->region_count);
  for (int i = 0; i < e->region_count && !w->why; i++) {
    int then = e->then[i];
    LLVMAddCase(choice, constant_i32(w->p, (unsigned)i), starts[i]);
    continue_at(e, starts[i]);
    emit_region(e, i);
    bool open = then == STATE_OPEN || (then == STATE_EXIT && e->may_disagree);
    LLVMBuildBr(w->b, open ? dispatch : then == STATE_EXIT ? finished : starts[then]);
  }
  free(starts);
  continue_at(e, finished);
}

static void emit_function(emission *e, const char *name) {
  widener *w = &e->w;
  const program *p = w->p;
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i64, p->i64};
  w->several_regions = e->region_count > 1;
  choose_sharing(e);
  w->function = LLVMAddFunction(p->module, name, LLVMFunctionType(p->void_type, params, 4, 0));
  begin_function(e);
  iteration_loop iterations = {0};
  block_loop blocks;
  e->first_block = LLVMGetParam(w->function, 2), e->end_block = LLVMGetParam(w->function, 3);
  begin_iterations(e, &iterations);
  begin_blocks(e, &blocks);
  emit_states(e);
  end_blocks(e, &blocks);
  end_iterations(e, &iterations);
  fence_streamed(w);
  LLVMBuildRetVoid(w->b);
}

static void free_emission(emission *e) {
  if (e->w.b) LLVMDisposeBuilder(e->w.b);
  if (e->w.entry) LLVMDisposeBuilder(e->w.entry);
  free(e->w.table);
  free(e->w.slots);
  free(e->regions);
  free(e->then);
  free(e->votes);
  free(e->voted);
}

static void try_kernel(emission *e, const char *name) {
  check_params(&e->w);
  if (!e->w.why) find_regions(e);
  if (!e->w.why) emit_function(e, name);
  if (!e->w.why && !e->fallback) drop_saved_for_fallback(e);
  free_emission(e);
}

/* Emit the fallback that `from` calls. */
static bool try_fallback(const emission *from, const shapes *single) {
  const speculation none = {0};
  emission e = {.speculation = &none};
  e.w = (widener){.p = from->w.p,
                  .k = from->w.k,
                  .g = from->w.g,
                  .shapes = single,
                  .live = from->w.live,
                  .width = single->cut.lanes,
                  .vectors = 1,
                  .speculation_failed = from->speculation->count > 0,
                  .fallback = true,
                  .widen = widen_instruction,
                  .function = from->fallback};
  find_regions(&e);
  if (!e.w.why) emit_fallback(&e, &from->w.shapes->cut);
  free_emission(&e);
  return !e.w.why;
}

static bool try_both(emission *e, const char *name, const shapes *single) {
  try_kernel(e, name);
  bool done = !e->w.why && (!e->fallback || try_fallback(e, single));
  if (!done && e->w.function) LLVMDeleteFunction(e->w.function);
  if (!done && e->fallback) LLVMDeleteFunction(e->fallback);
  return done;
}

bool widen_kernel(program *p, kernel *k, const graph *g, const shapes *s, const liveness *live, const speculation *x,
                  const shapes *single, const char *name, const char **why, LLVMValueRef *why_at, variant *out) {
  const emission first = {.speculation = x,
                          .tries_uniform_path = true,
                          .has_fallback = single != NULL,
                          .w = {.p = p,
                                .k = k,
                                .g = g,
                                .shapes = s,
                                .live = live,
                                .width = s->cut.lanes,
                                .vectors = s->cut.vectors,
                                .widen = widen_instruction}};
  const speculation none = {0};
  emission e = first;
  bool done = try_both(&e, name, single);
  if (!done) { /* one of the additional paths may have a form that cannot be widened: try without them */
    e = first;
    e.speculation = &none, e.tries_uniform_path = e.has_fallback = false;
    done = try_both(&e, name, NULL);
  }
  if (!done) *why = e.w.why, *why_at = e.w.why_at;
  *out = (variant){.cut = s->cut, .function = e.w.function, .fallback = e.fallback};
  if (e.w.several_regions) out->waiting = (e.w.local_bytes + e.w.saved_bytes) * (uint64_t)(e.w.width * e.w.vectors);
  return done;
}
