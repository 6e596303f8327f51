-- A random kernel as the body of a grid-stride loop: with fewer blocks, each thread does the work of one thread of
-- several blocks, one per iteration. In every second kernel, threads also carry numbers from iteration to
-- iteration, and count in *wrong_ those that differ from the numbers of a second loop without the body.

local strides = {}

local carries = { before = "unsigned seen_ = threadIdx.x; float half_ = 0.5f;",
  inside = "seen_ = seen_ * 31 + (unsigned)i_, half_ = half_ * 0.75f + 1;", behind = [[
  unsigned want_ = threadIdx.x; float wanted_ = 0.5f;
  for (unsigned long long j_ = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
       j_ < (unsigned long long)blocks_ * blockDim.x; j_ += (unsigned long long)gridDim.x * blockDim.x)
    want_ = want_ * 31 + (unsigned)j_, wanted_ = wanted_ * 0.75f + 1;
  if (seen_ != want_ || half_ != wanted_) atomicAdd(wrong_, 1);
]] }
local nothing = { before = "", inside = "", behind = "" }

-- The kernel becomes a function with the block's index and the number of blocks as parameters.
function strides.text(k, text, names)
  local head, params, body = text:match("^(.*)__global__ void [%w_]+(%b())(.*)$")
  body = body:gsub("blockIdx%.x", "block_"):gsub("gridDim%.x", "blocks_")
  local inner = params:sub(2, -2)
  local comma = inner:find "%S" and ", " or ""
  local kinds = { "int", "unsigned", "long long", "size_t" }
  local kind = kinds[k.seed % #kinds + 1]
  local also = k.seed % 2 == 0 and carries or nothing
  return ([[%s
__device__ void one_%s(%s%sunsigned block_, unsigned blocks_) %s
__global__ void %s(%s%sunsigned blocks_, int *wrong_) {
  %s end = (%s)blocks_ * blockDim.x;
  %s
  for (%s i_ = blockIdx.x * blockDim.x + threadIdx.x; i_ < end; i_ += gridDim.x * blockDim.x) {
    one_%s(%s%sunsigned(i_ / blockDim.x), blocks_);
    %s
  }
  %s
}
]]):format(head, k.name, inner, comma, body, k.name, inner, comma, kind, kind, also.before, kind, k.name,
    table.concat(names, ", "), comma, also.inside, also.behind)
end

function strides.grid(launch) return { 1 + launch.seed % math.max(launch.grid[1] - 1, 1) } end

return strides
