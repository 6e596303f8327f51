/* Everything that this header of CUDA declares is built in (moonwarp_device.h). */
#pragma once
