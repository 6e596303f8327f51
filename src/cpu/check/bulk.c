/* Bulk copies in checked runs: a copy's accesses are those of its thread's agent (AGENTS), as those of other asynchronous
 * copies are. They are known to whoever has waited for the barrier that counts its bytes, or to the thread when it has
 * waited for their group. */
#include "session.h"

#include "cpu/execution/services.h"

/* What a service tells keeps the service's place in the kernel, and not the teller's. */
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
