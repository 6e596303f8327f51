/* The table of handles: the library's values for cudaStream_t, CUmodule and so on.
 *
 * A handle is a number that is no address (its upper bits are outside of a process's address space), counted up and
 * never reused. Objects that have a key of their own stand in the same table under it: a texture object, whose handle
 * kernels take, and a textureReference, whose address the host has. */
#include "host.h"

#include <pthread.h>

#define HANDLE_MARK  ((uint64_t)0xCDA0 << 48)
#define MARK_MASK    ((uint64_t)0xFFFF << 48)
#define FIRST_CHAINS 256

typedef struct entry {
  struct entry *next;
  uint64_t key;
  host_kind kind;
  unsigned owner, note;
  void *object;
} entry;

static struct {
  pthread_mutex_t lock;
  entry **chains;
  size_t mask, count;
  uint64_t serial;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *must(void *memory) {
  if (memory) return memory;
  fputs("libmoonwarp_cuda: out of memory\n", stderr);
  abort();
}

/* ---- under the lock ---- */

static entry **chain_of(uint64_t key) { return &table.chains[(key * 0x9E3779B97F4A7C15u >> 32) & table.mask]; }

static void grow(void) {
  entry **old = table.chains;
  size_t chains = old ? table.mask + 1 : 0;
  table.mask = old ? 2 * chains - 1 : FIRST_CHAINS - 1;
  table.chains = must(calloc(table.mask + 1, sizeof *table.chains));
  for (size_t i = 0; i < chains; i++) {
    for (entry *e = old[i], *next; e; e = next) {
      next = e->next;
      entry **chain = chain_of(e->key);
      e->next = *chain;
      *chain = e;
    }
  }
  free(old);
}

static void add(host_kind kind, unsigned owner, uint64_t key, void *object) {
  if (!table.chains || table.count > table.mask) grow();
  entry **chain = chain_of(key), *new = must(malloc(sizeof *new));
  *new = (entry){.next = *chain, .key = key, .kind = kind, .owner = owner, .object = object};
  *chain = new;
  table.count++;
}

/* The link to the entry, or NULL. */
static entry **find(host_kind kind, uint64_t key) {
  if (!table.chains) return NULL;
  for (entry **link = chain_of(key); *link; link = &(*link)->next)
    if ((*link)->key == key && (*link)->kind == kind) return link;
  return NULL;
}

static entry **find_owned(host_kind kind, unsigned owner) {
  for (size_t i = 0; table.chains && i <= table.mask; i++)
    for (entry **link = &table.chains[i]; *link; link = &(*link)->next)
      if ((*link)->kind == kind && (*link)->owner == owner) return link;
  return NULL;
}

static void *take_out(entry **link) {
  entry *e = *link;
  void *object = e->object;
  *link = e->next;
  free(e);
  table.count--;
  return object;
}

static void *retain(host_kind kind, void *object) {
  switch (kind) {
  case HOST_STREAM: return mw_stream_retain(object);
  case HOST_EVENT: return mw_event_retain(object);
  case HOST_ARRAY:
  case HOST_MIPMAP: return mw_cuda_array_retain(object);
  default: return object;
  }
}

/* ---- the interface ---- */

void *host_handle_new(host_kind kind, unsigned owner, void *object) {
  pthread_mutex_lock(&table.lock);
  uint64_t key = HANDLE_MARK | ++table.serial << 4 | (uint64_t)kind;
  add(kind, owner, key, object);
  pthread_mutex_unlock(&table.lock);
  return host_pointer(key);
}

void host_handle_enter(host_kind kind, unsigned owner, uint64_t key, void *object) {
  pthread_mutex_lock(&table.lock);
  add(kind, owner, key, object);
  pthread_mutex_unlock(&table.lock);
}

void *host_handle_find_key(host_kind kind, uint64_t key) {
  pthread_mutex_lock(&table.lock);
  entry **link = find(kind, key);
  void *object = link ? retain(kind, (*link)->object) : NULL;
  pthread_mutex_unlock(&table.lock);
  return object;
}

void *host_handle_take_key(host_kind kind, uint64_t key) {
  pthread_mutex_lock(&table.lock);
  entry **link = find(kind, key);
  void *object = link ? take_out(link) : NULL;
  pthread_mutex_unlock(&table.lock);
  return object;
}

void *host_handle_find(host_kind kind, const void *handle) { return host_handle_find_key(kind, host_address(handle)); }
void *host_handle_take(host_kind kind, const void *handle) { return host_handle_take_key(kind, host_address(handle)); }

void *host_handle_take_owned(host_kind kind, unsigned owner) {
  pthread_mutex_lock(&table.lock);
  entry **link = find_owned(kind, owner);
  void *object = link ? take_out(link) : NULL;
  pthread_mutex_unlock(&table.lock);
  return object;
}

unsigned host_handle_owner(host_kind kind, const void *handle) {
  pthread_mutex_lock(&table.lock);
  entry **link = find(kind, host_address(handle));
  unsigned owner = link ? (*link)->owner : 0;
  pthread_mutex_unlock(&table.lock);
  return owner;
}

void *host_handle_any_owned(host_kind kind, unsigned owner) {
  pthread_mutex_lock(&table.lock);
  entry **link = find_owned(kind, owner);
  void *object = link ? retain(kind, (*link)->object) : NULL;
  pthread_mutex_unlock(&table.lock);
  return object;
}

void host_handle_set_note(host_kind kind, const void *handle, unsigned note) {
  pthread_mutex_lock(&table.lock);
  entry **link = find(kind, host_address(handle));
  if (link) (*link)->note = note;
  pthread_mutex_unlock(&table.lock);
}

unsigned host_handle_note(host_kind kind, const void *handle) {
  pthread_mutex_lock(&table.lock);
  entry **link = find(kind, host_address(handle));
  unsigned note = link ? (*link)->note : 0;
  pthread_mutex_unlock(&table.lock);
  return note;
}

bool host_is_handle(const void *value) { return (host_address(value) & MARK_MASK) == HANDLE_MARK; }
