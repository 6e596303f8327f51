/* Finding libmpi: the one that started this process, else any; and what it is. */
#include "base/shared_library.h"
#include "mpi/mpi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

mpi_library mpi;

#define OPEN_MPI "libmpi.so.40"
#define MPICH    "libmpich.so.12", "libmpi.so.12"
#define STANDARD "libmpi_abi.so.0", "libmpi_abi.so"
static const char *const any_names[] = {OPEN_MPI, MPICH, STANDARD, NULL};
static const char *const open_mpi_names[] = {OPEN_MPI, STANDARD, NULL};
static const char *const mpich_names[] = {MPICH, STANDARD, NULL};

static mw_library library = {.title = "MPI", .variable = "MOONWARP_MPI"};

/* Processes that a launcher started can only talk to each other through the launcher's own library. */
static const char *const *names_to_try(void) {
  if (getenv("OMPI_COMM_WORLD_SIZE")) return open_mpi_names;
  if (getenv("PMI_RANK") || getenv("PMI_FD")) return mpich_names;
  return any_names;
}

static int find_functions(void *handle) {
  void *address;
#define FUNCTION(name, parameters)                                                                                     \
  address = mw_library_find(handle, "MPI_" #name);                                                                     \
  if (!address) return fail(MW_NOT_SUPPORTED, "%s has no function MPI_" #name, library.path);                          \
  memcpy(&mpi.name, &address, sizeof address);
  MW_MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return MW_SUCCESS;
}

/* The predefined handles of Open MPI are the addresses of objects that the library exports. */
static int find_objects(void *handle) {
#define HANDLE(name, object, mpich, abi)                                                                               \
  mpi.name = (mpi_handle)mw_library_find(handle, object);                                                              \
  if (!mpi.name) return fail(MW_NOT_SUPPORTED, "%s has no object " object, library.path);
#define NUMBER(name, open_mpi, mpich, abi) mpi.name = open_mpi;
  MW_MPI_HANDLES(HANDLE)
  MW_MPI_NUMBERS(NUMBER)
#undef HANDLE
#undef NUMBER
  mpi.interface = "Open MPI";
  return MW_SUCCESS;
}

static void take_mpich(void) {
#define HANDLE(name, object, mpich, abi)   mpi.name = (mpi_handle)mpich;
#define NUMBER(name, open_mpi, mpich, abi) mpi.name = mpich;
  MW_MPI_HANDLES(HANDLE)
  MW_MPI_NUMBERS(NUMBER)
#undef HANDLE
#undef NUMBER
  mpi.interface = "MPICH";
}

static void take_standard(void) {
#define HANDLE(name, object, mpich, abi)   mpi.name = (mpi_handle)abi;
#define NUMBER(name, open_mpi, mpich, abi) mpi.name = abi;
  MW_MPI_HANDLES(HANDLE)
  MW_MPI_NUMBERS(NUMBER)
#undef HANDLE
#undef NUMBER
  mpi.interface = "MPI 5";
}

static void read_version(char out[8193]) {
  int length = 0;
  if (mpi.Get_library_version(out, &length) != 0) length = 0;
  out[length] = '\0';
  for (char *at = out; *at; at++)
    if (*at == '\n') *at = '\0'; /* MPICH lists how it was built */
}

/* Which interface it has: by the objects, by the name that the standard prescribes, by its own word. */
static int find_interface(void *handle) {
  char version[8193];
  if (strstr(library.path, "mpi_abi")) return take_standard(), MW_SUCCESS;
  if (mw_library_find(handle, "ompi_mpi_comm_world")) return find_objects(handle);
  read_version(version);
  if (strstr(version, "MPICH") || strstr(version, "Intel") || strstr(version, "MVAPICH"))
    return take_mpich(), MW_SUCCESS;
  return fail(MW_NOT_SUPPORTED,
              "%s says that it is \"%s\"; moonwarp knows the interfaces of Open MPI, of MPICH and of MPI 5",
              library.path, version);
}

static void *loaded;

static bool takes_device_memory(void *handle) {
  const char *told = getenv("MOONWARP_MPI_CUDA");
  if (told && *told) return strcmp(told, "0") != 0;
  int (*open_mpi)(void), (*mpich)(int, int *);
  void *address = mw_library_find(handle, "MPIX_Query_cuda_support");
  if (address) return memcpy(&open_mpi, &address, sizeof address), open_mpi() != 0;
  int is_supported = 0;
  address = mw_library_find(handle, "MPIX_GPU_query_support");
  if (address) memcpy(&mpich, &address, sizeof address), mpich(0 /* CUDA */, &is_supported);
  return is_supported != 0;
}

static int load(void) {
  library.names = names_to_try();
  void *handle = mw_library_open(&library);
  if (!handle && library.problem) return fail(MW_NOT_SUPPORTED, "%s", library.problem);
  if (!handle)
    return fail(MW_NOT_SUPPORTED,
                "there is no MPI library (tried %s). Install Open MPI or MPICH (on Debian: apt install openmpi-bin or "
                "mpich), or name a library in MOONWARP_MPI",
                mw_library_tried(&library));
  dlopen(library.path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); /* plug-ins of older Open MPIs look for its symbols */
  int code = find_functions(handle);
  if (code == MW_SUCCESS) code = find_interface(handle);
  loaded = handle;
  return code;
}

/* MPICH only says so between its initialisation and its end. */
void mpi_ask_about_devices(void) { mpi.takes_device = takes_device_memory(loaded); }

int mpi_load(void) {
  static int code = -1;
  static char *why;
  if (code < 0) {
    code = load();
    if (code != MW_SUCCESS) why = mw_strdup(mw_error_last()->message);
  } else if (code != MW_SUCCESS) {
    return fail(code, "%s", why);
  }
  return code;
}

int mpi_failed(const char *call, int code) {
  char text[8193] = "";
  int length = 0;
  mpi.Error_string(code, text, &length);
  return fail(MW_OPERATING_SYSTEM, "%s failed: %s", call, text);
}

size_t mw_mpi_report(char *text, size_t size) {
  mw_text out = {0};
  char version[8193];
  if (mpi_load() != MW_SUCCESS) {
    mw_text_addf(&out, "MPI: not found. %s\n", mw_error_last()->message);
    mw_error_clear();
  } else {
    read_version(version);
    mw_text_addf(&out, "MPI: %s (%s), with %s's interface\n", library.path, version, mpi.interface);
    mw_text_addf(&out, mpi.takes_device
                           ? "  it takes the memory of GPUs (it is CUDA-aware)\n"
                           : "  the memory of GPUs goes through pinned host memory (it is not CUDA-aware)\n");
  }
  if (size > 0) {
    size_t length = out.length < size ? out.length : size - 1;
    memcpy(text, out.data, length);
    text[length] = '\0';
  }
  size_t length = out.length;
  mw_text_free(&out);
  return length;
}
