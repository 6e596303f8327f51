-- Random123 (Debian's librandom123-dev) with -I: counter-based generators in kernels, against the known answers that
-- their authors published (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local paths = require "support.compile.paths"

local options = { "-I/usr/include", "-O1" }
local source = [==[
#include <Random123/philox.h>
#include <Random123/threefry.h>
#include <Random123/uniform.hpp>
__global__ void k(unsigned *out, unsigned long long *wide, float *u) {
  r123::Philox4x32::ctr_type zero = {{0, 0, 0, 0}};
  r123::Philox4x32::key_type key = {{0, 0}};
  auto r = r123::Philox4x32()(zero, key);
  for (int i = 0; i < 4; i++) out[i] = r[i];
  threefry4x32_ctr_t counter = {{~0u, ~0u, ~0u, ~0u}};
  threefry4x32_key_t ones = {{~0u, ~0u, ~0u, ~0u}};
  auto t = threefry4x32(counter, ones);
  for (int i = 0; i < 4; i++) out[4 + i] = t.v[i];
  r123::Philox2x64::ctr_type c = {{0, 0}};
  r123::Philox2x64::key_type k = {{0}};
  auto w = r123::Philox2x64()(c, k);
  wide[0] = w[0], wide[1] = w[1];
  u[0] = r123::u01<float>(0x80000000u), u[1] = r123::u01<float>(0xffffffffu);
}]==]

local file = io.open "/usr/include/Random123/philox.h"
if file then file:close() end

describe("Random123", function()
  if not file then return pending "Random123 is not installed: apt install librandom123-dev" end

  it("gives its authors' known answers", function()
    local out, wide, u = mw.zeros(8, "uint"), mw.zeros(2, "ulonglong"), mw.zeros(2)
    mw.compile { source = source, options = options }.k(1, 1)(out, wide, u)
    local words = {}
    for i = 1, 8 do words[i] = ("%08x"):format(out[i]) end
    assert.same({
      "6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8",
      "2a881696", "57012287", "f6c7446e", "a16a6732",
    }, words)
    assert.equal("ca00a0459843d731 66c24222c9a845b5", ("%x %x"):format(wide[1], wide[2]))
    assert.near(0.5, u[1], 1e-7)
    assert.equal(1, u[2])
  end)

  it("compiles for GPUs", function()
    paths.assert_compiles_for_gpus { source = source, options = options }
  end)
end)
