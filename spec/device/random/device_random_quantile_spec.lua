-- Normal numbers that are made by the inverse of the distribution, compared with its quantiles (mpmath's, from 110
-- bits).
-- Lua 5.4 only: this tests device headers.
-- CPU device only: GPUs' own inverse of the error function is less accurate

local mw = require "moonwarp"
local suite = require "support.suite"

-- A word x, and the quantile of (x + 1/2) / 2^32 in two parts.
local quantiles = {
  { 0x00000000, -0x1.95a1198fcf3d6p+2, 0x1.2cbfee285228ap-52 },
  { 0x00000001, -0x1.8aa6c7fe07fe0p+2, 0x1.76b92236c2041p-52 },
  { 0x00000002, -0x1.85725a5638426p+2, -0x1.a7aa00ba9cde6p-52 },
  { 0x00000064, -0x1.5da2d11fc6bd1p+2, -0x1.92b6cf6816e9cp-54 },
  { 0x00001388, -0x1.2e3f0051cddaap+2, 0x1.4299ba285ccc3p-54 },
  { 0x00100000, -0x1.be596c509b3f0p+1, -0x1.f1b9b3d121bb1p-54 },
  { 0x01000003, -0x1.547d16a88b9d9p+1, 0x1.90e044a277310p-58 },
  { 0x0800000b, -0x1.dcdbfe4065e3ep+0, 0x1.3debf834ed4e3p-54 },
  { 0x10000007, -0x1.88bc1f8121e0bp+0, -0x1.58293742675edp-54 },
  { 0x7ff00000, -0x1.40d9294896a27p-11, 0x1.1d460beeb33c4p-65 },
  { 0x7fffffff, -0x1.40d931ff62706p-32, 0x1.a68bd6e75c876p-86 },
  { 0x80000000, 0x1.40d931ff62706p-32, -0x1.a68bd6e75c876p-86 },
  { 0x80000005, 0x1.b92aa4bf275a8p-29, -0x1.37775d9a09e7dp-83 },
  { 0xffc00000, 0x1.8c735076c5269p+1, 0x1.10d9c34171092p-53 },
  { 0xffff0000, 0x1.0ada4095abf76p+2, 0x1.2f8a72e6983b6p-52 },
  { 0xffffffff, 0x1.95a1198fcf3d6p+2, -0x1.2cbfee21bbd8ap-52 },
  { 0xabb8e5a8, 0x1.c4b4c27aedbadp-2, -0x1.3b50fb900f086p-56 },
  { 0xce14abee, 0x1.b8212837cf46bp-1, -0x1.199b45d5031cep-55 },
  { 0x05cc99f5, -0x1.003aec6c29493p+1, -0x1.d689a6eef2e88p-56 },
  { 0xced53525, 0x1.bd9c4b46aadebp-1, -0x1.52761ff90af8ep-58 },
  { 0x7806adc0, -0x1.4020b1ed3a116p-4, -0x1.ab1e6675659c2p-60 },
  { 0x83ec603f, 0x1.3ac6ef9520892p-5, 0x1.4e8350247deacp-59 },
  { 0xa1570476, 0x1.5473ddd35a3c9p-2, 0x1.505e0922badb3p-56 },
  { 0x492a477c, -0x1.21a2763290535p-1, -0x1.dece91056957ap-57 },
  { 0xfac210ed, 0x1.05a21d908c80ap+1, 0x1.4196d8f4333fap-53 },
  { 0x0dce670a, -0x1.9b9e0a8818904p+0, 0x1.9ff04f387350ap-55 },
  { 0x4726028f, -0x1.2d941abf26a10p-1, 0x1.e054ef5c15a28p-56 },
  { 0x62247685, -0x1.2fc3a27a0e3d6p-2, 0x1.667e33d9064bbp-56 },
  { 0x923923c4, 0x1.6f6430bb4bb04p-3, 0x1.eca1acbfee5cap-58 },
  { 0x6891b332, -0x1.da0f27f3098bep-3, -0x1.34b16b6ac1f10p-59 },
  { 0x218d35ce, -0x1.1f136a2d03bc3p+0, -0x1.bbbe6957cf674p-56 },
  { 0x0b9727b5, -0x1.b147c7ceb03ebp+0, -0x1.ca2fb1528c134p-57 },
  { 0x00428ab4, -0x1.8af869f5be588p+1, -0x1.d3f06ff80c1bep-54 },
  { 0x0c7b62a5, -0x1.a8327748351cep+0, -0x1.f994d87d6e92ap-57 },
  { 0x2618b890, -0x1.0aa1bd82370f1p+0, 0x1.bc98d8e485da8p-58 },
  { 0xffca0181, 0x1.92db3d4c9e572p+1, 0x1.b40974622ab41p-53 },
  { 0x30e43655, -0x1.bfa1f122a48efp-1, 0x1.1c641d6b1cc3dp-55 },
  { 0xa701a97f, 0x1.91203aff32df5p-2, 0x1.8bc83b1ab9612p-57 },
  { 0xc010f76d, 0x1.59c1885611808p-1, -0x1.49f3a13716b2ep-57 },
  { 0x3c08dc4e, -0x1.72b9ce771e175p-1, -0x1.5d5f862644834p-55 },
  { 0x4840b5bd, -0x1.2704b2a3acd14p-1, 0x1.40f5742b427f1p-55 },
  { 0x6f58b908, -0x1.4f72097999d31p-3, -0x1.77a85946807f6p-58 },
  { 0x43638abf, -0x1.444c708902a39p-1, 0x1.099f735ec224dp-56 },
  { 0xf9644430, 0x1.f23bdbd900882p+0, -0x1.b54af25ddaf4ap-54 },
  { 0x2d7f2843, -0x1.d9216cc92e14dp-1, 0x1.6210dfa00d0ffp-57 },
  { 0xe5ce3321, 0x1.44b7c3a696c7cp+0, 0x1.9f2407d028cdap-54 },
  { 0xcc3555d9, 0x1.aab2ab95f5a1dp-1, 0x1.69111ae914693p-56 },
  { 0xd81f8678, 0x1.03127319de1b6p+0, 0x1.590dabd927d45p-55 },
  { 0x1da07f0e, -0x1.3254b8810e885p+0, -0x1.3df4359597ae8p-56 },
  { 0x6474a1d0, -0x1.179c474ba3a95p-2, -0x1.37901c448086dp-56 },
  { 0xa0c69753, 0x1.4e7af5f5f433ep-2, 0x1.a2a654bc7fdd8p-56 },
  { 0x7e36c1ad, -0x1.1e8ca8785357bp-6, -0x1.3058de2b39ff4p-60 },
  { 0xaa76397e, 0x1.b6cfedd434626p-2, -0x1.59aec772f7c61p-56 },
  { 0xad3b836b, 0x1.d576caf17ee00p-2, 0x1.d42e5d3c064adp-56 },
  { 0xa9b58b34, 0x1.ae8ddcff79cdfp-2, 0x1.c487d4d46789ap-57 },
  { 0x0f90c43f, -0x1.8c4e520a805a8p+0, -0x1.4a6c537def52ep-54 },
}

-- Numbers of cuRAND's host library (10.3.10, sobol32) for words.
local of_host = {
  { 0x00000000, -0x1.95a1198fcf3d7p+2 }, { 0x00001000, -0x1.30d49b0509c92p+2 }, { 0x01000000, -0x1.547d1729e09dap+1 },
  { 0x05f16000, -0x1.fdd14fd181e74p+0 }, { 0x07955000, -0x1.e2e99c140071dp+0 }, { 0x07ffe000, -0x1.dcddc589b2ce5p+0 },
  { 0x08000000, -0x1.dcdbfedcb059ep+0 }, { 0x08001000, -0x1.dcdb1b8863313p+0 }, { 0x0b76b000, -0x1.b29e25d959d86p+0 },
  { 0x0d227000, -0x1.a1df4d143001cp+0 }, { 0x1bc7b000, -0x1.3c0594f21ac42p+0 }, { 0x1ffff000, -0x1.267d99bef4a5fp+0 },
  { 0x20000000, -0x1.267d4c0542895p+0 }, { 0x20001000, -0x1.267cfe4bab925p+0 }, { 0x21df1000, -0x1.1d93ea8a901d4p+0 },
  { 0x32a2e000, -0x1.b2f3733bc80bcp-1 }, { 0x32f16000, -0x1.b0bfeee4ecbb1p-1 }, { 0x3ecf0000, -0x1.60dfebfecd420p-1 },
  { 0x3fff0000, -0x1.595d03aa975c0p-1 }, { 0x58c88000, -0x1.9367566b830b5p-2 }, { 0x690cc000, -0x1.d02a0a0449da7p-3 },
  { 0x76d22000, -0x1.70a37491ba9c3p-4 }, { 0x7ffff000, -0x1.40cf2b35d3c54p-19 }, { 0x80000000, 0x1.40d931ff62706p-32 },
  { 0x80001000, 0x1.40e338c8f3bb9p-19 }, { 0x800a3000, 0x1.9894aa66408eap-12 }, { 0x8e4da000, 0x1.1fc45b5267f99p-3 },
  { 0xa8c9c000, 0x1.a47c78906a15bp-2 }, { 0xb0e92000, 0x1.fed2566b16afep-2 }, { 0xc0000000, 0x1.5956b8784e3d9p-1 },
  { 0xc35f5000, 0x1.6edf3831deedep-1 }, { 0xcdd74000, 0x1.b6643f7c41985p-1 }, { 0xe0000000, 0x1.267d4c0a1e23bp+0 },
  { 0xe0001000, 0x1.267d99c3d041dp+0 }, { 0xeceb4000, 0x1.715cc13be0b14p+0 }, { 0xf0dd0000, 0x1.8fe83d377c76bp+0 },
  { 0xf8000000, 0x1.dcdbfeeae5aa6p+0 }, { 0xf8001000, 0x1.dcdce240aaf49p+0 }, { 0xf8395000, 0x1.e013e674b4efbp+0 },
  { 0xf8fc6000, 0x1.eba4259480d85p+0 }, { 0xfacf6000, 0x1.06296827ff134p+1 }, { 0xfb08d000, 0x1.087ecf454079bp+1 },
  { 0xfbed3000, 0x1.12c4362ef79cep+1 }, { 0xfc30f000, 0x1.162f379233ba7p+1 }, { 0xfcad5000, 0x1.1d07a5572c7eap+1 },
  { 0xfd4fc000, 0x1.2769d79926576p+1 }, { 0xfdae6000, 0x1.2e7e9b0a4218dp+1 }, { 0xfe06f000, 0x1.36152150c151ap+1 },
  { 0xfe294000, 0x1.39574154f4b87p+1 }, { 0xff47d000, 0x1.627236c93f292p+1 }, { 0xfffff000, 0x1.30d569928f49bp+2 },
}

-- The same where the C library's logarithm (glibc 2.36) is not rounded correctly, which moves them by 3 or 4 units.
local of_incorrect_logarithms = {
  { 0xfffd6c99, 0x1.f96c044998e78p+1 }, { 0xfff9109f, 0x1.da3398705ecfcp+1 },
  { 0xffe8df4e, 0x1.b1938e1c14acdp+1 }, { 0xffdff382, 0x1.a5fc68f3fbb04p+1 },
}

-- Numbers for words of 64 bits: upper and lower half (sobol64).
local of_wide_words = {
  { 0x00000000, 0x000, -8.2923610758135933 }, { 0x00000000, 0xc00, -8.1607078408585831 },
  { 0x20000000, 0x000, -1.1503493803760079 }, { 0x40000000, 0x000, -0.67448975019608159 },
  { 0x40000000, 0xc00, -0.67448975019608126 }, { 0x60000000, 0x000, -0.31863936396437503 },
  { 0x80000000, 0x000, 0 }, { 0x80000000, 0x7ff, 0 }, { 0x80000000, 0xc00, 4.1743746370076507e-16 },
  { 0xa0000000, 0x000, 0.31863936396437537 }, { 0xc0000000, 0x000, 0.67448975019608182 },
  { 0xc0000000, 0xc00, 0.67448975019608237 }, { 0xe0000000, 0x600, 1.1503493803760088 },
}

local source = [[
#include <moonwarp/random/distributions/draws.h>
template <class T> __global__ void quantiles(const unsigned *words, int count, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if constexpr (sizeof(T) == 8) out[i] = _curand_normal_icdf_double(words[i]);
  else out[i] = _curand_normal_icdf(words[i]);
}
extern "C" __global__ void of_host(const unsigned *words, int count, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = draw_normal_double::make(words[i], 0.0, 1.0);
}
extern "C" __global__ void of_wide(uint2 word, double *out) {
  *out = draw_normal_double::make((unsigned long long)word.x << 32 | word.y, 0.0, 1.0);
}
extern "C" __global__ void logarithms(int count, double *q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) q[i] = __mw_c_logarithm(q[i]);
}
]]

describe("normal quantiles", function()
  local m, of_gpus, words
  setup(function()
    m, of_gpus = mw.compile(source), mw.compile("#define __mw_quantile_of_gpus\n" .. source)
    local list = {}
    for i, row in ipairs(quantiles) do list[i] = row[1] end
    words = mw.array(list, "unsigned int")
  end)

  local function check(type, precision, most, of)
    local out = mw.zeros(#quantiles, type)
    local kernel = (of or m)[("quantiles<%s>"):format(type)]
    assert.equal(suite.simd, kernel.tier)
    kernel(1, 64)(words, #quantiles, out)
    for i, row in ipairs(quantiles) do
      local apart = math.abs(out[i] - row[2] - row[3]) / math.max(1, math.abs(row[2])) * precision
      assert(apart <= most, ("word %x: %g units"):format(row[1], apart))
    end
  end

  it("of words of 32 bits are within 1.5 units of a double's precision", function()
    check("double", 2.0 ^ 52, 1.5)
  end)

  it("are within 2 units of a float's precision", function()
    check("float", 2.0 ^ 23, 2)
  end)

  it("are within 3 units of a float's precision where mwcc compiles for GPUs", function()
    check("float", 2.0 ^ 23, 3, of_gpus)
  end)

  it("of the host library's streams are its doubles, whichever way their logarithm is rounded", function()
    for _, upper in ipairs { true, false } do
      local list = {}
      for i, row in ipairs(of_incorrect_logarithms) do list[i] = upper and row[1] or 0xffffffff - row[1] end
      local out = mw.zeros(#list, "double")
      m.of_host(1, 64)(mw.array(list, "unsigned int"), #list, out)
      for i, row in ipairs(of_incorrect_logarithms) do assert.equal(upper and row[2] or -row[2], out[i]) end
    end
  end)

  it("come from the C library's logarithms", function()
    local seed, count = os.time(), 2 ^ 20
    math.randomseed(seed)
    local list = {}
    for i = 1, count do list[i] = 2.0 ^ (-4 - 49 * math.random()) end
    local out = mw.array(list, "double")
    assert.equal(suite.simd, m.logarithms.tier)
    m.logarithms(count // 256, 256)(count, out)
    for i, y in ipairs(out:totable()) do
      local expected = math.log(list[i])
      if y ~= expected then error(("seed %d: of %a %a, not %a"):format(seed, list[i], y, expected)) end
    end
  end)

  it("of the host library's streams are its doubles", function()
    local list = {}
    for i, row in ipairs(of_host) do list[i] = row[1] end
    local out = mw.zeros(#list, "double")
    assert.equal(suite.simd, m.of_host.tier)
    m.of_host(1, 128)(mw.array(list, "unsigned int"), #list, out)
    for i, row in ipairs(of_host) do assert.equal(row[2], out[i], ("word %x"):format(row[1])) end
  end)

  it("of words of 64 bits are the host library's doubles", function()
    local out = mw.zeros(1, "double")
    for _, row in ipairs(of_wide_words) do
      m.of_wide(1, 1)({ row[1], row[2] }, out)
      assert.equal(row[3], out[1], ("word %08x%08x"):format(row[1], row[2]))
    end
  end)
end)
