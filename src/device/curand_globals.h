/* Constants of cuRAND's headers that sources use. */
#pragma once

#define CURAND_2POW32                4294967296.0f
#define CURAND_2POW32_DOUBLE         4294967296.0
#define CURAND_2POW32_INV            0x1p-32f
#define CURAND_2POW32_INV_DOUBLE     0x1p-32
#define CURAND_2POW53_INV_DOUBLE     0x1p-53
#define CURAND_2PI                   6.2831855f
#define CURAND_2POW32_INV_2PI        (CURAND_2POW32_INV * CURAND_2PI)
#define CURAND_PI_DOUBLE             3.1415926535897932
#define CURAND_2PI_DOUBLE            6.2831853071795860
#define CURAND_2POW53_INV_2PI_DOUBLE (CURAND_2POW53_INV_DOUBLE * CURAND_2PI_DOUBLE)
#define CURAND_SQRT2                 -1.4142135f
#define CURAND_SQRT2_DOUBLE          -1.4142135623730951
