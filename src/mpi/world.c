/* The world of all processes, communicators made of it, and how a process leaves. */
#include "mpi/mpi.h"

#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct mw_mpi_comm *mpi_world;
mpi_handle mpi_channel;
static pid_t owner; /* a forked child does not leave for its parent */

/* ---- leaving ---- */

static bool is_tested(void *request) {
  mpi_progress();
  return mpi_tested(request, NULL);
}

/* All ranks end together, so that a rank that waits for one that has ended gets an error. */
static int meet_at_end(void) {
  mpi_handle request = 0;
  int code = mpi.Ibarrier(mpi_world->head, &request);
  if (code != 0) return mpi_failed("MPI_Ibarrier", code);
  while (!mpi_poll(is_tested, &request, 0.02)) {
    code = mw_mpi_watch("at the end of the script");
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}

/* Whether all that was written to a pipe has been read. */
static bool is_read(void *descriptor) {
  int unread = 0;
  return ioctl(*(int *)descriptor, FIONREAD, &unread) != 0 || unread == 0;
}

static void wait_for_reader(int descriptor) {
  struct stat about;
  if (fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode)) mpi_poll(is_read, &descriptor, 1);
}

/* End all ranks. Output that the launcher has not read by then may be lost: MPICH's launcher exits at once. */
static _Noreturn void end_all(mpi_handle comm, int status) {
  fflush(NULL);
  wait_for_reader(STDOUT_FILENO);
  wait_for_reader(STDERR_FILENO);
  /* Give the other ranks time to print where they waited. */
  if (mpi_has_complained()) usleep(500000);
  owner = 0; /* MPICH's MPI_Abort exits */
  mpi.Abort(comm, status);
  _exit(status);
}

static void leave(int status, void *unused) {
  (void)unused;
  int is_final = 1;
  if (getpid() != owner || mpi.Finalized(&is_final) != 0 || is_final) return;
  if (status == 0 && meet_at_end() != MW_SUCCESS) {
    fprintf(stderr, "moonwarp: %s\n", mw_error_last()->message);
    status = 1;
  }
  if (status != 0) end_all(mpi.comm_world, status);
  mpi_free_windows();
  mpi_close_files();
  mpi_drain();
  mpi_free_types();
  mpi.Finalize();
}

/* ---- communicators ---- */

int mpi_adopt(mpi_handle handle, struct mw_mpi_comm **out) {
  struct mw_mpi_comm *comm = mw_alloc(sizeof *comm);
  comm->refs = 1;
  comm->data = handle;
  int code = mpi.Comm_set_errhandler(comm->data, mpi.errors_return);
  if (code == 0) code = mpi.Comm_dup(comm->data, &comm->head);
  if (code == 0) code = mpi.Comm_set_errhandler(comm->head, mpi.errors_return);
  if (code == 0) code = mpi.Comm_rank(comm->data, &comm->rank);
  if (code == 0) code = mpi.Comm_size(comm->data, &comm->size);
  if (code != 0) {
    free(comm);
    return mpi_failed("MPI_Comm_dup", code);
  }
  *out = comm;
  return MW_SUCCESS;
}

/* MPICH makes stdout unbuffered, and a launcher puts the rank before each piece that it reads: each line of print would
   arrive in several pieces. */
static void print_lines(void) {
  if (__fbufsize(stdout) > 1) return;
  char *lines = malloc(BUFSIZ); /* stdout's from now on */
  if (lines) setvbuf(stdout, lines, _IOLBF, BUFSIZ);
}

static int start(void) {
  int code = mpi_load(), has_begun = 0, level, is_final = 0;
  if (code != MW_SUCCESS) return code;
  if (mpi.Finalized(&is_final) == 0 && is_final)
    return fail(MW_INVALID_VALUE, "MPI has been finalized in this process");
  code = mpi.Initialized(&has_begun);
  if (code == 0 && !has_begun) {
    code = mpi.Init_thread(NULL, NULL, mpi.thread_funneled, &level);
    if (code != 0) return mpi_failed("MPI_Init_thread", code);
    owner = getpid();
    on_exit(leave, NULL);
    print_lines();
  }
  mpi_ask_about_devices();
  mpi.Comm_set_errhandler(mpi.comm_world, mpi.errors_return);
  mpi_handle handle = 0;
  code = mpi.Comm_dup(mpi.comm_world, &mpi_channel);
  if (code == 0) code = mpi.Comm_set_errhandler(mpi_channel, mpi.errors_return);
  if (code == 0) code = mpi.Comm_dup(mpi.comm_world, &handle);
  return code == 0 ? mpi_adopt(handle, &mpi_world) : mpi_failed("MPI_Comm_dup", code);
}

int mw_mpi_world(mw_mpi_comm **out) {
  if (!mpi_world) {
    int code = start();
    if (code != MW_SUCCESS) return code;
  }
  *out = mw_mpi_retain(mpi_world);
  return MW_SUCCESS;
}

int mpi_check_open(const struct mw_mpi_comm *comm) {
  return comm->data ? MW_SUCCESS : fail(MW_INVALID_RESOURCE_HANDLE, "this communicator was freed");
}

int mw_mpi_rank(const mw_mpi_comm *comm) { return comm->rank; }
int mw_mpi_size(const mw_mpi_comm *comm) { return comm->size; }

mw_mpi_comm *mw_mpi_retain(mw_mpi_comm *comm) {
  comm->refs++;
  return comm;
}

/* Freeing handles is collective, so a finalizer leaves them to the process's end. */
void mw_mpi_release(mw_mpi_comm *comm) {
  if (comm && --comm->refs == 0) free(comm);
}

int mw_mpi_free(mw_mpi_comm *comm) {
  if (!comm->data) return MW_SUCCESS;
  if (comm == mpi_world) return fail(MW_INVALID_VALUE, "the world's communicator lives until the script ends");
  int code = mpi.Comm_free(&comm->head);
  if (code == 0) code = mpi.Comm_free(&comm->data);
  comm->data = comm->head = 0;
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Comm_free", code);
}

int mw_mpi_dup(mw_mpi_comm *comm, mw_mpi_comm **out) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  mpi_handle handle = 0;
  code = mpi.Comm_dup(comm->data, &handle);
  return code == 0 ? mpi_adopt(handle, out) : mpi_failed("MPI_Comm_dup", code);
}

static int adopt_part(mpi_handle handle, mw_mpi_comm **out) {
  *out = NULL;
  return (uint32_t)handle == (uint32_t)mpi.comm_null ? MW_SUCCESS : mpi_adopt(handle, out);
}

int mw_mpi_split(mw_mpi_comm *comm, int color, int key, mw_mpi_comm **out) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  mpi_handle handle = 0;
  if (color == MW_MPI_BY_HOST)
    code = mpi.Comm_split_type(comm->data, mpi.type_shared, key, mpi.info_null, &handle);
  else
    code = mpi.Comm_split(comm->data, color < 0 ? mpi.undefined : color, key, &handle);
  return code == 0 ? adopt_part(handle, out) : mpi_failed("MPI_Comm_split", code);
}

int mw_mpi_cartesian(mw_mpi_comm *comm, int rank, const int *dims, const int *periods, int reorder, mw_mpi_comm **out) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  mpi_handle handle = 0;
  code = mpi.Cart_create(comm->data, rank, dims, periods, reorder, &handle);
  return code == 0 ? adopt_part(handle, out) : mpi_failed("MPI_Cart_create", code);
}

int mw_mpi_dims(int nodes, int rank, int *dims) {
  int code = mpi_load();
  if (code != MW_SUCCESS) return code;
  code = mpi.Dims_create(nodes, rank, dims);
  return code == 0 ? MW_SUCCESS : mpi_failed("MPI_Dims_create", code);
}

void mw_mpi_abort(mw_mpi_comm *comm, int status) { end_all(comm->data, status); }
