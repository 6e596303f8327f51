-- Store sinking (mwcc pass store-sinking): in functions with hundreds of slots, each begins where it is first needed.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- A function with `count` slots; each is set to zero in %top, and used as `uses` says with its number for N.
local function ir(count, uses)
  local slots, begins, ends = {}, {}, {}
  for n = 1, count do
    slots[n] = ("  %%s%d = alloca i32"):format(n)
    begins[n] = ("  store i32 0, ptr %%s%d"):format(n)
    ends[n] = ("  store i32 undef, ptr %%s%d"):format(n)
  end
  return table.concat({
    "target triple = \"x86_64-unknown-linux-gnu\"",
    "define void @f(ptr %p, i1 %c) {", "entry:", table.concat(slots, "\n"), "  br label %top",
    "top:", table.concat(begins, "\n"), "  br i1 %c, label %first, label %done",
    uses,
    "done:", table.concat(ends, "\n"), "  br i1 %c, label %top, label %out",
    "out:", "  ret void", "}",
  }, "\n")
end

-- The blocks in which something is stored to slot 7, and what.
local function stores(text)
  local found, block = {}, nil
  for line in text:gmatch "[^\n]+" do
    block = line:match "^([%a%d]+):" or block
    local value = line:match "store i32 (%S+), ptr %%s7,"
    if value then found[#found + 1] = block .. " " .. value end
  end
  return found
end

local in_line = [[
first:
  br i1 %c, label %left, label %right
left:
  store i32 5, ptr %s7
  br label %join
right:
  br label %join
join:
  %x = load i32, ptr %s7
  store i32 %x, ptr %p
  br label %done]]

local in_loop = [[
first:
  br label %join
join:
  %x = load i32, ptr %s7
  %y = add i32 %x, 1
  store i32 %y, ptr %s7
  store i32 %y, ptr %p
  br i1 %c, label %join, label %done]]

describe("the slots of a function", function()
  it("are set to zero in the nearest block that dominates their uses, and need no end", function()
    assert.same({ "first 0", "left 5" }, stores((mwcc.only(ir(600, in_line), "store-sinking"))))
  end)

  it("are not set again in a loop that does not set them", function()
    assert.same({ "first 0", "join %y" }, stores((mwcc.only(ir(600, in_loop), "store-sinking"))))
  end)

  it("stay where they are in functions with few slots", function()
    assert.same({ "top 0", "left 5", "done undef" }, stores((mwcc.only(ir(20, in_line), "store-sinking"))))
  end)

  it("leave a switch with hundreds of cases as it was", function()
    local lines = {}
    for i = 0, 399 do
      local case = "case %d: x = x * %d + %d; if (x > 1000) x %%= %d; break;"
      lines[#lines + 1] = case:format(i * i, i % 5 + 1, i, i + 7)
    end
    local m = mw.compile("__global__ void k(int *o, const int *c, int n) { int x = threadIdx.x;\n" ..
      "for (int i = 0; i < n; i++) switch (c[i * blockDim.x + threadIdx.x]) {\n" .. table.concat(lines, "\n") ..
      "\ndefault: x += 3; }\no[threadIdx.x] = x; }")
    local threads, n, choices = 64, 30, {}
    for i = 1, n * threads do
      local k = i * 7919 % 450
      choices[i] = i % 11 == 0 and 2 or k * k
    end
    local out = mw.zeros(threads, "int")
    m.k(1, threads)(out, mw.array(choices, "int"), n)
    for t = 0, threads - 1 do
      local x = t
      for i = 0, n - 1 do
        local root = math.floor(math.sqrt(choices[i * threads + t + 1]) + 0.5)
        if root * root == choices[i * threads + t + 1] and root < 400 then
          x = x * (root % 5 + 1) + root
          if x > 1000 then x = x % (root + 7) end
        else
          x = x + 3
        end
      end
      assert.equal(x, out[t + 1])
    end
  end)
end)
