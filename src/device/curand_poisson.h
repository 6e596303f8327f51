/* Poisson-distributed numbers of all generators: moonwarp/random/distributions/poisson.h. */
#pragma once

#include "moonwarp/random/distributions/poisson.h"
