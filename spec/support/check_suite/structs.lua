-- Planted bugs where the arrays' addresses are fields of struct parameters, as the programming guide passes matrices.

local matrix = [[
struct Matrix { int width, height; float *elements; };
]]

local function of(mw, rows, columns, make)
  return { width = columns, height = rows, elements = (make or mw.zeros)(rows * columns, "float") }
end

return {
  { "matrix, index past the row", kind = "out_of_bounds", text = matrix .. [[
__global__ void k(Matrix a, Matrix b) {
  int t = threadIdx.x;
  if (t @{<=|<} a.width) b.elements[t] = a.elements[t]; //1
}]], call = function(mw, m) m.k(1, 64)(of(mw, 1, 33), of(mw, 1, 40)) end },
  { "matrix, neighbours in place", kind = "race", text = matrix .. [[
__global__ void k(Matrix a, Matrix b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < a.width * a.height) @{a|b}.elements[i] = a.elements[i + 1]; //1 //2
}]], call = function(mw, m) m.k(4, 64)(of(mw, 16, 16), of(mw, 16, 16)) end },
  { "two matrices on one array", kind = "race", text = matrix .. [[
__global__ void k(Matrix a, Matrix b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  b.elements[i] = a.elements[a.width * a.height - 1 - i]; //1 //2
}]], call = function(mw, m, bug)
      local a = of(mw, 16, 16)
      m.k(4, 64)(a, bug and a or of(mw, 16, 16))
    end },
  { "tile of a matrix without a barrier", kind = "race", text = matrix .. [[
__global__ void k(Matrix a, Matrix b) {
  __shared__ float tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tile[t] = a.elements[i]; //1
  @{|__syncthreads();}
  b.elements[i] = tile[63 - t]; //2
}]], call = function(mw, m) m.k(4, 64)(of(mw, 16, 16), of(mw, 16, 16)) end },
  { "matrix that was never filled", kind = "uninitialised", text = matrix .. [[
__global__ void k(Matrix a, Matrix b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  b.elements[i] = a.elements[i] + 1; //1
}]], call = function(mw, m, bug) m.k(4, 64)(of(mw, 16, 16, bug and mw.empty), of(mw, 16, 16)) end },
  { "nested struct, one element too many", kind = "out_of_bounds", text = [[
struct Rows { float *first; int count; };
struct Pair { Rows from, to; };
__global__ void k(Pair p) {
  int i = threadIdx.x;
  if (i @{<=|<} p.from.count) p.to.first[i] = i; //1
}]], call = function(mw, m)
      m.k(1, 96) { from = { first = mw.zeros(64), count = 64 }, to = { first = mw.zeros(64), count = 64 } }
    end },
}
