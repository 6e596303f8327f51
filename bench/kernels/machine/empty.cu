__global__ void empty() {}
