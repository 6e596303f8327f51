/* Uniform numbers of all generators: moonwarp/random/distributions/uniform.h. */
#pragma once

#include "moonwarp/random/distributions/uniform.h"
