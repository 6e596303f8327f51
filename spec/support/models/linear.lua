-- The beginning of kernels for blocks of any shape: linear(), the thread's number in its block, and threads(), the
-- number of threads in the block.

return [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }
]==]
