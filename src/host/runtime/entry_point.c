/* Functions of the driver API by name: cudaGetDriverEntryPoint, cuGetProcAddress. They are this library's own. */
#include "host/host.h"

#include <dlfcn.h>

void *host_entry_point(const char *name) {
  Dl_info here;
  if (strncmp(name, "cu", 2) != 0 || name[2] < 'A' || name[2] > 'Z') return NULL; /* cudaMalloc is the runtime's */
  if (!dladdr((void *)(uintptr_t)&host_entry_point, &here)) return NULL;
  void *library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *found = library ? dlsym(library, name) : NULL;
  if (library) dlclose(library);
  return found;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *result) {
  if (!symbol || !*symbol || !function || flags > cudaEnablePerThreadDefaultStream)
    return host_end(host_fail(MW_INVALID_VALUE, "a function's name, where its address goes, and flags from 0 to 2"));
  *function = host_entry_point(symbol);
  if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  if (*function || result) return host_end(MW_SUCCESS);
  return host_end(host_fail(MW_SYMBOL_NOT_FOUND, "the driver API has no function %s here", symbol));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult *result) {
  (void)version;
  return cudaGetDriverEntryPoint(symbol, function, flags, result);
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *result) {
  (void)version, (void)flags;
  if (!symbol || !*symbol || !function)
    return host_end_driver(host_fail(MW_INVALID_VALUE, "a function's name, and where its address goes"));
  *function = host_entry_point(symbol);
  if (result) *result = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (*function) return host_end_driver(MW_SUCCESS);
  return host_end_driver(host_fail(MW_SYMBOL_NOT_FOUND, "the driver API has no function %s here", symbol));
}
