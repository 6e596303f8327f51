/* Command lists: see command_list.h. */
#include "command_list.h"
#include "cpu/memory/heap.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* Conditional nodes are marks among the nodes and have no blocks. A run steps over them: see settle. */
typedef struct list_node {
  mw_list_mark mark;
  /* The node that follows. For the beginning of a conditional node, that after its end; for that of a body, the next
     mark of such; for the end of a while node, its beginning. */
  size_t next;
  const volatile uint32_t *word; /* that a conditional node tests */
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
  bool branches;
  list_node nodes[];
};

/* ---- making ---- */

static size_t round_up(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* The bytes that the list stores for an item. */
static size_t size_of(const mw_list_item *item) {
  if (item->mark) return 0;
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

static void idle(void *context, uint64_t first, uint64_t last) { (void)context, (void)first, (void)last; }

/* A node of one block that does nothing. */
static void make_idle(list_node *node) {
  node->mark = MW_LIST_WORK;
  node->kind = CPU_FUNCTION;
  node->blocks = 1;
  node->transfer = (cpu_transfer_work){.function = idle, .piece = 1};
}

/* Connect the marks of the conditional node at `begin`; returns the number of the node after it. */
static size_t connect(list_node *nodes, size_t begin) {
  size_t i = begin + 1, body = begin, works = 0;
  while (nodes[i].mark != MW_LIST_END) {
    if (nodes[i].mark == MW_LIST_BODY) {
      nodes[body].next = i;
      body = i;
    }
    works += nodes[i].mark == MW_LIST_WORK;
    i = nodes[i].mark == MW_LIST_WORK || nodes[i].mark == MW_LIST_BODY ? i + 1 : connect(nodes, i);
  }
  nodes[body].next = i;
  nodes[begin].next = i + 1;
  if (nodes[begin].mark != MW_LIST_WHILE) return i + 1;
  nodes[i].next = begin;
  /* A loop without work that runs each time passes the scheduler, so that it can be stopped. */
  if (works == 0) make_idle(&nodes[i]);
  return i + 1;
}

static int make_node(cpu_device *device, list_node *node, const mw_list_item *item, unsigned char *bytes) {
  if (item->launch) return make_kernel(device, node, item->launch, bytes);
  node->mark = item->mark;
  node->word = (const volatile uint32_t *)(uintptr_t)item->target;
  if (!item->mark) make_transfer(node, item, bytes);
  return MW_SUCCESS;
}

int cpu_list_new(void *handle, const mw_list_item *items, size_t count, void **out) {
  cpu_device *device = handle;
  /* The first node is prepared when a run is queued: a value is not tested then, but when the run begins. */
  size_t first = count > 0 && items[0].mark ? 1 : 0, bytes = ALIGN, at = 0;
  cpu_list *list = mw_alloc(sizeof *list + (count + first) * sizeof *list->nodes);
  int code = MW_SUCCESS;
  list->device = device;
  list->count = count + first;
  list->stack = cpu_limit(device, MW_LIMIT_STACK);
  cpu_heap_range(device->heap, &list->heap_base, &list->heap_size);
  for (size_t i = 0; i < count; i++) bytes += size_of(&items[i]);
  list->bytes = aligned_alloc(ALIGN, bytes);
  if (!list->bytes) code = fail(MW_MEMORY_ALLOCATION, "no memory for the %zu bytes of a graph's arguments", bytes);
  if (first) make_idle(&list->nodes[0]);
  for (size_t i = 0; i < list->count; i++) list->nodes[i].next = i + 1;
  for (size_t i = 0; i < count && code == MW_SUCCESS; at += size_of(&items[i++]))
    code = make_node(device, &list->nodes[first + i], &items[i], list->bytes + at);
  for (size_t i = first; i < list->count && code == MW_SUCCESS;) {
    list->branches |= list->nodes[i].mark != MW_LIST_WORK;
    i = list->nodes[i].mark ? connect(list->nodes, i) : i + 1;
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

/* The node after the mark of the conditional node's body, counted from 0; or what follows the conditional node. */
static size_t body_of(const list_node *nodes, size_t begin, uint32_t number) {
  size_t i = begin + 1;
  for (; number > 0 && nodes[i].mark == MW_LIST_BODY; number--) i = nodes[i].next;
  return nodes[i].mark == MW_LIST_BODY ? i + 1 : nodes[begin].next;
}

/* From a node on, the first that has work; list->count: none is left. */
static size_t settle(const cpu_list *list, size_t i) {
  while (i < list->count && list->nodes[i].mark != MW_LIST_WORK) {
    const list_node *node = &list->nodes[i];
    switch (node->mark) {
    case MW_LIST_IF: i = body_of(list->nodes, i, *node->word == 0); break;
    case MW_LIST_WHILE: i = *node->word ? i + 2 : node->next; break;
    case MW_LIST_SWITCH: i = body_of(list->nodes, i, *node->word); break;
    default: i = node->next; /* a body has ended */
    }
  }
  return i;
}

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

size_t cpu_list_count(const cpu_command *command) { return command->list->count; }

bool cpu_list_branches(const cpu_command *command) { return command->list->branches; }

size_t cpu_list_next(const cpu_command *command) {
  return settle(command->list, command->list->nodes[command->node].next);
}

static bool is_short(const list_node *node) {
  if (node->blocks == 1) return true;
  return node->kind == CPU_KERNEL && node->blocks <= cpu_kernel_grain(node->kernel.kernel);
}

uint64_t cpu_list_go_on(cpu_command *command) {
  const cpu_list *list = command->list;
  size_t next = cpu_list_next(command);
  if (next >= list->count || !is_short(&list->nodes[next])) return 0;
  cpu_list_load(command, next);
  /* All blocks are taken, so that no other thread gets any. */
  atomic_store_explicit(&command->taken, command->blocks, memory_order_relaxed);
  return command->blocks;
}
