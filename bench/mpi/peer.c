/* Ping-pong, all-reduce and an exchange in C, for bench/mpi/mpi.lua and bench/distributed/scaling.lua, which load each
 * function by itself (package.loadlib). Only functions of Lua's that 5.1 and 5.4 have alike are called, so one library serves both. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct lua_State lua_State;
double luaL_checknumber(lua_State *, int);
void lua_pushnumber(lua_State *, double);

enum { LONG = 64 << 20 };
static char *send, *receive;

/* Of huge pages, as moonwarp's arrays are: copies between processes take several times as long without. */
static char *new_buffer(void) {
  char *buffer = aligned_alloc(2 << 20, LONG);
  madvise(buffer, LONG, MADV_HUGEPAGE);
  memset(buffer, 1, LONG); /* pages that nobody has written are one page of zeros, which the cache has */
  return buffer;
}

static void make_buffers(void) {
  if (!send) send = new_buffer();
  if (!receive) receive = new_buffer();
}

/* one_way(bytes, rounds): seconds of a message from rank 0 to rank 1, and back. */
int one_way(lua_State *L) {
  int bytes = (int)luaL_checknumber(L, 1), rounds = (int)luaL_checknumber(L, 2), rank;
  make_buffers();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; i++) {
    if (rank == 0) {
      MPI_Send(send, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(send, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(send, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(send, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
  lua_pushnumber(L, (MPI_Wtime() - start) / rounds / 2);
  return 1;
}

/* allreduce(bytes): seconds of one of floats. */
int allreduce(lua_State *L) {
  int bytes = (int)luaL_checknumber(L, 1);
  make_buffers();
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  MPI_Allreduce(send, receive, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  lua_pushnumber(L, MPI_Wtime() - start);
  return 1;
}

/* sendrecv(from, to, bytes, rank): the bytes at an address go to the rank, and its bytes to another address. */
int sendrecv(lua_State *L) {
  void *from = (void *)(uintptr_t)luaL_checknumber(L, 1), *to = (void *)(uintptr_t)luaL_checknumber(L, 2);
  int bytes = (int)luaL_checknumber(L, 3), rank = (int)luaL_checknumber(L, 4);
  MPI_Sendrecv(from, bytes, MPI_BYTE, rank, 0, to, bytes, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}
