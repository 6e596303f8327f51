-- Single passes on a few lines of IR: what they change, and what they leave unchanged.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local only, count = mwcc.only, mwcc.count

local V3 = "--mcpu=x86-64-v3"

local function has(text, pattern) assert.is_true(count(text, pattern) > 0, pattern .. " in\n" .. text) end
local function has_not(text, pattern) assert.equal(0, count(text, pattern), text) end

describe("known-bits-freeze", function()
  local function sum(mask)
    return ([[
define <4 x i32> @f(<4 x i32> %%x) {
  %%a = shufflevector <4 x i32> %%x, <4 x i32> zeroinitializer, <4 x i32> <%s>
  %%b = add <4 x i32> %%a, %%x
  ret <4 x i32> %%b
}]]):format(mask)
  end

  it("freezes a sum of a vector and its shuffle", function()
    has(only(sum "i32 4, i32 0, i32 1, i32 2", "known-bits-freeze"), "freeze <4 x i32> %%b")
  end)

  it("does not freeze sums of other vectors", function()
    local ir = "define <4 x i32> @f(<4 x i32> %x, <4 x i32> %y) {\n  %b = add <4 x i32> %x, %y\n  ret <4 x i32> %b\n}"
    has_not(only(ir, "known-bits-freeze"), "freeze")
  end)
end)

describe("store-forwarding", function()
  local function stored(between)
    return [[
declare void @unknown()
define <4 x float> @f(ptr noalias %p, ptr %o, <4 x float> %a, <4 x float> %b) {
  store <4 x float> %a, ptr %p, align 4
  %q = getelementptr i8, ptr %p, i64 16
  store <4 x float> %b, ptr %q, align 4
  ]] .. between .. [[

  %r = getelementptr i8, ptr %p, i64 4
  %v = load <4 x float>, ptr %r, align 4
  ret <4 x float> %v
}]]
  end

  it("replaces a load across two stores by the stored values", function()
    local ir = only(stored "", "store-forwarding")
    has_not(ir, "= load")
    has(ir, "shufflevector")
  end)

  it("keeps the load if a call may have changed the memory", function()
    has(only(stored "call void @unknown()", "store-forwarding"), "= load")
  end)
end)

describe("scalef", function()
  local ir = [[
declare <16 x float> @llvm.ldexp.v16f32.v16i32(<16 x float>, <16 x i32>)
define <16 x float> @f(<16 x float> %x, <16 x i32> %n) {
  %y = call <16 x float> @llvm.ldexp.v16f32.v16i32(<16 x float> %x, <16 x i32> %n)
  ret <16 x float> %y
}]]

  it("uses AVX-512's instruction", function()
    local made = only(ir, "scalef")
    has(made, "call <16 x float> @llvm%.x86%.avx512%.mask%.scalef%.ps%.512")
    has_not(made, "call [^\n]*ldexp")
  end)
end)

describe("gathers", function()
  local ir = [[
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
define <8 x float> @f(ptr %p, <8 x i32> %i, <8 x i1> %m) {
  %w = sext <8 x i32> %i to <8 x i64>
  %a = getelementptr float, ptr %p, <8 x i64> %w
  br label %next
next:
  %v = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %a, i32 4, <8 x i1> %m, <8 x float> zeroinitializer)
  ret <8 x float> %v
}]]

  it("are a load for each lane after gather-scalarization, if the processor's are slow", function()
    local made = only(ir, "gather-scalarization", V3)
    assert.equal(8, count(made, "= load float"))
    has_not(made, "call [^\n]*gather")
  end)

  it("load from a stack slot for inactive lanes", function()
    has(only(ir, "gather-scalarization", V3), "select <8 x i1> %%m, <8 x ptr> %%a")
  end)

  it("stay one instruction with AVX-512", function()
    assert.equal(1, count(only(ir, "gather-scalarization"), "call [^\n]*gather"))
  end)

  it("have their indices' extension in their block after gather-indices", function()
    has(only(ir, "gather-indices"):match "next:(.*)", "sext <8 x i32> %%i to <8 x i64>")
  end)
end)

describe("mask-legalization", function()
  local ir = [[
define <8 x float> @f(<8 x float> %a, <8 x float> %b, i1 %c) {
entry:
  %m = fcmp olt <8 x float> %a, %b
  br i1 %c, label %x, label %y
x:
  br label %y
y:
  %k = phi <8 x i1> [ %m, %entry ], [ zeroinitializer, %x ]
  %s = select <8 x i1> %k, <8 x float> %a, <8 x float> %b
  ret <8 x float> %s
}]]

  it("makes a mask that crosses blocks as wide as its lanes", function()
    local made = only(ir, "mask-legalization", V3)
    has(made, "phi <8 x i32>")
    has_not(made, "phi <8 x i1>")
  end)

  it("leaves masks in AVX-512's mask registers", function()
    has(only(ir, "mask-legalization"), "phi <8 x i1>")
  end)

  it("does not change a mask of one block", function()
    local one = [[
define <8 x float> @f(<8 x float> %a, <8 x float> %b) {
  %m = fcmp olt <8 x float> %a, %b
  %s = select <8 x i1> %m, <8 x float> %a, <8 x float> %b
  ret <8 x float> %s
}]]
    has_not(only(one, "mask-legalization", V3), "sext")
  end)
end)

describe("rsqrt-estimate", function()
  local function quotient(flags)
    return ([[
declare <16 x float> @llvm.sqrt.v16f32(<16 x float>)
define <16 x float> @f(<16 x float> %%x) {
  %%s = call %s <16 x float> @llvm.sqrt.v16f32(<16 x float> %%x)
  %%q = fdiv %s <16 x float> splat (float 1.0), %%s
  ret <16 x float> %%q
}]]):format(flags, flags)
  end

  it("uses AVX-512's estimate if the quotient need not be exact", function()
    local made = only(quotient "arcp contract", "rsqrt-estimate")
    has(made, "rsqrt14")
    has_not(made, "fdiv")
  end)

  it("divides exactly elsewhere, without the arcp flag", function()
    has(only(quotient "arcp contract", "rsqrt-estimate", V3), "fdiv <16 x float>")
  end)

  it("does not change exact quotients", function() has_not(only(quotient "", "rsqrt-estimate"), "rsqrt14") end)
end)

describe("bit casts of floats", function()
  local ir = [[
define <8 x i32> @f(<8 x float> %x) {
  %b = bitcast <8 x float> %x to <8 x i32>
  %c = lshr <8 x i32> %b, splat (i32 23)
  ret <8 x i32> %c
}]]

  it("are calls after hide-float-bits", function()
    local made = only(ir, "hide-float-bits")
    has_not(made, "bitcast")
    has(made, "call <8 x i32> @\"__mw_bits")
  end)

  it("are restored by show-float-bits", function()
    local made = only(ir, "hide-float-bits --only=show-float-bits")
    has(made, "bitcast <8 x float> %%x to <8 x i32>")
    has_not(made, "__mw_bits")
  end)

  it("from integers to floats are not hidden", function()
    local other = "define float @f(i32 %x) {\n  %b = bitcast i32 %x to float\n  ret float %b\n}"
    has(only(other, "hide-float-bits"), "bitcast i32 %%x to float")
  end)
end)

describe("simplify and llvm-pipeline", function()
  local slots = [[
define i32 @f(i32 %x) {
  %slot = alloca i32
  store i32 %x, ptr %slot
  %v = load i32, ptr %slot
  %y = add i32 %v, 0
  ret i32 %y
}]]

  it("promote slots to registers", function()
    for _, pass in ipairs { "simplify", "llvm-pipeline" } do has_not(only(slots, pass), "alloca") end
  end)
end)

describe("store-sandbox", function()
  it("tests the address of a store if it was loaded", function()
    local ir = [[
define void @f(ptr %thread, ptr %p) {
  %to = load ptr, ptr %p
  store i32 1, ptr %to
  ret void
}]]
    local made = only(ir, "store-sandbox")
    has(made, "select i1 %%inside, ptr %%to")
    has(made, "store i32 1, ptr %%sandboxed")
  end)

  it("does not test a store to a local array", function()
    local ir = "define void @f(ptr %thread) {\n  %a = alloca [4 x i32]\n  store i32 1, ptr %a\n  ret void\n}"
    has_not(only(ir, "store-sandbox"), "sandboxed")
  end)
end)

describe("mwcc on IR", function()
  it("reports invalid IR", function()
    local output, status = only("define void @f(", "simplify")
    assert.equal(2, status)
    has(output, "cannot be read as IR")
  end)

  it("needs the name of a pass", function()
    local path = os.tmpname() .. ".ll"
    local pipe = assert(io.popen(("touch %s; '%s' %s 2>&1; rm %s"):format(path, mwcc.program, path, path)))
    local output = pipe:read "*a"
    pipe:close()
    has(output, "IR needs %-%-only=NAME")
  end)
end)
