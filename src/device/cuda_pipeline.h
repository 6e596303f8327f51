/* cuda::pipeline and the primitives (cuda_pipeline_primitives.h). */
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_
#include "cuda_pipeline_primitives.h"
#include "moonwarp/sync/pipeline.h"
#endif
