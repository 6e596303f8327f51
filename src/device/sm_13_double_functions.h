/* Everything that CUDA declares here is built in: moonwarp_device.h. */
#pragma once
