-- Kernels with one value for each thread, and their models.
--
-- Each case has the body of a kernel with these names: x the thread's input, i its linear id, n the threads of its
-- block, in the block's inputs (in[i] is x), out its results, cell shared memory, `no` that is 0 for all. `result` is
-- what goes to out[i]. Beside it its model: f(x, i, n, in, out), with in[0] … in[n-1]; it returns the result, or calls
-- out(j, value). A model that needs all threads of the block side by side is { block = f }: f(in, n) returns their
-- results.
--
--   local list, case = thread_cases.list()
--   case("what it does", body, model)
--   local kernel = thread_cases.compile(list, preamble, options)
--   thread_cases.check(kernel(1), list[1].model, block, 3)

local mw = require "moonwarp"
local linear = require "support.models.linear"

local thread_cases = {}

---A 32-bit signed number, as C's int wraps.
function thread_cases.int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

---An empty list of cases, and the function that adds one to it.
function thread_cases.list()
  local list = {}
  return list, function(name, body, model) list[#list + 1] = { name = name, body = body, model = model } end
end

local kernel_text = [==[
__global__ void case_%d(const int *in, int *out, int no) {
  __shared__ int cell[1024];
  int i = linear(), n = threads(), result = 0;
  in += blockIdx.x * n;
  out += blockIdx.x * n;
  int x = in[i];
  cell[i] = 0;
%s
  out[i] = result;
}
]==]

---Compiles the cases, whose bodies may use what is in `preamble`; returns kernel(index). A few go to a module, so that
---a defect names few; each module is compiled when a kernel of it is wanted.
function thread_cases.compile(cases, preamble, options)
  local most, modules = 12, {}
  return function(index)
    local first = (index - 1) // most * most + 1
    if not modules[first] then
      local parts = { linear, preamble }
      for i = first, math.min(first + most - 1, #cases) do parts[#parts + 1] = kernel_text:format(i, cases[i].body) end
      modules[first] = mw.compile { source = table.concat(parts), options = options }
    end
    return modules[first]["case_" .. index]
  end
end

local function expected(model, input, n)
  if type(model) == "table" then return model.block(input, n) end
  local out = {}
  local function set(j, value) out[j] = value end
  for i = 0, n - 1 do
    local value = model(input[i], i, n, input, set)
    if value then out[i] = value end
  end
  return out
end

---Runs a case's kernel in `grid` blocks of random inputs, and raises an error where it does other than its model.
function thread_cases.check(kernel, model, block, grid)
  local n, inputs, list = block.threads, {}, {}
  for b = 0, grid - 1 do
    inputs[b] = {}
    for i = 0, n - 1 do
      inputs[b][i] = math.random(4) == 1 and math.random(-20, 20) or thread_cases.int(math.random(0, 0xffffffff))
      list[#list + 1] = inputs[b][i]
    end
  end
  local array = mw.zeros(grid * n, "int")
  kernel(grid, block.size)(mw.array(list, "int"), array, 0)
  local got = array:totable()
  for b = 0, grid - 1 do
    local wanted = expected(model, inputs[b], n)
    for i = 0, n - 1 do
      if wanted[i] ~= got[b * n + i + 1] then
        error(("%s, block %d, thread %d of input %d: %d, not %d"):format(block, b, i, inputs[b][i], got[b * n + i + 1],
          wanted[i]), 0)
      end
    end
  end
end

return thread_cases
