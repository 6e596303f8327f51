-- ldmatrix, stmatrix and movmatrix: 8 x 8 numbers of 16 bits between shared memory and a warp's registers.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local suite = require "support.suite"

describe("PTX's matrices of 8 x 8", function()
  local m

  setup(function()
    m = mw.compile [[
#define ADDRESS(p) ((unsigned)__cvta_generic_to_shared(p))
__global__ void loads(const unsigned short *from, unsigned *plain, unsigned *turned) {
  __shared__ __align__(16) unsigned short rows[4 * 64];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) rows[i] = from[i];
  __syncwarp();
  unsigned r[4], address = ADDRESS(rows + 8 * lane);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
  for (int i = 0; i < 4; i++) plain[i * 32 + lane] = r[i];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[2]) : "r"(address));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[3]) : "r"(r[2]));
  for (int i = 0; i < 4; i++) turned[i * 32 + lane] = r[i];
}
__global__ void stores(const unsigned *registers, unsigned short *plain, unsigned short *turned) {
  __shared__ __align__(16) unsigned short rows[2 * 64], columns[2 * 64];
  int lane = threadIdx.x, row = lane % 16;
  unsigned a = registers[lane], b = registers[32 + lane];
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};"
               : : "r"(ADDRESS(rows + 8 * row)), "r"(a), "r"(b));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};"
               : : "r"(ADDRESS(columns + 8 * row)), "r"(a), "r"(b));
  __syncwarp();
  for (int i = lane; i < 128; i += 32) plain[i] = rows[i], turned[i] = columns[i];
}]]
  end)

  -- What lane `lane` has of an 8 x 8 matrix, given by element(row, column).
  local function register(lane, element)
    local row, column = math.floor(lane / 4), lane % 4 * 2
    return element(row, column) + element(row, column + 1) * 65536
  end

  it("are loaded as they are, transposed, and transposed in registers", function()
    local values = {}
    for i = 1, 256 do values[i] = i * 251 % 65536 end
    local plain, turned = mw.zeros(128, "uint"), mw.zeros(128, "uint")
    m.loads(1, 32)(mw.array(values, "ushort"), plain, turned)
    local function of(matrix) return function(row, column) return values[matrix * 64 + row * 8 + column + 1] end end
    local function transposed(matrix) return function(row, column) return of(matrix)(column, row) end end
    for lane = 0, 31 do
      for i = 0, 3 do assert.equal(register(lane, of(i)), plain[i * 32 + lane + 1]) end
      assert.equal(register(lane, transposed(0)), turned[lane + 1])
      assert.equal(register(lane, transposed(1)), turned[32 + lane + 1])
      assert.equal(register(lane, of(0)), turned[64 + lane + 1])
      assert.equal(register(lane, transposed(0)), turned[96 + lane + 1])
    end
  end)

  it("are stored as they are, and transposed", function()
    local words = {}
    for i = 1, 64 do words[i] = i * 131 + (i * 517 % 65536) * 65536 end
    local plain, turned = mw.zeros(128, "ushort"), mw.zeros(128, "ushort")
    m.stores(1, 32)(mw.array(words, "uint"), plain, turned)
    for matrix = 0, 1 do
      for lane = 0, 31 do
        local word, row, column = words[matrix * 32 + lane + 1], math.floor(lane / 4), lane % 4 * 2
        local low, high = word % 65536, math.floor(word / 65536)
        assert.equal(low, plain[matrix * 64 + row * 8 + column + 1])
        assert.equal(high, plain[matrix * 64 + row * 8 + column + 2])
        assert.equal(low, turned[matrix * 64 + column * 8 + row + 1])
        assert.equal(high, turned[matrix * 64 + (column + 1) * 8 + row + 1])
      end
    end
  end)

  it("are refused where an instruction is none", function()
    if suite.on_gpu then return pending "CPU device only: ptxas refuses it in its own words" end
    local ok, message = pcall(mw.compile, [[__global__ void k(unsigned *p) {
      unsigned d = 0;
      asm volatile("mma.sync.aligned.m16n8k7.row.col.f32.f16.f16.f32 {%0,%0,%0,%0}, {%0,%0}, {%0}, {%0,%0,%0,%0};"
                   : "+r"(d));
      p[0] = d;
    }]])
    assert.is_false(ok)
    assert.matches("'mma' has a shape, types or operands that the CPU device does not have", tostring(message))
  end)
end)
