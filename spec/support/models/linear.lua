-- What kernels for blocks of all shapes begin with: linear(), the thread's number in its block, and threads(), how many
-- the block has.

return [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }
]==]
