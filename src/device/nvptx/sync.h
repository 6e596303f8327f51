/* Barriers and fences as instructions of a GPU. */
#ifndef MOONWARP_NVPTX_SYNC_H
#define MOONWARP_NVPTX_SYNC_H

/* clang-format off */
#define __mw_barrier_count(name, instruction)                                                                          \
  __mw_device int name(int predicate) {                                                                                \
    int result;                                                                                                        \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %1, 0;\n\t" instruction "\n\t}"                                 \
                 : "=r"(result) : "r"(predicate) : "memory");                                                          \
    return result;                                                                                                     \
  }
__mw_barrier_count(__syncthreads_count, "barrier.red.popc.aligned.u32 %0, 0, p;")
__mw_barrier_count(__syncthreads_and, "barrier.red.and.aligned.pred p, 0, p;\n\tselp.s32 %0, 1, 0, p;")
__mw_barrier_count(__syncthreads_or, "barrier.red.or.aligned.pred p, 0, p;\n\tselp.s32 %0, 1, 0, p;");
#undef __mw_barrier_count
/* clang-format on */

__mw_device void __barrier_sync(unsigned int barrier) { asm volatile("barrier.sync %0;" : : "r"(barrier) : "memory"); }
__mw_device void __barrier_sync_count(unsigned int barrier, unsigned int threads) {
  asm volatile("barrier.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

__mw_device void __threadfence_block() { asm volatile("membar.cta;" : : : "memory"); }
__mw_device void __threadfence() { asm volatile("membar.gl;" : : : "memory"); }
__mw_device void __threadfence_system() { asm volatile("membar.sys;" : : : "memory"); }

#endif
