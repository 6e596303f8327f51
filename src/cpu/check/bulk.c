/* Bulk copies in checked runs. As with other asynchronous copies, the accesses are made by an agent of the thread
 * (AGENTS). They happen before the accesses of threads that have waited for the barrier that counts the bytes, and
 * before those of the copying thread once it has waited for the group of copies. */
#include "session.h"

#include "cpu/execution/services.h"

/* The functions called below overwrite the worker's call site, so it is saved and restored: findings name the line of
   the service call. */
typedef struct place {
  uintptr_t call, frame;
} place;

static place place_of(const cpu_worker *worker) { return (place){worker->call, worker->call_frame}; }

static void return_to(cpu_worker *worker, place at) {
  worker->call = at.call;
  worker->call_frame = at.frame;
}

void cpu_check_bulk(mw_worker *base, uint64_t address, uint64_t bytes, uint32_t flags) {
  cpu_worker *worker = (cpu_worker *)base;
  if (!worker->holds_check || !worker->checked->check || !bytes) return;
  place here = place_of(worker);
  checked_thread *t = &worker->checked->threads[checked_thread_of(worker)];
  t->copies = true;
  cpu_check_watch(worker, address, bytes, 0, NULL, flags | MW_ACCESS_WATCHED);
  t->copies = false;
  if (flags & MW_ACCESS_STORE) cpu_check_shadow(base, MW_SHADOW_CLEAN, address, bytes, NULL);
  return_to(worker, here);
}

void cpu_check_counted(mw_worker *base, uint64_t barrier) {
  cpu_worker *worker = (cpu_worker *)base;
  if (worker->holds_check && worker->checked->check) checked_count(worker, checked_thread_of(worker), barrier);
}
