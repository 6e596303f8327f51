/* Programmatic dependent launches (CUDA C++ Programming Guide, 4.5): on the CPU device a kernel starts when the one before
 * it in its stream has ended, so that there is nothing to wait for. */
#ifndef MOONWARP_DEPENDENT_LAUNCH_H
#define MOONWARP_DEPENDENT_LAUNCH_H

#ifdef __MW_NVPTX__
/* Folded by LLVM: the precompiled headers are the same for all compute capabilities. */
__mw_device void cudaTriggerProgrammaticLaunchCompletion() {
  if (__nvvm_reflect("__CUDA_ARCH") >= 900) asm volatile("griddepcontrol.launch_dependents;");
}
__mw_device void cudaGridDependencySynchronize() {
  if (__nvvm_reflect("__CUDA_ARCH") >= 900) asm volatile("griddepcontrol.wait;" ::: "memory");
}
#elif defined __MW_NVRTC__ && __CUDA_ARCH__ >= 900
__mw_device void cudaTriggerProgrammaticLaunchCompletion() { asm volatile("griddepcontrol.launch_dependents;"); }
__mw_device void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
__mw_device void cudaTriggerProgrammaticLaunchCompletion() {}
__mw_device void cudaGridDependencySynchronize() {}
#endif

#endif
