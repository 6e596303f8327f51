/* moonwarp for C and C++ hosts: the declarations of moonwarp_abi.h with what they need to compile. */
#ifndef MOONWARP_H
#define MOONWARP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
#include "moonwarp_abi.h"
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
