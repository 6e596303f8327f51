/* MPI: processes of one script, by a libmpi that is found at run time. Declarations shared by the files of this folder.
 *
 * All calls of libmpi are made by the thread that made the first one (MPI_THREAD_FUNNELED). Waiting is done here and
 * not in libmpi: a wait tests its requests, yields the processor, and returns after a while, so that the caller can
 * report where it waits (deadlock.c) and deadlocks are detected. Collective operations wait in libmpi, after a check
 * that all ranks have entered the same one. */
#ifndef MW_MPI_H
#define MW_MPI_H

#include "base/base.h"
#include "mpi/functions.h"

enum { MPI_STATUS_INTS = 8, MPI_PIECE = 1 << 30 };

/* A libmpi: its functions, its predefined handles, and its numbers. */
typedef struct mpi_library {
#define FUNCTION(name, parameters)         int(*name) parameters;
#define HANDLE(name, object, mpich, abi)   mpi_handle name;
#define NUMBER(name, open_mpi, mpich, abi) int name;
  MW_MPI_FUNCTIONS(FUNCTION)
  MW_MPI_HANDLES(HANDLE)
  MW_MPI_NUMBERS(NUMBER)
#undef FUNCTION
#undef HANDLE
#undef NUMBER
  const char *interface; /* "Open MPI", "MPICH" or "MPI 5" */
  bool takes_device;     /* it reads and writes the memory of GPUs */
} mpi_library;

extern mpi_library mpi; /* valid once mpi_load succeeded */

/* library.c: load libmpi, once. MW_NOT_SUPPORTED, with what was tried, if there is none. */
int mpi_load(void);
/* Fill in mpi.takes_device, once MPI is initialised. */
void mpi_ask_about_devices(void);
/* fail() for a call that returned a code other than 0. */
int mpi_failed(const char *call, int code) __attribute__((cold));

/* The references of communicators and requests are counted without atomics: one thread makes all calls. */
struct mw_mpi_comm {
  int refs;
  mpi_handle data; /* collective operations, and the contents of long messages */
  mpi_handle head; /* messages' heads, and the checks of collective operations */
  int rank, size;
  unsigned sent;           /* numbers the long messages of this rank */
  unsigned begun, started; /* collective operations that do not wait (nonblocking_collective.c) */
  /* The check that all ranks have entered the same operation (agreement.c). */
  mpi_handle check;
  bool is_checking;
  uint64_t check_values[2];
};

/* world.c */
extern struct mw_mpi_comm *mpi_world; /* NULL until mw_mpi_world */
extern mpi_handle mpi_channel;        /* of all processes, for deadlock.c's messages */
int mpi_check_open(const struct mw_mpi_comm *comm);
/* A communicator of ours over a handle of libmpi's, which becomes its own. Collective. */
int mpi_adopt(mpi_handle handle, struct mw_mpi_comm **out);

/* operand.c: the memory that libmpi reads or writes for an array. */
typedef struct mpi_operand {
  mw_array *array; /* retained and in use, or NULL for the host's own bytes */
  void *address;
  size_t bytes;
  mw_buffer *staging;     /* pinned memory in place of the device's, or NULL */
  void *packed;           /* the elements of a strided view without gaps, or NULL */
  bool writes, is_device; /* is_device: the address is a device's */
} mpi_operand;
/* Waits for the work on the array's device. `writes`: it will be written; `reads`: it will be read. */
int mpi_operand_open(mpi_operand *operand, mw_array *array, bool reads, bool writes);
/* Copies staged data back. */
int mpi_operand_close(mpi_operand *operand);
/* libmpi's operator (collective.c). */
mpi_handle mpi_operator(mw_mpi_operator which);
/* The type of libmpi that reduces elements of a dtype; 0 if there is none. */
mpi_handle mpi_reduced_type(const mw_type *dtype);
/* A committed type of so many bytes. */
int mpi_block_type(size_t bytes, mpi_handle *out);
void mpi_free_types(void);

/* request.c: a request in flight. Each kind of request has a struct that begins with this one. */
typedef struct mpi_request_kind {
  void (*advance)(struct mw_mpi_request *request); /* test what it waits for; mpi_finish when all is done */
  void (*destroy)(struct mw_mpi_request *request); /* after the last reference; frees it */
} mpi_request_kind;
struct mw_mpi_request {
  int refs;
  bool is_done;
  struct mw_mpi_request *before, *next; /* among those on their way, the oldest first */
  const mpi_request_kind *kind;
  struct mw_mpi_comm *comm; /* retained */
  mw_error *failure;        /* raised by the call that waits for it */
};
void mpi_request_init(struct mw_mpi_request *request, const mpi_request_kind *kind, struct mw_mpi_comm *comm);
void mpi_begin(struct mw_mpi_request *request);        /* it is on its way, which is a reference */
void mpi_finish(struct mw_mpi_request *request);       /* it is done, which drops that */
void mpi_keep_failure(struct mw_mpi_request *request); /* what is in the error slot, unless there is one */
void mpi_progress(void);                               /* advance all of them */
extern int mpi_transfers;                              /* how many need no more of other ranks than progress */
extern uint64_t mpi_completed;                         /* how many operations have been completed */
/* Call `done(context)` until it returns true, for at most `seconds`; false then. */
bool mpi_poll(bool (*done)(void *context), void *context, double seconds);
int mpi_test(mpi_handle *request, int *is_done, int *status); /* libmpi's MPI_Test: its code */
bool mpi_tested(mpi_handle *request, int *status);            /* whether a request is done; status may be NULL */

/* At the end of the process, on all ranks: window.c, file.c. */
void mpi_free_windows(void);
void mpi_close_files(void);

/* deadlock.c: tell a rank of the world that what it sent could not be received. */
void mpi_complain(int world_rank, const char *text);
bool mpi_has_complained(void);
/* Receive and drop unclaimed messages, since libraries warn of messages that are left. Collective, after the last
   mw_mpi_watch of every rank. */
void mpi_drain(void);

#endif
