/* The parts of tiles' addresses (staging.h): values that are uniform in the block or the grid, and slopes: how much a
   value grows with a thread's id or with the counter of tiles. */
#include "staging.h"

#include <string.h>

enum { DEPTH = 16 };

static const char *const ids[AXES] = {"llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.tid.y"};

bool is_operation(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

static bool is_extension(LLVMValueRef value) { return LLVMIsASExtInst(value) || LLVMIsAZExtInst(value); }

LLVMValueRef unextended(LLVMValueRef value) {
  while (is_extension(value)) value = LLVMGetOperand(value, 0);
  return value;
}

int axis_of(LLVMValueRef value) {
  value = unextended(value);
  for (int axis = 0; axis < AXES; axis++)
    if (LLVMIsACallInst(value) && strcmp(callee_name(value), ids[axis]) == 0) return axis;
  return NEITHER;
}

typedef enum whole { OF_BLOCK, OF_GRID } whole;

static bool is_uniform(const tile_loop *t, LLVMValueRef value, whole of, int depth) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  if (!LLVMIsAInstruction(value)) return true;
  if (depth == 0 || --*t->visits_left < 0 || LLVMGetNumOperands(value) > MOST_OPERANDS) return false;
  if (LLVMIsACallInst(value)) {
    const char *name = callee_name(value);
    if (!starts_with(name, prefix)) return false;
    name += sizeof prefix - 1;
    return (of == OF_BLOCK && starts_with(name, "ctaid.")) || starts_with(name, "nctaid.") ||
           starts_with(name, "ntid.");
  }
  bool pure = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsAICmpInst(value) ||
              LLVMIsASelectInst(value) || LLVMIsAGetElementPtrInst(value);
  for (int i = 0; pure && i < LLVMGetNumOperands(value); i++)
    pure = is_uniform(t, LLVMGetOperand(value, (unsigned)i), of, depth - 1);
  return pure;
}

bool is_common(const tile_loop *t, LLVMValueRef value) { return is_uniform(t, value, OF_BLOCK, DEPTH); }

bool is_common_to_grid(const tile_loop *t, LLVMValueRef value) { return is_uniform(t, value, OF_GRID, DEPTH); }

/* How much a value grows when another one grows by 1: `times` times the symbol (NULL: 1), in arithmetic that wraps. */
typedef struct slope {
  bool known;
  int64_t times;
  LLVMValueRef symbol;
} slope;

static const slope flat = {.known = true}, unknown = {0};

typedef struct counting { /* what the slope is along: the counter (axis NEITHER), or an id */
  const tile_loop *t;
  int axis;
} counting;

static slope slope_of(LLVMValueRef value, counting v, int depth);

static slope add_slopes(slope a, slope b, bool minus) {
  if (!a.known || !b.known) return unknown;
  if (b.times && minus) b.times = -b.times;
  if (!a.times || !b.times) return a.times ? a : b;
  return a.symbol == b.symbol ? (slope){true, a.times + b.times, a.symbol} : unknown;
}

static slope multiply(slope s, LLVMValueRef by) {
  if (!s.known || !s.times) return s;
  if (LLVMIsAConstantInt(by)) return (slope){true, s.times * LLVMConstIntGetSExtValue(by), s.symbol};
  return s.symbol ? unknown : (slope){true, s.times, by};
}

bool is_addition(LLVMValueRef value) {
  return is_operation(value, LLVMAdd) || (is_operation(value, LLVMOr) && LLVMGetIsDisjoint(value));
}

static slope slope_of(LLVMValueRef value, counting v, int depth) {
  if (value == v.t->counter) return (slope){true, v.axis == NEITHER, NULL};
  if (LLVMIsACallInst(value) && axis_of(value) != NEITHER) return (slope){true, axis_of(value) == v.axis, NULL};
  if (is_common(v.t, value)) return flat;
  if (depth == 0 || --*v.t->visits_left < 0) return unknown;
  LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  if (is_addition(value) || is_operation(value, LLVMSub))
    return add_slopes(slope_of(a, v, depth - 1), slope_of(b, v, depth - 1), is_operation(value, LLVMSub));
  if (is_extension(value)) return slope_of(a, v, depth - 1);
  if (LLVMIsAGetElementPtrInst(value) && LLVMGetNumIndices(value) == 1) {
    slope index = slope_of(b, v, depth - 1);
    index.times *= (int64_t)LLVMABISizeOfType(v.t->p->layout, LLVMGetGEPSourceElementType(value));
    return add_slopes(slope_of(a, v, depth - 1), index, false);
  }
  if (is_operation(value, LLVMShl) && LLVMIsAConstantInt(b) && LLVMConstIntGetZExtValue(b) < 32) {
    slope s = slope_of(a, v, depth - 1);
    s.times *= (int64_t)1 << LLVMConstIntGetZExtValue(b);
    return s;
  }
  if (is_operation(value, LLVMMul)) {
    slope of_a = slope_of(a, v, depth - 1), of_b = slope_of(b, v, depth - 1);
    if (!of_a.known || !of_b.known || (of_a.times && of_b.times)) return unknown;
    /* the factor has to be the same for all threads, in all iterations */
    if (of_a.times) return is_common(v.t, b) ? multiply(of_a, b) : unknown;
    if (of_b.times) return is_common(v.t, a) ? multiply(of_b, a) : unknown;
    return flat;
  }
  return unknown;
}

static bool steps_match_within(const tile_loop *t, LLVMValueRef value, int axis, int depth) {
  slope by_counter = slope_of(value, (counting){t, NEITHER}, DEPTH),
        by_id = slope_of(value, (counting){t, axis}, DEPTH);
  if (!by_counter.known || !by_id.known || depth == 0) return false;
  if (!by_counter.times && !by_id.times) return true;
  if (by_counter.symbol != by_id.symbol || t->step * by_counter.times != t->iterations * by_id.times) return false;
  return !is_extension(value) || steps_match_within(t, LLVMGetOperand(value, 0), axis, depth - 1);
}

bool steps_match(const tile_loop *t, LLVMValueRef value, int axis) { return steps_match_within(t, value, axis, DEPTH); }

static bool extended_steps_match(const tile_loop *t, LLVMValueRef value, int axis, int depth) {
  if (!LLVMIsAInstruction(value) || value == t->counter || LLVMIsACallInst(value)) return true;
  if (depth == 0 || --*t->visits_left < 0) return false;
  if (is_extension(value) && !steps_match_within(t, LLVMGetOperand(value, 0), axis, depth)) return false;
  for (int i = 0; i < LLVMGetNumOperands(value) && !is_common(t, value); i++)
    if (!extended_steps_match(t, LLVMGetOperand(value, (unsigned)i), axis, depth - 1)) return false;
  return true;
}

bool all_steps_match(const tile_loop *t, LLVMValueRef value, int axis) {
  return steps_match(t, value, axis) && extended_steps_match(t, value, axis, DEPTH);
}

bool grows_along_x(const tile_loop *t, LLVMValueRef value, uint64_t by) {
  slope s = slope_of(value, (counting){t, X}, DEPTH);
  return s.known && !s.symbol && s.times == (int64_t)by;
}
