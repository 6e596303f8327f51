/* See cuda_interop.h. */
#include "cuda_interop.h"
