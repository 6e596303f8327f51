/* CCCL from 13.3 on takes std::move from the compiler, as nvcc has it in device code without any header. */
#include <utility>
#include_next <cuda/std/__utility/move.h>
