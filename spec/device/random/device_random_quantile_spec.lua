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

local source = [[
#include <curand_kernel.h>
template <class T> __global__ void quantiles(const unsigned *words, int count, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if constexpr (sizeof(T) == 8) out[i] = _curand_normal_icdf_double(words[i]);
  else out[i] = _curand_normal_icdf(words[i]);
}
]]

describe("normal quantiles", function()
  local m, words
  setup(function()
    m = mw.compile(source)
    local list = {}
    for i, row in ipairs(quantiles) do list[i] = row[1] end
    words = mw.array(list, "unsigned int")
  end)

  local function check(type, precision, most)
    local out = mw.zeros(#quantiles, type)
    local kernel = m[("quantiles<%s>"):format(type)]
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
end)
