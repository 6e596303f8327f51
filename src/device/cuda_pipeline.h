/* cuda::pipeline, and the primitives below it. */
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_
#include "cuda_pipeline_primitives.h"
#include "moonwarp/sync/pipeline.h"
#endif
