-- Indices that wrap in strides, in loops that LLVM vectorises: see src/mwcc/machine/llvm_wrapped_stride_workaround.c.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for it

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- The index in the loop over i, as CUDA C and as a function of i, and the loop's step.
local indices = {
  { "(i * 5) & 31", function(i) return i * 5 % 32 end },
  { "(unsigned)(3 * i) % 16", function(i) return 3 * i % 16 end },
  { "i * 6 % 64", function(i) return i * 6 % 64 end },
  { "(unsigned char)(i * 7)", function(i) return i * 7 % 256 end },
  { "(i * 2 + 1) & 15", function(i) return (i * 2 + 1) % 16 end },
  { "((unsigned)(i * 4) << 27) >> 27", function(i) return i * 4 % 32 end },
  { "i & 31", function(i) return i % 32 end, step = 3 },
  { "i & 31", function(i) return i % 32 end },
}

describe("loops whose indices wrap", function()
  for _, index in ipairs(indices) do
    local text, value, step = index[1], index[2], index.step or 1
    for _, options in ipairs { {}, { "--width=1" }, { "--width=1", "-O3" } } do
      it(("load the right elements: %s, i += %d, %s"):format(text, step, table.concat(options, " ")), function()
        local source = ([==[
          __global__ void load(const float *__restrict__ in, float *__restrict__ out) {
            float *own = out + 96 * threadIdx.x;
            for (int i = 0; i < 96; i += %d) own[i] = in[%s];
          }]==]):format(step, text)
        local out = mw.zeros(96 * 40)
        mw.compile { source = source, options = options }.load(1, 40)(mw.arange(512), out)
        local wanted, rows = {}, out:totable()
        for i = 0, 95 do wanted[i + 1] = ("%d"):format(i % step == 0 and value(i) or 0) end
        for t = 0, 39 do
          local row = {}
          for i = 1, 96 do row[i] = ("%d"):format(rows[96 * t + i]) end
          assert.equal(table.concat(wanted, " "), table.concat(row, " "))
        end
      end)
    end
  end

  local function vector_loads(index)
    return mwcc.count(mwcc.run(([==[
      __global__ void load(const float *__restrict__ in, float *__restrict__ out) {
        for (int i = 0; i < 96; i++) out[96 * threadIdx.x + i] = in[%s];
      }]==]):format(index), "--width=1 --mcpu=x86-64-v3 --emit=ir"), "store <%d+ x float>")
  end

  it("are vectorised where nothing wraps in strides", function()
    assert.equal(0, vector_loads "(i * 5) & 31")
    assert.is_true(vector_loads "i" > 0)
    assert.is_true(vector_loads "i + (threadIdx.x & 31)" > 0)
  end)
end)
