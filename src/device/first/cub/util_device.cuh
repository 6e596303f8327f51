/* CUB's functions for whole devices are host code; its headers for blocks, and Thrust's, include them from 13.3 on. */
#pragma once
#include <cub/config.cuh>
