/* Command lists: see command_list.h. */
#include "command_list.h"
#include "cpu/memory/heap.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

typedef struct list_node {
  cpu_command_kind kind;
  uint64_t blocks;
  cpu_kernel_work kernel;
  cpu_transfer_work transfer;
} list_node;

struct cpu_list {
  const cpu_device *device;
  uint64_t heap_base, heap_size; /* when it was made; and the limit "stack" */
  double stack;
  unsigned char *bytes; /* parameters, patterns and source positions, which nodes point into */
  size_t count;
  list_node nodes[];
};

/* ---- making ---- */

static size_t round_up(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* The bytes that the list stores for an item. */
static size_t size_of(const mw_list_item *item) {
  if (!item->launch) return item->pattern ? round_up(item->size) : 0;
  return round_up(cpu_launch_bytes(item->launch)) + round_up(item->launch->site ? strlen(item->launch->site) + 1 : 1);
}

static int make_kernel(cpu_device *device, list_node *node, const mw_launch_request *request, unsigned char *bytes) {
  int code = cpu_launch_prepare(device, request, &node->kernel);
  if (code != MW_SUCCESS) return code;
  char *site = (char *)bytes + round_up(cpu_launch_bytes(request));
  cpu_launch_keep(node->kernel.kernel, request, bytes, &node->kernel.frame);
  strcpy(site, request->site ? request->site : "");
  node->kernel.site = site;
  node->kind = CPU_KERNEL;
  node->blocks = cpu_launch_blocks(&node->kernel);
  return MW_SUCCESS;
}

static void make_transfer(list_node *node, const mw_list_item *item, unsigned char *bytes) {
  node->kind = item->pattern ? CPU_FILL : CPU_COPY;
  node->transfer = (cpu_transfer_work){.target = (unsigned char *)(uintptr_t)item->target,
                                       .source = (unsigned char *)(uintptr_t)item->source,
                                       .pattern = bytes,
                                       .size = item->size,
                                       .count = item->count};
  if (item->pattern) memcpy(bytes, item->pattern, item->size);
  node->blocks = cpu_transfer_blocks(node->kind, &node->transfer);
}

int cpu_list_new(void *handle, const mw_list_item *items, size_t count, void **out) {
  cpu_device *device = handle;
  cpu_list *list = mw_alloc(sizeof *list + count * sizeof *list->nodes);
  size_t bytes = ALIGN, at = 0;
  int code = MW_SUCCESS;
  list->device = device;
  list->count = count;
  list->stack = cpu_limit(device, MW_LIMIT_STACK);
  cpu_heap_range(device->heap, &list->heap_base, &list->heap_size);
  for (size_t i = 0; i < count; i++) bytes += size_of(&items[i]);
  list->bytes = aligned_alloc(ALIGN, bytes);
  if (!list->bytes) code = fail(MW_MEMORY_ALLOCATION, "no memory for the %zu bytes of a graph's arguments", bytes);
  for (size_t i = 0; i < count && code == MW_SUCCESS; at += size_of(&items[i++])) {
    if (items[i].launch)
      code = make_kernel(device, &list->nodes[i], items[i].launch, list->bytes + at);
    else
      make_transfer(&list->nodes[i], &items[i], list->bytes + at);
  }
  if (code == MW_SUCCESS)
    *out = list;
  else
    cpu_list_free(list);
  return code;
}

void cpu_list_free(void *handle) {
  cpu_list *list = handle;
  if (!list) return;
  free(list->bytes);
  free(list);
}

bool cpu_list_is_good(const void *handle) {
  const cpu_list *list = handle;
  uint64_t base, size;
  cpu_heap_range(list->device->heap, &base, &size);
  return base == list->heap_base && size == list->heap_size && cpu_limit(list->device, MW_LIMIT_STACK) == list->stack;
}

/* ---- running ---- */

bool cpu_list_load(cpu_command *command, size_t i) {
  const cpu_list *list = command->list;
  if (i >= list->count) return false;
  const list_node *node = &list->nodes[i];
  command->node = i;
  /* A transfer leaves command->kernel in place: a request to stop the kernel may arrive late, and its report names
     it. */
  if (node->kind == CPU_KERNEL)
    command->kernel = node->kernel;
  else
    command->transfer = node->transfer;
  atomic_store_explicit(&command->doing, node->kind, memory_order_relaxed);
  command->blocks = node->blocks;
  cpu_command_keep_order(command);
  return true;
}

bool cpu_list_has_more(const cpu_command *command) { return command->node + 1 < command->list->count; }

static bool is_short(const list_node *node) {
  if (node->blocks == 1) return true;
  return node->kind == CPU_KERNEL && node->blocks <= cpu_kernel_grain(node->kernel.kernel);
}

uint64_t cpu_list_go_on(cpu_command *command) {
  const cpu_list *list = command->list;
  size_t next = command->node + 1;
  if (next >= list->count || !is_short(&list->nodes[next])) return 0;
  cpu_list_load(command, next);
  /* All blocks are taken, so that no other thread gets any. */
  atomic_store_explicit(&command->taken, command->blocks, memory_order_relaxed);
  return command->blocks;
}
