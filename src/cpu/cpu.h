/* The CPU driver: declarations that its files share.
 *
 *                        driver.c               the table mw_cpu_driver; opening, limits
 *                        simulated_devices.c    the number of devices
 *                        properties.c           the device's properties
 *                        processor.c            the processor's name and features
 *                        compile.c, options.c   running mwcc; compile options
 *                        target.c               the part of the cache key that describes the processor and the compiler
 *   schedule/            stream.c               queues of commands
 *                        launch_work.c          what a launch runs
 *                        stream_order.c         order within and between streams
 *                        sync_point.c           events, waits across streams, holds
 *                        command.c              dividing a command into blocks
 *                        command_list.c         commands that are laid out once and run many times
 *                        copy.c                 copies and fills
 *                        pool.c, threads.c      worker slots; the threads that take blocks
 *                        entry_gate.h           entering a command without the pool's lock
 *                        watchdog.c             time limits
 *                        random_streams.c       random order of commands, in checked runs with a seed
 *   execution/           worker.c               one slot: running blocks on its stacks
 *                        fiber.c                CUDA threads as fibers
 *                        warp_scheduler.c       fibers scheduled by warps
 *                        warp_collectives.c     shuffles, votes, reductions
 *                        named_barrier.c        barriers of a part of a block
 *                        cluster.c              blocks that wait for each other
 *                        cooperative.c          resident blocks
 *                        services.c             functions of the runtime that kernels call
 *                        device_printf.c, printf_capture.c   printf and assert in kernels; buffering their output
 *   children/            grid.c                 grids that kernels launched: their order, and when they are finished
 *                        generation.c           those that run together
 *                        device_objects.c       streams and events of device code
 *                        device_runtime.c       the calls of device code
 *   bulk/                bulk_copy.c            bulk copies, and barriers that count their bytes
 *                        bulk_element.c         reductions of elements
 *                        tensor_map.c           copies of boxes of tensors
 *   memory/              heap.c                 device memory: one reserved address range
 *                        extent.c               allocation of that range
 *                        address_slot.c         the placement of devices' ranges
 *                        device_malloc.c        the heap that kernels allocate from
 *                        pointer_arguments.c    pointers among a kernel's parameters
 *                        bounds_check.c         --check-memory
 *   watch/               watch.c                watched launches and their watchers; watch.h is the manual
 *                        counters.c, tallies.c  the watcher that counts what a GPU's counters would
 *                        access_runs.c          accesses counted by their shapes
 *                        steps.c                the watcher that records lines and variables
 *   check/               session.c, launch_order.c, …  checked runs: races, barriers, freed memory
 *   fourier/             fftw.c                 transforms by FFTW, found at run time
 *   linear/              blas.c                 BLAS and LAPACK, found at run time
 *                        product.c, factor.c    products and factorisations as commands of a stream
 *   image/               load.c                 units: load, unload, describe
 *                        object.c, verify.c     opening a .mwo file; checking its tables
 *                        elf.c                  ELF files as untrusted input
 *                        dwarf_lines.c          code address to source line
 *                        capability.c           whether a unit suits a device
 *   fault/               signal.c               signals while a kernel runs
 *                        x86_operand.c          the address that a faulting instruction accessed
 *                        report.c               the error message of a failed kernel
 *
 * Kernels never run on a host thread's stack. A thread that runs blocks, be it a worker or a host thread that helps
 * while it waits, switches to a stack inside the device's address range, and leaves it by switching back whether the
 * kernel returns or is abandoned. */
#ifndef MW_CPU_H
#define MW_CPU_H

#include "core/core.h"
#include "cpu/memory/reach.h"
#include "mwo.h"

typedef struct cpu_device cpu_device;
typedef struct cpu_unit cpu_unit;
typedef struct cpu_kernel cpu_kernel;
typedef struct cpu_heap cpu_heap;
typedef struct cpu_pool cpu_pool;

enum {
  CPU_SHARED_DEFAULT = 48 << 10, /* shared memory of a block without opt-in */
  CPU_SHARED_MAX = 227 << 10,    /* the limit with opt-in, static and dynamic together */
  CPU_MAX_THREADS = 1024         /* of a block */
};

struct cpu_device {
  mw_capability capability; /* its limits */
  bool is_restricted;       /* to the features of that capability; else all features are available */
  cpu_heap *heap;
  cpu_reach reach; /* of pointers into the heap, for compiled code */
  uint64_t cached; /* bytes that its workers' caches retain */
  cpu_pool *pool;
  int workers;                     /* slots: the number of blocks that can run at once */
  bool ran_backwards;              /* the last long kernel's direction: command.c's, with the pool's lock */
  struct cpu_stream *streams;      /* all, guarded by the pool's lock */
  int blocking;                    /* the number of these that the legacy stream waits for */
  int holds;                       /* reached or not */
  struct cpu_check *_Atomic check; /* check/session.c: the checked run, or NULL */
  struct cpu_cells *cells;         /* check/screen.c's, or NULL */
  struct cpu_printed *printed;     /* printf_capture.c: kernels' buffered output */
  _Atomic double limits[MW_LIMIT_LAUNCHES + 1]; /* by mw_limit; read with cpu_limit */
};

double cpu_limit(const cpu_device *device, mw_limit limit);

/* ---- kernels' printf output (printf_capture.c): any thread ---- */
struct cpu_printed *cpu_printed_open(void);
void cpu_printed_close(struct cpu_printed *printed);
void cpu_keep_printed(void *device, bool keep);
size_t cpu_printed_take(void *device, char *text, size_t size);
bool cpu_printed_is_kept(const cpu_device *device);
void cpu_printed_add(cpu_device *device, const char *text, size_t length); /* one call's */

/* ---- memory (heap.c): any thread ---- */
int cpu_heap_alloc(cpu_heap *heap, size_t bytes, uint64_t *address); /* contents undefined; see mw_driver.alloc */
void cpu_heap_free(cpu_heap *heap, uint64_t address);
void cpu_heap_discard(cpu_heap *heap, uint64_t address); /* see mw_driver.discard */

/* ---- units and kernels (load.c) ---- */

struct cpu_kernel {
  cpu_unit *unit;
  const mw_mwo_kernel *image;   /* info, run, fits, uses_dynamic_shared */
  cpu_kernel *otherwise;        /* the fallback for launches that do not fit: the parent unit's, or NULL */
  _Atomic double block_seconds; /* pool.c's: the duration of a block in the last launch; 0: unknown */
  uint32_t *pointers;           /* pointer_arguments.c's: offsets of pointers in the parameter block */
  size_t pointer_count;
  size_t *references; /* for each of info->references, its index among the image's variables */
  /* trial.c's: the trial that the kernel takes part in, or NULL; and the kernel that has won against this one. */
  struct cpu_trial *_Atomic trial;
  cpu_kernel *_Atomic preferred;
};

/* A loaded .mwo. cpu_load fills the fields, which are constant afterwards; only load.c frees them. */
struct cpu_unit {
  cpu_device *device;
  const mw_mwo *image;
  cpu_kernel *kernels;          /* image->kernel_count of them; mw_launch_request.kernel points to one */
  void **symbols;               /* mw_frame.symbols: host address of each variable, in the image's order */
  uintptr_t first, last;        /* the mapped object: kernels may read [first, last), and code addresses lie in it */
  char *shipped;                /* the file, if it was installed with the library and lists no dependencies; or NULL */
  const cpu_unit *parent;       /* shares its variables, and so pointers to functions, with this unit; or NULL */
  struct cpu_unit_private *own; /* load.c's */
};

/* mw_driver's members of the same names. */
int cpu_load(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
void cpu_unload(void *unit);
/* Whether the address lies in the object of any unit of the same module: the first, instances, specialisations. */
bool cpu_module_holds(const cpu_unit *unit, uint64_t address);
bool cpu_unit_kernel(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
bool cpu_unit_symbol(void *unit, size_t i, mw_symbol_info *info);
const char *cpu_unit_log(void *unit);
uint64_t cpu_specialises(void *kernel, uint64_t blocks, uint64_t threads);
unsigned cpu_takes(void *kernel);
int cpu_specialise(void *kernel, const mw_source *source, const mw_launch_class *launches, const char *path);
int cpu_observe(void *unit, const mw_source *source, unsigned observes, const char *path);
/* The number of units that the block function counts in a block: 1, or its gangs. */
static inline unsigned cpu_kernel_gangs(const cpu_kernel *kernel) {
  return kernel->image->gangs > 1 ? kernel->image->gangs : 1;
}
bool cpu_unit_source(void *unit, const char **text, const char **options);
bool cpu_usable(void *device, const char *path);
int cpu_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                const char *path);
int cpu_target(void *device, mw_text *out);
const char *cpu_level(void *device);
int cpu_properties(void *device, mw_properties *out);

/* The source position of the instruction at `address` in the unit's code, translated by the origin. False if unknown;
   *file lives as long as the unit. Never called in a signal handler. */
bool cpu_line_of(const cpu_unit *unit, uintptr_t address, const char **file, int *line);
/* Translate a position that the unit's code contains (__FILE__, __LINE__) by the origin: the result is `file`, a part
   of it, or lives as long as the unit. */
const char *cpu_place_of(const cpu_unit *unit, const char *file, int *line);

/* ---- services that kernels call ----
 *
 * A service starts on the kernel's stack. There it may access memory that the kernel passed (a format string, a text
 * for %s) but must hold no lock and own no heap memory: a bad address ends the launch, as if the kernel itself had
 * accessed it, and nothing is cleaned up. Code that takes locks, calls stdio or malloc, or needs much stack runs in
 * cpu_service_call. That code must not access memory that the kernel passed: copy it first, into a buffer on the stack
 * (a kilobyte or two is available) or into cpu_service_buffer. CPU_SERVICE_ENTER is the first statement, so that faults
 * are reported at the line of the call. */
extern const mw_services cpu_services; /* services.c */

#define CPU_SERVICE_ENTER(worker) cpu_service_enter(worker, __builtin_return_address(0), __builtin_frame_address(0))
void cpu_service_enter(mw_worker *worker, void *return_address, void *frame);
/* Run function(argument) on the thread's own stack. If the launch is cancelled meanwhile, it ends when the function
   returns. */
void cpu_service_call(mw_worker *worker, void (*function)(void *), void *argument);
/* The worker's buffer of CPU_SERVICE_BUFFER bytes, for a service's own use until it returns. */
enum { CPU_SERVICE_BUFFER = 64 << 10 };
char *cpu_service_buffer(mw_worker *worker);
/* End the launch from a service (not inside cpu_service_call). `what` follows the kernel's name in the message: "failed
   the assertion 'x > 0'"; it is copied. `file` and `line`: the source position; NULL: that of the call. */
_Noreturn void cpu_service_fail(mw_worker *worker, int code, const char *file, int line, const char *what);
/* The worker's current kernel and its device. */
const cpu_kernel *cpu_worker_kernel(const mw_worker *worker);
cpu_device *cpu_worker_device(const mw_worker *worker);

/* device_printf.c: mw_services.print and .assert_fail */
int32_t cpu_services_print(mw_worker *worker, const char *format, const void *arguments);
void cpu_services_assert(mw_worker *worker, const char *message, const char *file, uint32_t line, const char *function);

#endif
