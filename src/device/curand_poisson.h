/* Poisson-distributed numbers of all generators: moonwarp/random/poisson.h. */
#pragma once

#include "moonwarp/random/poisson.h"
