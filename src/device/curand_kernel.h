/* Random numbers in kernels, with cuRAND's names and cuRAND's values. Each generator and each distribution is a file of
 * moonwarp/random/. */
#pragma once

#include "curand.h"
#include "curand_globals.h"
#include "moonwarp/random/xorwow.h"
#include "curand_philox4x32_x.h"
#include "moonwarp/random/mrg32k3a.h"
#include "moonwarp/random/sobol.h"
#include "curand_mtgp32_kernel.h"
#include "curand_uniform.h"
#include "curand_normal.h"
#include "curand_lognormal.h"
#include "curand_poisson.h"
#include "curand_discrete.h"
