/* Long transforms by all workers: n = n1 n2 numbers as a matrix, whose columns are transformed, multiplied by roots of
 * unity, and whose rows are transformed and written as columns of the result (Bailey 1990, "FFTs in external or
 * hierarchical memory": the four-step method). Lines of n1 and n2 numbers stay in the caches, where a plan for n
 * numbers, made without measuring, passes over memory several times. */
#ifndef CPU_FOUR_STEP_H
#define CPU_FOUR_STEP_H

#include "core/fourier/fourier.h"
#include "cpu/schedule/stream.h"

/* The bytes of device memory (mw_transform.room) to make a transform so; 0 if it is better made otherwise. */
size_t cpu_four_step_room(const mw_transform *t, int workers);
/* Queue it. False if there is no plan or no memory. */
bool cpu_four_step(cpu_stream *stream, const mw_transform *t, mw_completion completion);

#endif
