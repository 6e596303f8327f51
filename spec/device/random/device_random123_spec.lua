-- Random123's generators in kernels: known answers.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local suite = require "support.suite"

-- The generator, its rounds, counter, key, result: digits of pi as in Random123's kat_vectors. (Salmon et al., 2011)
local known = {
  { "philox2x32", 7,
    "243f6a88 85a308d3",
    "13198a2e",
    "bedbbe6b e4c770b3" },
  { "philox2x32", 10,
    "243f6a88 85a308d3",
    "13198a2e",
    "dd7ce038 f62a4c12" },
  { "philox4x32", 7,
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0",
    "4dfccaba 190a87f0 c47362ba b6b5242a" },
  { "philox4x32", 10,
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0",
    "d16cfe09 94fdcceb 5001e420 24126ea1" },
  { "philox2x64", 7,
    "243f6a8885a308d3 13198a2e03707344",
    "a4093822299f31d0",
    "98ed1534392bf372 67528b1568882fd5" },
  { "philox2x64", 10,
    "243f6a8885a308d3 13198a2e03707344",
    "a4093822299f31d0",
    "0a5e742c2997341c b0f883d38000de5d" },
  { "philox4x64", 7,
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c",
    "513a366704edf755 f05d9924c07044d3 bef2cb9cbea74c6c 8db948de4caa1f8a" },
  { "philox4x64", 10,
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c",
    "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6" },
  { "threefry2x32", 13,
    "243f6a88 85a308d3",
    "13198a2e 03707344",
    "ba3e4725 f27d669e" },
  { "threefry2x32", 20,
    "243f6a88 85a308d3",
    "13198a2e 03707344",
    "c4923a9c 483df7a0" },
  { "threefry2x32", 32,
    "243f6a88 85a308d3",
    "13198a2e 03707344",
    "e2827716 c3c05cdf" },
  { "threefry4x32", 13,
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0 082efa98 ec4e6c89",
    "4aa71d8f 734738c2 431fc6a8 ae6debf1" },
  { "threefry4x32", 20,
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0 082efa98 ec4e6c89",
    "59cd1dbb b8879579 86b5d00c ac8b6d84" },
  { "threefry4x32", 72,
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0 082efa98 ec4e6c89",
    "09930adf 7f27bd55 9ed68ce1 97f803f6" },
  { "threefry2x64", 13,
    "243f6a8885a308d3 13198a2e03707344",
    "a4093822299f31d0 082efa98ec4e6c89",
    "c3aac71561042993 3fe7ae8801aff316" },
  { "threefry2x64", 20,
    "243f6a8885a308d3 13198a2e03707344",
    "a4093822299f31d0 082efa98ec4e6c89",
    "263c7d30bb0f0af1 56be8361d3311526" },
  { "threefry2x64", 32,
    "243f6a8885a308d3 13198a2e03707344",
    "a4093822299f31d0 082efa98ec4e6c89",
    "dad492f32efbd0c4 b6d7d0cd1f193e84" },
  { "threefry4x64", 13,
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c c0ac29b7c97c50dd 3f84d5b5b5470917",
    "4361288ef9c1900c 8717291521782833 0d19db18c20cf47e a0b41d63ac8581e5" },
  { "threefry4x64", 20,
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c be5466cf34e90c6c c0ac29b7c97c50dd",
    "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4" },
  { "threefry4x64", 72,
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c be5466cf34e90c6c c0ac29b7c97c50dd",
    "acf412ccaa3b2270 c9e99bd53f2e9173 43dad469dc825948 fbb19d06c8a2b4dc" },
}

local function words(text) return (text:gsub("%x+", "0x%0ull,"):gsub(",$", "")) end
local function vector(type, text)
  local count = select(2, text:gsub("%x+", ""))
  return count == 1 and words(text) or ("make_%s%d(%s)"):format(type, count, words(text))
end

describe("Random123 in a kernel", function()
  for _, case in ipairs(known) do
    local name, rounds, counter, key, result = table.unpack(case)
    it(("has the known answer of %s at %d rounds"):format(name, rounds), function()
      local type = name:find "64$" and "ulonglong" or "uint"
      local m = mw.compile(([[
        #include <moonwarp/random/%s.h>
        __global__ void k(unsigned long long *out) {
          auto x = moonwarp::%s<%d>(%s, %s);
          const auto *word = &x.x;
          for (int i = 0; i < sizeof x / sizeof *word; i++) out[i] = word[i];
        }
      ]]):format(name:match "^%a+", name, rounds, vector(type, counter), vector(type, key)))
      local count = select(2, result:gsub("%x+", ""))
      local out = mw.zeros(count, "unsigned long long")
      m.k(1, 1)(out)
      local got, width = {}, name:find "64$" and 16 or 8
      for i = 1, count do got[i] = ("%0" .. width .. "x"):format(out[i]) end
      assert.equal(result, table.concat(got, " "))
    end)
  end

  it("takes 10 rounds of Philox and 20 of Threefry where no number is given", function()
    local m = mw.compile [[
      #include <moonwarp/random/philox.h>
      #include <moonwarp/random/threefry.h>
      __global__ void k(int *out) {
        uint4 counter = make_uint4(1, 2, 3, threadIdx.x), key = make_uint4(5, 6, 7, 8);
        uint2 two = make_uint2(5, 6);
        uint4 p = moonwarp::philox4x32(counter, two), q = moonwarp::philox4x32<10>(counter, two);
        uint4 t = moonwarp::threefry4x32(counter, key), u = moonwarp::threefry4x32<20>(counter, key);
        out[threadIdx.x] = p.x == q.x && p.w == q.w && t.x == u.x && t.w == u.w && p.x != t.x;
      }
    ]]
    local out = mw.zeros(32, "int")
    m.k(1, 32)(out)
    for i = 1, 32 do assert.equal(1, out[i]) end
    assert.equal(suite.simd, m.k.tier)
  end)
end)
