/* The constants of limits.h, float.h, stdint.h and math.h, which nvcc's own headers include. */
#ifndef MOONWARP_LIMITS_H
#define MOONWARP_LIMITS_H

#ifndef NULL
#define NULL __null
#endif

#define CHAR_BIT   8
#define SCHAR_MIN  (-128)
#define SCHAR_MAX  127
#define UCHAR_MAX  255
#define CHAR_MIN   SCHAR_MIN
#define CHAR_MAX   SCHAR_MAX
#define SHRT_MIN   (-32768)
#define SHRT_MAX   32767
#define USHRT_MAX  65535
#define INT_MIN    (-2147483647 - 1)
#define INT_MAX    2147483647
#define UINT_MAX   4294967295u
#define LONG_MIN   (-9223372036854775807l - 1)
#define LONG_MAX   9223372036854775807l
#define ULONG_MAX  18446744073709551615ul
#define LLONG_MIN  (-9223372036854775807ll - 1)
#define LLONG_MAX  9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull

#define INT8_MIN   (-128)
#define INT8_MAX   127
#define UINT8_MAX  255
#define INT16_MIN  (-32768)
#define INT16_MAX  32767
#define UINT16_MAX 65535
#define INT32_MIN  INT_MIN
#define INT32_MAX  INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN  LONG_MIN
#define INT64_MAX  LONG_MAX
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX   ULONG_MAX

#define INT8_C(c)    c
#define INT16_C(c)   c
#define INT32_C(c)   c
#define INT64_C(c)   c##l
#define UINT8_C(c)   c
#define UINT16_C(c)  c
#define UINT32_C(c)  c##u
#define UINT64_C(c)  c##ul
#define INTMAX_C(c)  c##l
#define UINTMAX_C(c) c##ul

#define FLT_RADIX      2
#define FLT_MANT_DIG   24
#define FLT_DIG        6
#define FLT_MIN_EXP    (-125)
#define FLT_MAX_EXP    128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MIN        1.17549435e-38f
#define FLT_MAX        3.40282347e+38f
#define FLT_EPSILON    1.19209290e-7f
#define FLT_TRUE_MIN   1.40129846e-45f
#define DBL_MANT_DIG   53
#define DBL_DIG        15
#define DBL_MIN_EXP    (-1021)
#define DBL_MAX_EXP    1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MIN        2.2250738585072014e-308
#define DBL_MAX        1.7976931348623157e+308
#define DBL_EPSILON    2.2204460492503131e-16
#define DBL_TRUE_MIN   4.9406564584124654e-324

#define INFINITY  __builtin_inff()
#define NAN       __builtin_nanf("")
#define HUGE_VAL  __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()

#define M_E        2.7182818284590452354
#define M_LOG2E    1.4426950408889634074
#define M_LOG10E   0.43429448190325182765
#define M_LN2      0.69314718055994530942
#define M_LN10     2.30258509299404568402
#define M_PI       3.14159265358979323846
#define M_PI_2     1.57079632679489661923
#define M_PI_4     0.78539816339744830962
#define M_1_PI     0.31830988618379067154
#define M_2_PI     0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2    1.41421356237309504880
#define M_SQRT1_2  0.70710678118654752440

#endif
