/* Fast single-precision functions as approximate instructions, with the error bounds of CUDA's programming guide. */
#ifndef MOONWARP_NVPTX_FLOAT_FAST_H
#define MOONWARP_NVPTX_FLOAT_FAST_H

__mw_both float __expf(float x) { return __nvvm_ex2_approx_f(x * 0x1.715476p+0f); }
__mw_both float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 0x1.a934fp+1f); }
__mw_both float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
__mw_both float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0x1.62e43p-1f; }
__mw_both float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0x1.344136p-2f; }
__mw_both float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
__mw_both float __sinf(float x) { return __nvvm_sin_approx_f(x); }
__mw_both float __cosf(float x) { return __nvvm_cos_approx_f(x); }
__mw_both void __sincosf(float x, float *sine, float *cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
__mw_both float __tanf(float x) { return __nvvm_div_approx_f(__sinf(x), __cosf(x)); }
__mw_both float __tanhf(float x) { return tanhf(x); }

#endif
