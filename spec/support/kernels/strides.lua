-- A random kernel as the body of a grid-stride loop: fewer blocks, each of whose threads does what those of several
-- blocks would, one round after the other.

local strides = {}

-- The kernel becomes a function that is told which block it is and how many there are.
function strides.text(k, text, names)
  local head, params, body = text:match("^(.*)__global__ void [%w_]+(%b())(.*)$")
  body = body:gsub("blockIdx%.x", "block_"):gsub("gridDim%.x", "blocks_")
  local inner = params:sub(2, -2)
  local comma = inner:find "%S" and ", " or ""
  local kinds = { "int", "unsigned", "long long", "size_t" }
  local kind = kinds[k.seed % #kinds + 1]
  return ([[%s
__device__ void one_%s(%s%sunsigned block_, unsigned blocks_) %s
__global__ void %s(%s%sunsigned blocks_) {
  %s end = (%s)blocks_ * blockDim.x;
  for (%s i_ = blockIdx.x * blockDim.x + threadIdx.x; i_ < end; i_ += gridDim.x * blockDim.x)
    one_%s(%s%sunsigned(i_ / blockDim.x), blocks_);
}
]]):format(head, k.name, inner, comma, body, k.name, inner, comma, kind, kind, kind, k.name, table.concat(names, ", "),
    comma)
end

function strides.grid(launch) return { 1 + launch.seed % math.max(launch.grid[1] - 1, 1) } end

return strides
