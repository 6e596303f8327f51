/* The CPU driver: what its files share.
 *
 *   driver.c     the table mw_cpu_driver; opening, limits   load.c   units: load, unload, describe
 *   simulated_devices.c  how many devices there are                 capability.c   for which devices a unit is
 *   address_slot.c       where devices' ranges lie                  object.c     opening a .mwo file, checked
 *   heap.c       device memory: one reserved range
 *   extent.c     the book of that range                     verify.c    whether its tables are sound
 *   pool.c       worker slots, threads that take blocks     elf.c        ELF files as untrusted bytes
 *   entry_gate.h       the way into a command without the lock
 *   worker.c     one slot: running blocks on its stacks     dwarf_lines.c      code address -> source line
 *   watchdog.c    time limits
 *   stream.c     queues of commands                         compile.c    running mwcc
 *   stream_order.c       whose turn it is in a stream, and between streams
 *   sync_point.c       events, waiting across streams, holds
 *   command.c    a command cut into blocks                  options.c    compile options
 *   copy.c   copies and fills
 *   command_list.c       commands laid out to be run many times
 *   fiber.c      CUDA threads as fibers                     target.c     what decides the code
 *   warp_scheduler.c       fibers that see their warps         warp_collectives.c   shuffles, votes, reductions
 *   named_barrier.c       waits of a part of a block
 *   signal.c      signals while a kernel runs                processor.c  the processor's name and features
 *   x86_operand.c    what a faulting instruction was after
 *   report.c     a kernel's failure in sentences            properties.c what the device says of itself
 *   pointer_arguments.c   pointers among a kernel's parameters
 *   services.c   what kernels call
 *   device_malloc.c     the heap that kernels allocate from
 *   device_printf.c      printf and assert in kernels
 *
 * Kernels never run on a host thread's stack: a thread that runs blocks, be it a worker or a host thread that helps
 * while it waits, switches to a stack inside the device's address range and leaves it by switching back, whether the
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
  CPU_SHARED_DEFAULT = 48 << 10, /* shared memory a block has without asking */
  CPU_SHARED_MAX = 227 << 10,    /* and at most, static and dynamic together */
  CPU_MAX_THREADS = 1024         /* of a block */
};

struct cpu_device {
  mw_capability capability; /* whose figures it has */
  bool is_restricted;       /* to what devices of that capability can do; else it can do all that it can */
  cpu_heap *heap;
  cpu_reach reach; /* of pointers into it, for compiled code */
  uint64_t cached; /* what its workers find again in the caches */
  cpu_pool *pool;
  int workers;                              /* slots: how many blocks can run at once */
  bool turns;                               /* the last long kernel ran backwards: command.c's, with the pool's lock */
  struct cpu_stream *streams;               /* all, guarded by the pool's lock */
  int blocking;                             /* of these, how many the legacy stream waits for */
  int holds;                                /* reached or not */
  struct cpu_printed *printed;              /* printf_capture.c: what kernels print, where it is kept */
  _Atomic double limits[MW_LIMIT_HEAP + 1]; /* by mw_limit; read with cpu_limit */
};

double cpu_limit(const cpu_device *device, mw_limit limit);

/* ---- what kernels print (printf_capture.c): any thread ---- */
struct cpu_printed *cpu_printed_open(void);
void cpu_printed_close(struct cpu_printed *printed);
void cpu_keep_printed(void *device, bool keep);
size_t cpu_printed_take(void *device, char *text, size_t size);
bool cpu_printed_is_kept(const cpu_device *device);
void cpu_printed_add(cpu_device *device, const char *text, size_t length); /* one call's */

/* ---- memory (heap.c): any thread ---- */
int cpu_heap_alloc(cpu_heap *heap, size_t bytes, uint64_t *address); /* contents undefined; see mw_driver.alloc */
void cpu_heap_free(cpu_heap *heap, uint64_t address);

/* ---- units and kernels (load.c) ---- */

struct cpu_kernel {
  cpu_unit *unit;
  const mw_mwo_kernel *image;   /* info, run, fits, uses_dynamic_shared */
  cpu_kernel *otherwise;        /* runs the launches that do not fit: the parent unit's, or NULL */
  _Atomic double block_seconds; /* pool.c's: what a block took the last time; 0: unknown */
  uint32_t *pointers;           /* pointer_arguments.c's: where pointers stand in the parameter block */
  size_t pointer_count;
  size_t *references; /* of info->references, each one's place among the image's variables */
};

/* A loaded .mwo. The fields here are filled by cpu_load and then constant; nothing but load.c frees them. */
struct cpu_unit {
  cpu_device *device;
  const mw_mwo *image;
  cpu_kernel *kernels;          /* image->kernel_count of them; mw_launch_request.kernel points to one */
  void **symbols;               /* mw_frame.symbols: host address of each variable, in the image's order */
  uintptr_t first, last;        /* the mapped object: kernels may read [first, last), and code addresses lie in it */
  const cpu_unit *parent;       /* whose variables it shares, and with them pointers to its functions; or NULL */
  struct cpu_unit_private *own; /* load.c's */
};

/* mw_driver's members of the same names. */
int cpu_load(void *device, const char *path, void *parent, const mw_source *origin, void **unit);
void cpu_unload(void *unit);
/* Whether the address lies in the object of any unit of the same module: the first, instances, those for some blocks. */
bool cpu_module_holds(const cpu_unit *unit, uint64_t address);
bool cpu_unit_kernel(void *unit, size_t i, const mw_kernel_info **info, void **kernel);
bool cpu_unit_symbol(void *unit, size_t i, mw_symbol_info *info);
const char *cpu_unit_log(void *unit);
unsigned cpu_specialises(void *kernel);
unsigned cpu_takes(void *kernel);
int cpu_specialise(void *kernel, const mw_source *source, const mw_launch_class *launches, const char *path);
/* How many of what its block function counts a block has: 1, or its gangs. */
static inline unsigned cpu_kernel_gangs(const cpu_kernel *kernel) {
  return kernel->image->gangs > 1 ? kernel->image->gangs : 1;
}
bool cpu_unit_source(void *unit, const char **text, const char **options);
bool cpu_usable(void *device, const char *path);
int cpu_compile(void *device, const mw_source *source, const char *const *instances, size_t instance_count,
                const char *path);
int cpu_target(void *device, mw_text *out);
int cpu_properties(void *device, mw_properties *out);

/* The source position of the instruction at `address` in the unit's code, origin applied. False where unknown; *file
   lives as long as the unit. Never called in a signal handler. */
bool cpu_line_of(const cpu_unit *unit, uintptr_t address, const char **file, int *line);
/* The file and line of a place as the unit's code names it (__FILE__, __LINE__), origin applied: the result is `file`, a
   part of it, or lives as long as the unit. */
const char *cpu_place_of(const cpu_unit *unit, const char *file, int *line);

/* ---- services that kernels call ----
 *
 * A service starts on the kernel's stack. There it may touch memory that the kernel named (a format string, a text for
 * %s) but must hold no lock and own no heap memory: a bad address then ends the launch, as if the kernel itself had
 * touched it, and nothing is cleaned up. All that takes locks, calls stdio or malloc, or needs much stack happens in
 * cpu_service_call, which must not touch memory that the kernel named: copy it first, into a buffer on the stack (a
 * kilobyte or two is there) or into cpu_service_buffer.
 * CPU_SERVICE_ENTER is the first statement, so that faults are reported at the line of the call. */
extern const mw_services cpu_services; /* services.c */

#define CPU_SERVICE_ENTER(worker) cpu_service_enter(worker, __builtin_return_address(0), __builtin_frame_address(0))
void cpu_service_enter(mw_worker *worker, void *return_address, void *frame);
/* Run function(argument) on the thread's own stack. A launch that is cancelled meanwhile ends when it returns. */
void cpu_service_call(mw_worker *worker, void (*function)(void *), void *argument);
/* Memory for the service's own use until it returns, CPU_SERVICE_BUFFER bytes, one a worker. */
enum { CPU_SERVICE_BUFFER = 64 << 10 };
char *cpu_service_buffer(mw_worker *worker);
/* End the launch from a service (not inside cpu_service_call). `what` follows the kernel's name in the message: "failed
   the assertion 'x > 0'"; it is copied. file (may be NULL: then the line of the call is looked up) and line are where. */
_Noreturn void cpu_service_fail(mw_worker *worker, int code, const char *file, int line, const char *what);
/* The kernel and the device that the worker runs for. */
const cpu_kernel *cpu_worker_kernel(const mw_worker *worker);
cpu_device *cpu_worker_device(const mw_worker *worker);

/* device_printf.c: mw_services.print and .assert_fail */
int32_t cpu_services_print(mw_worker *worker, const char *format, const void *arguments);
void cpu_services_assert(mw_worker *worker, const char *message, const char *file, uint32_t line, const char *function);

#endif
