-- The least and greatest elements and their positions, as reductions (../reduction.lua): functions of a dtype that
-- return the CUDA C of accumulators.lua.

-- Whether x is not NaN. Compilers warn about x == x for integers.
local function is_number(of) return of.kind == "float" and "(x == x)" or "true" end

-- The number that every other is $LESS than: where min and max of integers begin.
local function last_of(of, less)
  if of.kind == "bool" then return less == "<" and "true" or "false" end
  if of.kind == "uint" then return ("(%s)%s"):format(of.C, less == "<" and "-1" or "0") end
  local least = ("(%s)(1ull << %d)"):format(of.C, of.bits - 1)
  return less == "<" and ("(%s)~%s"):format(of.C, least) or least
end

-- min and max ignore NaN; if all elements are NaN, so is the result. Conditions are joined by | and &, which make no
-- branches.
local function extreme(less)
  return function(of)
    local float = of.kind == "float"
    local C = float and of.compute or of.C
    local s = { type = of.C, accumulator = C, result = of.C, result_dtype = of.name }
    s.init = float and ("(%s)nanf(\"\")"):format(C) or last_of(of, less)
    s.map = ("(%s)x"):format(C)
    s.combine = (float and "((b %s a) | (a != a)) ? b : a" or "b %s a ? b : a"):format(less)
    s.finish = ("(%s)a"):format(of.C)
    return s
  end
end

-- The position (from 1) of the first least or greatest element; NaN is ignored, and 0 means that all elements were NaN.
local function position(less)
  return function(of)
    local C = of.kind == "float" and of.compute or of.C
    local s = { type = of.C, accumulator = "place_", result = "long long", result_dtype = "longlong" }
    s.preamble = ([[
struct place_ { $C value; long long at; };              // at: from 1; 0: none yet
__device__ inline place_ none_() { place_ r; r.value = ($C)0; r.at = 0; return r; }
__device__ inline place_ one_($C x, long long i) { place_ r; r.value = x; r.at = $NUMBER ? i + 1 : 0; return r; }
__device__ inline place_ better_(place_ a, place_ b) {
  bool take = (b.at != 0) & ((a.at == 0) | (b.value $LESS a.value) | ((b.value == a.value) & (b.at < a.at)));
  place_ r;
  r.value = take ? b.value : a.value;
  r.at = take ? b.at : a.at;
  return r;
}
__device__ inline place_ further_(place_ a, $C x, long long i) { // an element that comes after those of a
  bool take = $NUMBER & ((a.at == 0) | (x $LESS a.value));
  place_ r;
  r.value = take ? x : a.value;
  r.at = take ? i + 1 : a.at;
  return r;
}]]):gsub("%$(%u+)", { C = C, LESS = less, NUMBER = is_number(of) })
    s.init, s.map, s.combine, s.finish = "none_()", ("one_((%s)x, i)"):format(C), "better_(a, b)", "a.at"
    s.fold = ("further_(a, (%s)x, i)"):format(C)
    return s
  end
end

return { min = extreme "<", max = extreme ">", argmin = position "<", argmax = position ">" }
