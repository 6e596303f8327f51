/* Chains: sequences of kernels, copies and fills of a graph that the driver runs as one command (a command list).
 *
 * A layout is the driver's list together with the resources that it uses. It is made when the chain first runs and
 * whenever something in the chain has changed; runs in flight retain it. If the chain cannot be laid out, or the driver
 * refuses it, its nodes run one by one, so that errors are those of the nodes' calls. */
#include "core/array/array.h"
#include "graph.h"
#include "core/memory/allocation_map.h"
#include "core/texture/texture_reference.h"
#include "core/texture/texture.h"

#include <stdlib.h>

enum { CHECK_AGAIN = 64 /* the most runs between two checks for specialised kernels */ };

typedef struct layout {
  mw_refs refs; /* one of the chain, and one for each run in flight */
  const mw_driver *driver;
  void *list;
  unsigned epoch; /* the device's */
  size_t buffer_count, module_count;
  mw_buffer **buffers; /* that the nodes use, without duplicates; likewise the modules */
  mw_module **modules;
} layout;

struct mw_chain {
  mw_device *device;
  const mw_work **nodes; /* as they were added */
  const mw_work **works; /* these and, after each conditional node, what is in it; made when the chain is laid out */
  size_t node_count, count, capacity;
  layout *layout;   /* or NULL */
  mw_buffer **held; /* references to the memory of its copies and fills by address */
  size_t held_count;
  mw_buffer **bound; /* likewise of the textures bound to its kernels' references when it was laid out, by kernel */
  size_t bound_count;
  int refusal;         /* of the driver's, when it was to be laid out */
  bool plain;          /* it cannot be laid out */
  bool settled;        /* its kernels will not be specialised any further */
  uint64_t runs, next; /* the number of runs since the last check for specialised kernels, and until the next one */
};

/* ---- making ---- */

mw_chain *mw_chain_new(mw_device *device) {
  mw_chain *chain = mw_alloc(sizeof *chain);
  chain->device = device;
  return chain;
}

void mw_chain_add(mw_chain *chain, const mw_work *work) {
  if (chain->node_count == chain->capacity) {
    chain->capacity = chain->capacity ? 2 * chain->capacity : 16;
    chain->nodes = mw_realloc(chain->nodes, chain->capacity * sizeof *chain->nodes);
  }
  chain->nodes[chain->node_count++] = work;
}

/* Write the work and what is in it to `out`, if that is not NULL; returns the number of its works. */
static size_t flatten(const mw_work *work, const mw_work **out) {
  static const mw_work body_begins = {.kind = MW_WORK_BODY}, bodies_end = {.kind = MW_WORK_END};
  size_t count = 0;
  if (out) out[count] = work;
  count++;
  if (work->kind != MW_WORK_CONDITIONAL) return count;
  for (size_t i = 0; i < work->body_count; i++) {
    const mw_graph *body = work->bodies[i];
    if (out) out[count] = &body_begins;
    count++;
    for (size_t k = 0; k < body->count; k++) count += flatten(&body->nodes[k].work, out ? out + count : NULL);
  }
  if (out) out[count] = &bodies_end;
  return count + 1;
}

static void flatten_all(mw_chain *chain) {
  size_t count = 0;
  for (size_t i = 0; i < chain->node_count; i++) count += flatten(chain->nodes[i], NULL);
  chain->works = mw_realloc(chain->works, (count + 1) * sizeof *chain->works);
  chain->count = 0;
  for (size_t i = 0; i < chain->node_count; i++) chain->count += flatten(chain->nodes[i], chain->works + chain->count);
}

static bool has_settled_textures(const mw_launch *launch) {
  mw_buffer *buffers[MW_TEXTURE_BUFFERS];
  for (size_t i = 0; i < launch->texture_count; i++)
    if (!mw_texture_is_settled(launch->textures[i].texture, buffers)) return false;
  return true;
}

static size_t references_of(const mw_launch *launch) { return launch ? launch->kernel->info->reference_count : 0; }

/* Cooperative launches have phases of their own, and clusters several blocks at a time, and only single launches can
   change a driver's own texture bindings. */
static bool takes_launch(const mw_device *device, const mw_launch *launch) {
  const mw_kernel *kernel = launch->kernel;
  return kernel->module->device == device && kernel->module->epoch == atomic_load(&device->epoch) &&
         launch->missing == 0 && !launch->request.cooperative && !launch->request.cluster[0] &&
         (references_of(launch) == 0 || (kernel->bindings && !device->driver->texture_new)) &&
         has_settled_textures(launch);
}

/* The memory of a copy or a fill by address, at most two buffers, yours; none if it cannot be laid out. */
static size_t find_memory(mw_device *device, const mw_work *work, mw_buffer *out[2]) {
  if (work->kind == MW_WORK_COPY && mw_copy_flat(device, &work->copy, out)) return 2;
  if (work->kind == MW_WORK_FILL && mw_fill_flat(device, &work->fill, out)) return 1;
  return 0;
}

static bool takes_addresses(mw_device *device, const mw_work *work) {
  mw_buffer *reached[2];
  size_t count = find_memory(device, work, reached);
  for (size_t i = 0; i < count; i++) mw_buffer_release(reached[i]);
  return count > 0;
}

bool mw_chain_takes_inside(mw_device *device, const mw_work *work) {
  switch (work->kind) {
  case MW_WORK_NONE:
  case MW_WORK_BODY:
  case MW_WORK_END: return true;
  case MW_WORK_CONDITIONAL: return mw_conditional_check(device, work) == MW_SUCCESS;
  case MW_WORK_LAUNCH: return takes_launch(device, work->launch);
  case MW_WORK_BUFFER_COPY: return work->target->device == device && work->source->device == device;
  case MW_WORK_BUFFER_FILL: return work->target->device == device;
  default: return takes_addresses(device, work);
  }
}

bool mw_chain_takes(mw_device *device, const mw_work *work) {
  if (!device->driver->list_new) return false;
  return (!device->driver->conditional_lists || work->kind == MW_WORK_CONDITIONAL) &&
         mw_chain_takes_inside(device, work);
}

static void drop_layout(layout *l) {
  if (!l || !mw_refs_drop(&l->refs)) return;
  l->driver->list_free(l->list);
  free(l->buffers);
  free(l->modules);
  free(l);
}

/* Runs in flight have uses of the memory, not references: only host threads may release references. */
static void let_go(mw_chain *chain) {
  for (size_t i = 0; i < chain->held_count; i++) mw_buffer_release(chain->held[i]);
  for (size_t i = 0; i < chain->bound_count; i++) mw_buffer_release(chain->bound[i]);
  free(chain->held);
  free(chain->bound);
  chain->held = chain->bound = NULL;
  chain->held_count = chain->bound_count = 0;
}

void mw_chain_spoil(mw_chain *chain) {
  drop_layout(chain->layout);
  let_go(chain);
  chain->layout = NULL;
  chain->plain = chain->settled = false;
}

void mw_chain_free(mw_chain *chain) {
  if (!chain) return;
  drop_layout(chain->layout);
  let_go(chain);
  free(chain->nodes);
  free(chain->works);
  free(chain);
}

/* ---- laying out ---- */

static int compare_pointers(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(void *const *)a, y = (uintptr_t)*(void *const *)b;
  return (x > y) - (x < y);
}

/* Sort pointers and remove duplicates; returns the number left. */
static size_t unite(void *pointers, size_t count) {
  void **list = pointers;
  size_t unique = 0;
  if (count > 1) qsort(list, count, sizeof *list, compare_pointers);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || list[i] != list[i - 1]) list[unique++] = list[i];
  return unique;
}

static size_t buffers_of(const mw_work *work, mw_buffer **out) {
  size_t count = 0;
  const mw_launch *launch = work->launch;
  if (work->target) out[count++] = work->target;
  if (work->source) out[count++] = work->source;
  for (size_t i = 0; launch && launch->array_count > 0 && i < launch->kernel->info->param_count; i++)
    if (launch->arrays[i]) out[count++] = launch->arrays[i]->buffer;
  for (size_t i = 0; launch && i < launch->retained_count; i++) out[count++] = launch->retained[i]->buffer;
  for (size_t i = 0; launch && i < launch->texture_count; i++, count += MW_TEXTURE_BUFFERS)
    (void)mw_texture_is_settled(launch->textures[i].texture, out + count);
  return count;
}

static void find_uses(const mw_chain *chain, layout *l) {
  size_t most = 1 + chain->held_count + chain->bound_count;
  for (size_t i = 0; i < chain->count; i++) {
    const mw_launch *launch = chain->works[i]->launch;
    most +=
        2 + (launch ? launch->array_count + launch->retained_count + MW_TEXTURE_BUFFERS * launch->texture_count : 0);
  }
  l->buffers = mw_alloc(most * sizeof *l->buffers);
  l->modules = mw_alloc((chain->count + 1) * sizeof *l->modules);
  for (size_t i = 0; i < chain->count; i++) {
    const mw_work *work = chain->works[i];
    l->buffer_count += buffers_of(work, l->buffers + l->buffer_count);
    if (work->launch) l->modules[l->module_count++] = work->launch->kernel->module;
  }
  for (size_t i = 0; i < chain->held_count; i++) l->buffers[l->buffer_count++] = chain->held[i];
  for (size_t i = 0; i < chain->bound_count; i++) l->buffers[l->buffer_count++] = chain->bound[i];
  l->buffer_count = unite(l->buffers, l->buffer_count);
  l->module_count = unite(l->modules, l->module_count);
}

/* references: the handles of the bindings of the kernel's references. */
static mw_launch_request request_of(const mw_work *work, const uint64_t *references) {
  mw_launch *launch = work->launch;
  mw_launch_request request = launch->request;
  request.kernel = mw_launch_choose(launch, 1);
  request.reference_count = launch->kernel->info->reference_count;
  request.reference_names = launch->kernel->info->references;
  request.references = references;
  request.site = work->site;
  return request;
}

static mw_list_item item_of(const mw_work *work, const mw_launch_request *request) {
  const mw_copy *copy = &work->copy;
  const mw_fill *fill = &work->fill;
  static const mw_list_mark marks[] = {MW_LIST_IF, MW_LIST_WHILE, MW_LIST_SWITCH};
  if (work->kind == MW_WORK_LAUNCH) return (mw_list_item){.launch = request};
  if (work->kind == MW_WORK_BODY) return (mw_list_item){.mark = MW_LIST_BODY};
  if (work->kind == MW_WORK_END) return (mw_list_item){.mark = MW_LIST_END};
  if (work->kind == MW_WORK_CONDITIONAL)
    return (mw_list_item){.mark = marks[work->conditional], .target = work->target->address};
  if (work->kind == MW_WORK_COPY)
    return (mw_list_item){
        .target = copy->target, .source = copy->source, .size = 1, .count = copy->width * copy->height * copy->depth};
  if (work->kind == MW_WORK_FILL)
    return (mw_list_item){.target = fill->target,
                          .pattern = &fill->value,
                          .size = fill->size,
                          .count = fill->width * fill->height * fill->depth};
  mw_list_item item = {.target = work->target->address + work->target_offset};
  if (work->kind == MW_WORK_BUFFER_COPY) {
    item.source = work->source->address + work->source_offset;
    item.size = 1;
    item.count = work->bytes;
  } else {
    item.pattern = work->pattern;
    item.size = work->size;
    item.count = work->count;
  }
  return item;
}

static bool is_nothing(const mw_work *work) {
  return work->kind == MW_WORK_NONE || (work->kind == MW_WORK_BUFFER_COPY && work->bytes == 0) ||
         (work->kind == MW_WORK_BUFFER_FILL && work->count == 0);
}

/* Make the driver's command list. NULL: the driver refused. */
static void *make_list(mw_chain *chain) {
  mw_launch_request *requests = mw_alloc(chain->count * sizeof *requests);
  mw_list_item *items = mw_alloc(chain->count * sizeof *items);
  uint64_t *references = mw_alloc((chain->bound_count + 1) * sizeof *references), *next = references;
  size_t count = 0;
  void *list = NULL;
  for (size_t i = 0; i < chain->bound_count; i += MW_TEXTURE_BUFFERS) *next++ = chain->bound[i]->address;
  next = references;
  chain->settled = true;
  for (size_t i = 0; i < chain->count; i++) {
    const mw_work *work = chain->works[i];
    if (is_nothing(work)) continue;
    if (work->launch) {
      requests[count] = request_of(work, next);
      next += references_of(work->launch);
      chain->settled = chain->settled && work->launch->request.kernel;
    }
    items[count] = item_of(work, &requests[count]);
    count++;
  }
  if (count > 0) chain->refusal = chain->device->driver->list_new(chain->device->state, items, count, &list);
  if (chain->refusal != MW_SUCCESS) list = NULL;
  free(references);
  free(requests);
  free(items);
  return list;
}

/* Retain the memory that the chain's work accesses by address; false if some of it cannot be laid out now. */
static bool hold_memory(mw_chain *chain) {
  bool all = true;
  flatten_all(chain);
  chain->held = mw_alloc((2 * chain->count + 1) * sizeof(mw_buffer *));
  for (size_t i = 0; i < chain->count && all; i++) {
    const mw_work *work = chain->works[i];
    bool by_address = work->kind == MW_WORK_COPY || work->kind == MW_WORK_FILL;
    size_t count = by_address ? find_memory(chain->device, work, chain->held + chain->held_count) : 0;
    chain->held_count += count;
    all = by_address ? count > 0 : mw_chain_takes_inside(chain->device, work);
  }
  if (!all) let_go(chain);
  return all;
}

/* Retain the current bindings; false if a reference is unbound. */
static bool hold_bound(mw_chain *chain) {
  size_t most = 1;
  bool all = true;
  for (size_t i = 0; i < chain->count; i++) most += MW_TEXTURE_BUFFERS * references_of(chain->works[i]->launch);
  chain->bound = mw_alloc(most * sizeof *chain->bound);
  for (size_t i = 0; i < chain->count && all; i++) {
    const mw_launch *launch = chain->works[i]->launch;
    if (references_of(launch) == 0) continue;
    all = mw_reference_hold(launch->kernel, chain->bound + chain->bound_count);
    if (all) chain->bound_count += MW_TEXTURE_BUFFERS * references_of(launch);
  }
  if (!all) let_go(chain);
  return all;
}

/* Whether the bindings of its kernels' references are those of when it was laid out. */
static bool is_bound(const mw_chain *chain) {
  mw_buffer *const *bound = chain->bound;
  bool same = true;
  for (size_t i = 0; i < chain->count && chain->bound_count && same; i++) {
    const mw_launch *launch = chain->works[i]->launch;
    if (references_of(launch) == 0) continue;
    same = mw_reference_is_bound_to(launch->kernel, bound);
    bound += MW_TEXTURE_BUFFERS * references_of(launch);
  }
  return same;
}

static void lay_out(mw_chain *chain) {
  mw_chain_spoil(chain);
  chain->refusal = MW_SUCCESS;
  chain->plain = !hold_memory(chain);
  if (chain->plain || !hold_bound(chain)) return; /* an unbound reference may be bound at the next run */
  chain->runs = 0;
  chain->next = 1;
  void *list = make_list(chain);
  if (!list) return;
  layout *l = mw_alloc(sizeof *l);
  mw_refs_init(&l->refs);
  l->driver = chain->device->driver;
  l->epoch = atomic_load(&chain->device->epoch);
  l->list = list;
  find_uses(chain, l);
  chain->layout = l;
}

/* ---- running ---- */

/* Whether there is now a specialised kernel for one of the nodes. Checked after 1, 2, 4 … runs. */
static bool has_better_code(mw_chain *chain) {
  bool better = false;
  if (chain->settled || chain->runs < chain->next) return false;
  chain->settled = true;
  for (size_t i = 0; i < chain->count; i++) {
    mw_launch *launch = chain->works[i]->launch;
    if (!launch || launch->request.kernel) continue;
    void *handle = mw_launch_choose(launch, chain->runs);
    better |= handle != launch->kernel->handle;
    chain->settled = chain->settled && launch->request.kernel;
  }
  chain->runs = 0;
  if (chain->next < CHECK_AGAIN) chain->next *= 2;
  return better;
}

static bool is_good(const mw_chain *chain) {
  const layout *l = chain->layout;
  return l && l->driver->list_is_good(l->list) &&
         l->epoch == atomic_load_explicit(&chain->device->epoch, memory_order_relaxed) && is_bound(chain);
}

static void end_uses(layout *l, size_t buffers) {
  for (size_t i = 0; i < buffers; i++) mw_buffer_unuse(l->buffers[i]);
}

static void run_done(void *context) {
  layout *l = context;
  end_uses(l, l->buffer_count);
  for (size_t i = 0; i < l->module_count; i++) mw_module_unuse(l->modules[i]);
  drop_layout(l);
}

/* False: some memory was freed. */
static bool begin_uses(layout *l) {
  for (size_t i = 0; i < l->buffer_count; i++) {
    if (mw_buffer_use(l->buffers[i]) == MW_SUCCESS) continue;
    end_uses(l, i);
    return false;
  }
  for (size_t i = 0; i < l->module_count; i++) mw_module_use(l->modules[i]);
  mw_refs_take(&l->refs);
  return true;
}

static bool has_conditional(const mw_chain *chain) {
  for (size_t i = 0; i < chain->node_count; i++)
    if (chain->nodes[i]->kind == MW_WORK_CONDITIONAL) return true;
  return false;
}

static int run_plainly(const mw_chain *chain, mw_stream *stream) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < chain->node_count && code == MW_SUCCESS; i++)
    code = mw_work_run(chain->nodes[i], stream, NULL);
  return code;
}

int mw_chain_run(mw_chain *chain, mw_stream *stream) {
  if (!chain->plain && (!is_good(chain) || has_better_code(chain))) lay_out(chain);
  layout *l = chain->layout;
  if (!l && chain->refusal != MW_SUCCESS && has_conditional(chain)) return chain->refusal;
  if (!l || !begin_uses(l)) {
    /* Another allocation may have the address at the next run. */
    if (chain->held_count > 0 || l) mw_chain_spoil(chain);
    return run_plainly(chain, stream);
  }
  chain->runs++;
  int code = l->driver->list_run(stream->state, l->list, (mw_completion){run_done, l});
  if (code != MW_SUCCESS) run_done(l);
  return code;
}
