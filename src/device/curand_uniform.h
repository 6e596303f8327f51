/* Uniform numbers of all generators: moonwarp/random/uniform.h. */
#pragma once

#include "moonwarp/random/uniform.h"
