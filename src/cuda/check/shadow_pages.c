/* Shadows of a device's memory in a checked run: for each 2 MiB with arrays, the latest accesses to each word, and
 * which bytes something has written. Arrays that are allocated in the run begin unwritten; all others count as
 * written. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

static const size_t kept_most = (size_t)256 << 20; /* bytes of freed arrays */
enum { PAGE = 1 << MW_FOLLOW_PAGE_SHIFT };

/* Memory that will have been filled when work of the device's side stream has ended. */
static CUdeviceptr room_soon(check_session *check, size_t bytes, unsigned char value) {
  CUdeviceptr room = 0;
  if (cuda_heap_unrecorded(check->device, bytes, &room) != 0) return 0;
  if (cu.cuMemsetD8Async(room, value, bytes, check->device->side) != 0) {
    cu.cuMemFree(room);
    return 0;
  }
  check->owned = mw_realloc(check->owned, (check->owned_count + 1) * sizeof *check->owned);
  check->owned[check->owned_count++] = room;
  return room;
}

CUdeviceptr check_room(check_session *check, size_t bytes, unsigned char value) {
  CUdeviceptr room = room_soon(check, bytes, value);
  return room && cu.cuStreamSynchronize(check->device->side) == 0 ? room : 0;
}

/* ---- pages ---- */

/* The page's entry, or the free one where it is to be. */
static mw_follow_page *place_of(const check_session *check, uint64_t number) {
  for (uint64_t at = number;; at++) {
    mw_follow_page *page = &check->pages[at & (check->at.page_room - 1)];
    if (page->number == number || !page->number) return page;
  }
}

const mw_follow_page *check_page_of(const check_session *check, uint64_t address) {
  return place_of(check, address >> MW_FOLLOW_PAGE_SHIFT);
}

static CUresult send(check_session *check, const mw_follow_page *page) {
  uint64_t at = check->at.pages + (uint64_t)(page - check->pages) * sizeof *page;
  return cu.cuMemcpyHtoDAsync(at, page, sizeof *page, check->device->side);
}

/* Give new pages their shadows: of all at once if there is so much memory in one piece, since allocating is slow. */
static CUresult give_shadows(check_session *check, mw_follow_page **pages, size_t count) {
  enum { CELLS = MW_FOLLOW_PAGE_WORDS * sizeof(mw_follow_cell) };
  bool wants_cells = check->kinds & MW_CHECK_RACES, wants_written = check->kinds & MW_CHECK_INITIALISATION;
  CUdeviceptr cells = wants_cells ? room_soon(check, count * CELLS, 0) : 0;
  CUdeviceptr written = wants_written ? room_soon(check, count * MW_FOLLOW_PAGE_WORDS, 15) : 0;
  if (count > 1 && ((wants_cells && !cells) || (wants_written && !written))) {
    CUresult result = give_shadows(check, pages, count / 2);
    return result ? result : give_shadows(check, pages + count / 2, count - count / 2);
  }
  if ((wants_cells && !cells) || (wants_written && !written)) check->lacks_memory = true;
  CUresult result = 0;
  for (size_t i = 0; i < count && result == 0; i++) {
    if (cells) pages[i]->cells = cells + i * CELLS;
    if (written) pages[i]->written = written + i * MW_FOLLOW_PAGE_WORDS;
    result = send(check, pages[i]);
  }
  return result;
}

/* The pages of a range that have no entry yet get one. Returns how many there are in `made`. */
static size_t add_pages(check_session *check, uint64_t address, size_t bytes, mw_follow_page ***made, size_t count) {
  for (uint64_t n = address >> MW_FOLLOW_PAGE_SHIFT; bytes && n <= (address + bytes - 1) >> MW_FOLLOW_PAGE_SHIFT; n++) {
    mw_follow_page *page = place_of(check, n);
    if (page->number) continue;
    if (2 * (check->page_count + 1) > check->at.page_room) {
      check->lacks_memory = true;
      break;
    }
    check->page_count++;
    *page = (mw_follow_page){.number = n};
    *made = mw_realloc(*made, (count + 1) * sizeof **made);
    (*made)[count++] = page;
  }
  return count;
}

int check_cover(check_session *check) {
  uint64_t changes = cuda_heaps_changes();
  if (!(check->kinds & (MW_CHECK_RACES | MW_CHECK_INITIALISATION)) || check->changes == changes) return MW_SUCCESS;
  size_t count, made = 0;
  mw_follow_page **pages = NULL;
  cuda_extent *list = cuda_heaps_list(&count);
  for (size_t i = 0; i < count; i++) made = add_pages(check, list[i].address, list[i].bytes, &pages, made);
  CUresult result = made ? give_shadows(check, pages, made) : 0;
  if (result == 0 && made) result = cu.cuStreamSynchronize(check->device->side);
  free(list);
  free(pages);
  check->changes = changes;
  return cuda_outcome(check->device, result, "preparing a checked run");
}

/* ---- what is written ---- */

/* Set the bytes of the words in a range, in the stream. */
static CUresult mark(check_session *check, CUstream stream, uint64_t address, size_t bytes, unsigned char value) {
  uint64_t end = address + bytes;
  CUresult result = 0;
  for (uint64_t at = address, next; at < end && result == 0; at = next) {
    const mw_follow_page *page = place_of(check, at >> MW_FOLLOW_PAGE_SHIFT);
    next = (at | (PAGE - 1)) + 1;
    uint64_t stop = next < end ? next : end;
    if (!page->number || !page->written) continue;
    uint64_t first = (at & (PAGE - 1)) / 4, last = ((stop - 1) & (PAGE - 1)) / 4;
    result = cu.cuMemsetD8Async(page->written + first, value, last - first + 1, stream);
  }
  return result;
}

static void forget_accesses(check_session *check, uint64_t address, size_t bytes) {
  uint64_t end = address + bytes;
  for (uint64_t at = address, next; at < end; at = next) {
    const mw_follow_page *page = place_of(check, at >> MW_FOLLOW_PAGE_SHIFT);
    next = (at | (PAGE - 1)) + 1;
    uint64_t stop = next < end ? next : end, first = (at & (PAGE - 1)) / 4, last = ((stop - 1) & (PAGE - 1)) / 4;
    if (page->number && page->cells)
      cu.cuMemsetD8Async(page->cells + first * sizeof(mw_follow_cell), 0, (last - first + 1) * sizeof(mw_follow_cell),
                         check->device->side);
  }
}

static void add_range(check_range **list, size_t *count, uint64_t address, size_t bytes) {
  *list = mw_realloc(*list, (*count + 1) * sizeof **list);
  (*list)[(*count)++] = (check_range){.address = address, .bytes = bytes};
}

void cuda_check_allocated(cuda_device *device, uint64_t address, size_t bytes, bool is_written) {
  check_session *check = device->check;
  if (!check) return;
  mw_lock(&check->lock);
  (void)check_cover(check);
  forget_accesses(check, address, bytes);
  check_forget_commands(check, address, bytes);
  mark(check, device->side, address, bytes, is_written ? 15 : 0);
  cu.cuStreamSynchronize(device->side);
  if (!is_written) add_range(&check->allocated, &check->allocated_count, address, bytes);
  mw_unlock(&check->lock);
}

void cuda_check_wrote(cuda_device *device, CUstream stream, uint64_t address, size_t bytes) {
  check_session *check = device->check;
  if (!check || !(check->kinds & MW_CHECK_INITIALISATION)) return;
  mw_lock(&check->lock);
  mark(check, stream, address, bytes, 15);
  for (size_t i = 0; i < check->allocated_count; i++) {
    check_range *r = &check->allocated[i];
    r->is_whole =
        r->is_whole || (r->address >= address && r->bytes <= bytes && r->address - address <= bytes - r->bytes);
  }
  mw_unlock(&check->lock);
}

void check_wrote_arrays(check_session *check, CUstream stream) {
  for (size_t i = 0; i < check->allocated_count; i++) {
    mark(check, stream, check->allocated[i].address, check->allocated[i].bytes, 15);
    check->allocated[i].is_whole = true;
  }
}

bool check_is_whole(const check_session *check, cuda_extent extent) {
  bool whole = extent.bytes != 0;
  for (size_t i = 0; i < check->allocated_count && whole; i++) {
    const check_range *r = &check->allocated[i];
    bool meets = r->address < extent.address + extent.bytes && extent.address < r->address + r->bytes;
    whole = !meets || r->is_whole;
  }
  return whole;
}

/* ---- freed memory ---- */

bool cuda_check_frees(cuda_device *device, uint64_t address, size_t bytes) {
  check_session *check = device->check;
  if (!check) return false;
  mw_lock(&check->lock);
  size_t kept = bytes;
  for (size_t i = 0; i < check->freed_count; i++) kept += check->freed[i].bytes;
  for (size_t i = 0; i < check->allocated_count; i++)
    if (check->allocated[i].address == address) check->allocated[i].bytes = 0;
  bool keeps = kept <= kept_most;
  if (keeps) add_range(&check->freed, &check->freed_count, address, bytes);
  mw_unlock(&check->lock);
  return keeps;
}

bool check_is_freed(const check_session *check, uint64_t address) {
  for (size_t i = 0; i < check->freed_count; i++)
    if (address - check->freed[i].address < check->freed[i].bytes) return true;
  return false;
}

void check_give_back(check_session *check) {
  for (size_t i = 0; i < check->freed_count; i++) cuda_heap_give_back(check->device, check->freed[i].address);
}
