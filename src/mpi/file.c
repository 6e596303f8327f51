/* Files that ranks read and write together. The elementary type of every view is a byte, so that libraries agree about
 * offsets; a view of elements is a subarray, and offsets are multiplied here. */
#include "mpi/mpi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct mw_mpi_file {
  mw_refs refs;
  struct mw_mpi_file *next; /* among those that are open, the oldest first */
  struct mw_mpi_comm *comm; /* retained */
  mpi_handle handle;        /* 0 once closed */
  char *path;
  size_t element; /* bytes of an element of the view; 0: there is none */
};

static mw_mpi_file *files;

static int file_failed(const char *path, const char *what, int result) {
  char text[8193] = "";
  int length = 0;
  mpi.Error_string(result, text, &length);
  int code = fail(MW_OPERATING_SYSTEM, "%s: %s: %s", path, what, text);
  mw_error_kind("io");
  return code;
}

static int check_open(const mw_mpi_file *file) {
  return file->handle ? MW_SUCCESS : fail(MW_INVALID_RESOURCE_HANDLE, "%s was closed", file->path);
}

/* ---- life ---- */

static int mode_of(int mode) {
  bool reads = mode & MW_MPI_READS, writes = mode & MW_MPI_WRITES;
  int result = reads && writes ? mpi.mode_rdwr : writes ? mpi.mode_wronly : mpi.mode_rdonly;
  if (mode & MW_MPI_CREATES) result |= mpi.mode_create;
  if (mode & MW_MPI_EXCLUDES) result |= mpi.mode_excl;
  return result;
}

static int open_file(mw_mpi_file *file, int mode) {
  int result = mpi.File_open(file->comm->data, file->path, mode_of(mode), mpi.info_null, &file->handle);
  uint64_t all = result == 0;
  int reduced = mpi.Allreduce((void *)(intptr_t)mpi.in_place, &all, 1, mpi.uint64, mpi.min, file->comm->data);
  if (result != 0) return file_failed(file->path, "opening", result);
  if (reduced != 0) return mpi_failed("MPI_Allreduce", reduced);
  if (!all) return fail(MW_OPERATING_SYSTEM, "%s: another rank cannot open it", file->path);
  mpi.File_set_errhandler(file->handle, mpi.errors_return);
  if (mode & MW_MPI_EMPTIES) result = mpi.File_set_size(file->handle, 0);
  return result == 0 ? MW_SUCCESS : file_failed(file->path, "emptying", result);
}

int mw_mpi_file_open(mw_mpi_comm *comm, const char *path, int mode, mw_mpi_file **out) {
  int code = mpi_check_open(comm);
  if (code != MW_SUCCESS) return code;
  mw_mpi_file *file = mw_alloc(sizeof *file);
  *file = (mw_mpi_file){.comm = mw_mpi_retain(comm), .path = mw_strdup(path)};
  mw_refs_init(&file->refs);
  code = open_file(file, mode);
  if (code != MW_SUCCESS) return mw_mpi_file_release(file), code;
  mw_refs_take(&file->refs); /* of the other ranks, until it is closed */
  mw_mpi_file **end = &files;
  while (*end) end = &(*end)->next;
  *end = file;
  *out = file;
  return MW_SUCCESS;
}

int mw_mpi_file_close(mw_mpi_file *file) {
  if (!file->handle) return MW_SUCCESS;
  mw_mpi_file **at = &files;
  while (*at != file) at = &(*at)->next;
  *at = file->next;
  int result = mpi.File_close(&file->handle), code = MW_SUCCESS;
  file->handle = 0;
  if (result != 0) code = file_failed(file->path, "closing", result);
  mw_mpi_file_release(file);
  return code;
}

/* Closing is collective, so a file that a script merely forgets is closed when the process ends. Opening one waits for the
   other ranks, so this order suits all of them. */
void mpi_close_files(void) {
  while (files) mw_mpi_file_close(files);
}

void mw_mpi_file_release(mw_mpi_file *file) {
  if (!file || !mw_refs_drop(&file->refs)) return;
  mw_mpi_release(file->comm);
  free(file->path);
  free(file);
}

/* ---- reading and writing ---- */

static int call_mpi(mw_mpi_file *file, mw_mpi_file_kind kind, int64_t at, void *data, int count, mpi_handle type,
                    int *status) {
  mpi_handle handle = file->handle;
  switch (kind) {
  case MW_MPI_READ_AT: return mpi.File_read_at(handle, at, data, count, type, status);
  case MW_MPI_WRITE_AT: return mpi.File_write_at(handle, at, data, count, type, status);
  case MW_MPI_READ_AT_ALL: return mpi.File_read_at_all(handle, at, data, count, type, status);
  case MW_MPI_WRITE_AT_ALL: return mpi.File_write_at_all(handle, at, data, count, type, status);
  case MW_MPI_READ_SHARED: return mpi.File_read_shared(handle, data, count, type, status);
  case MW_MPI_WRITE_SHARED: return mpi.File_write_shared(handle, data, count, type, status);
  case MW_MPI_READ_ORDERED: return mpi.File_read_ordered(handle, data, count, type, status);
  case MW_MPI_WRITE_ORDERED: return mpi.File_write_ordered(handle, data, count, type, status);
  }
  return 0;
}

/* Libraries count what they read in bytes reliably, and in larger types not all of them do. */
static int check_count(mw_mpi_file *file, const int *status, size_t bytes, size_t element, bool writes) {
  int moved = 0;
  if (bytes > INT_MAX || mpi.Get_count(status, mpi.byte, &moved) != 0 || moved < 0 || (size_t)moved == bytes)
    return MW_SUCCESS;
  int code = fail(MW_OPERATING_SYSTEM, "%s: %zu of %zu elements were %s", file->path, (size_t)moved / element,
                  bytes / element, writes ? "written" : "read: the file ends there");
  mw_error_kind("io");
  return code;
}

int mw_mpi_file_move(mw_mpi_file *file, mw_mpi_file_kind kind, mw_array *array, uint64_t offset) {
  bool writes = kind % 2 != 0;
  size_t element = mw_array_dtype(array)->size, count = mw_array_count(array);
  mpi_operand operand;
  mpi_handle type;
  int status[MPI_STATUS_INTS] = {0}, code = check_open(file);
  if (code == MW_SUCCESS && file->element && file->element != element)
    code = fail(MW_INVALID_VALUE, "%s: elements of %zu bytes in a view of elements of %zu bytes", file->path, element,
                file->element);
  if (code == MW_SUCCESS && count > INT_MAX) code = fail(MW_NOT_SUPPORTED, "an array of more than 2^31 - 1 elements");
  if (code == MW_SUCCESS) code = mpi_block_type(element, &type);
  if (code == MW_SUCCESS) code = mpi_operand_open(&operand, array, writes, !writes);
  if (code != MW_SUCCESS) return code;
  int64_t at = (int64_t)(offset * (file->element ? file->element : 1));
  int result = call_mpi(file, kind, at, operand.address, (int)count, type, status);
  mpi_completed++;
  if (result != 0)
    code = file_failed(file->path, writes ? "writing" : "reading", result);
  else
    code = check_count(file, status, operand.bytes, element, writes);
  int closed = mpi_operand_close(&operand);
  return code != MW_SUCCESS ? code : closed;
}

/* ---- views ---- */

static int subarray(size_t element, int rank, const size_t *shape, const size_t *first, const size_t *count,
                    mpi_handle *out) {
  int sizes[8], counts[8], starts[8];
  mpi_handle block;
  int code = mpi_block_type(element, &block);
  for (int i = 0; i < rank && code == MW_SUCCESS; i++) {
    if (shape[i] > INT_MAX) return fail(MW_NOT_SUPPORTED, "an axis of more than 2^31 - 1 elements");
    sizes[i] = (int)shape[i];
    counts[i] = (int)count[i];
    starts[i] = (int)first[i];
  }
  if (code != MW_SUCCESS) return code;
  *out = 0;
  int result = mpi.Type_create_subarray(rank, sizes, counts, starts, mpi.order_c, block, out);
  if (result == 0) result = mpi.Type_commit(out);
  return result == 0 ? MW_SUCCESS : mpi_failed("MPI_Type_create_subarray", result);
}

int mw_mpi_file_view(mw_mpi_file *file, uint64_t offset, size_t element, int rank, const size_t *shape,
                     const size_t *first, const size_t *count) {
  int code = check_open(file);
  bool sees_none = rank == 0;
  for (int i = 0; i < rank && code == MW_SUCCESS; i++) {
    if (first[i] > shape[i] || count[i] > shape[i] - first[i])
      code = fail(MW_INVALID_VALUE, "%s: axis %d has %zu elements, and the view %zu from element %zu on", file->path,
                  i + 1, shape[i], count[i], first[i] + 1);
    sees_none |= count[i] == 0;
  }
  if (code != MW_SUCCESS) return code;
  mpi_handle type = mpi.byte;
  if (!sees_none) code = subarray(element, rank, shape, first, count, &type);
  if (code != MW_SUCCESS) return code;
  int result = mpi.File_set_view(file->handle, (int64_t)offset, mpi.byte, type, "native", mpi.info_null);
  if (!sees_none) mpi.Type_free(&type);
  if (result != 0) return file_failed(file->path, "setting a view", result);
  file->element = rank ? element : 0;
  return MW_SUCCESS;
}

/* ---- sizes ---- */

int mw_mpi_file_size(mw_mpi_file *file, uint64_t *bytes) {
  int code = check_open(file);
  if (code != MW_SUCCESS) return code;
  int64_t size = 0;
  int result = mpi.File_get_size(file->handle, &size);
  *bytes = (uint64_t)size;
  return result == 0 ? MW_SUCCESS : file_failed(file->path, "asking for the size", result);
}

int mw_mpi_file_resize(mw_mpi_file *file, uint64_t bytes) {
  int code = check_open(file);
  if (code != MW_SUCCESS) return code;
  int result = mpi.File_set_size(file->handle, (int64_t)bytes);
  return result == 0 ? MW_SUCCESS : file_failed(file->path, "resizing", result);
}

int mw_mpi_file_sync(mw_mpi_file *file) {
  int code = check_open(file);
  if (code != MW_SUCCESS) return code;
  int result = mpi.File_sync(file->handle);
  return result == 0 ? MW_SUCCESS : file_failed(file->path, "writing to the disk", result);
}
