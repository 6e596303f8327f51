/* Ping-pong and all-reduce in C, for bench/mpi/mpi.lua: microseconds for 8 bytes one way, GB/s of 64 MiB one way, and
 * GB/s of an all-reduce of 64 MiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static double one_way(char *buffer, int bytes, int rank, int rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; i++) {
    if (rank == 0) {
      MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - start) / rounds / 2;
}

/* The least of several measurements: other load on the machine can only add to a time. */
static double least(int times, char *buffer, int bytes, int rank, int rounds) {
  double best = 1e9;
  for (int i = 0; i < times; i++) {
    double took = one_way(buffer, bytes, rank, rounds);
    if (took < best) best = took;
  }
  return best;
}

/* In huge pages, as moonwarp's arrays are: without them copies between processes take several times as long. */
static char *new_buffer(size_t bytes) {
  char *buffer = aligned_alloc(2 << 20, bytes);
  madvise(buffer, bytes, MADV_HUGEPAGE);
  return buffer;
}

int main(int argc, char **argv) {
  enum { LONG = 64 << 20 };
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *a = new_buffer(LONG), *b = new_buffer(LONG);
  memset(a, 1, LONG); /* pages that nobody has written are one page of zeros, which the cache has */
  memset(b, 1, LONG);
  one_way(a, 8, rank, 1000);
  double latency = least(40, a, 8, rank, 1000);
  one_way(a, LONG, rank, 2);
  double bandwidth = LONG / least(15, a, LONG, rank, 1);
  double reduction = 1e9;
  for (int i = 0; i < 10; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Allreduce(a, b, LONG / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double took = MPI_Wtime() - start;
    if (took < reduction) reduction = took;
  }
  if (rank == 0)
    printf("C         %8.3f us  %8.2f GB/s  allreduce %8.2f GB/s\n", latency * 1e6, bandwidth / 1e9,
           LONG / reduction / 1e9);
  MPI_Finalize();
  return 0;
}
