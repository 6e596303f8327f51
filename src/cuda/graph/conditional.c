/* Conditional nodes on GPUs: a list (mw_driver.list_new) is a graph of CUDA's, whose nodes follow each other.
 *
 * The value that a conditional node tests is in memory, as on every device. Before such a node, and at the end of a loop's
 * body, a kernel of one thread hands it to CUDA (cudaGraphSetConditional), which needs CUDA's device runtime library: the
 * kernels of scripts need none. (CUDA Programming Guide, "Conditional Graph Nodes"; Driver API, "Graph Management") */
#include "cuda/compile/image.h"
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS_MOST = 1024, SMALL = 64 };

typedef struct cuda_commands {
  cuda_device *device;
  CUgraph graph;
  CUgraphExec exec;
  unsigned epoch;
  cuda_kernel *kernel; /* of one of its launches: of a unit that reports failures, if there is one; or NULL */
  char *site;          /* of that launch */
  uint64_t owner;
} cuda_commands;

/* ---- the kernel that sets a condition ---- */

typedef struct cuda_setter {
  CUmodule module;
  CUfunction function;
  unsigned epoch;
} cuda_setter;

static const char setter_text[] = ".version 8.0\n"
                                  ".target sm_70\n"
                                  ".address_size 64\n"
                                  ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
                                  ".visible .entry mw_set_condition (.param .u64 condition, .param .u64 word)\n"
                                  "{\n"
                                  "  .reg .b32 %v;\n"
                                  "  .reg .b64 %h, %w;\n"
                                  "  ld.param.u64 %h, [condition];\n"
                                  "  ld.param.u64 %w, [word];\n"
                                  "  cvta.to.global.u64 %w, %w;\n"
                                  "  ld.global.u32 %v, [%w];\n"
                                  "  {\n"
                                  "    .param .b64 a;\n"
                                  "    .param .b32 b;\n"
                                  "    st.param.b64 [a], %h;\n"
                                  "    st.param.b32 [b], %v;\n"
                                  "    call.uni cudaGraphSetConditional, (a, b);\n"
                                  "  }\n"
                                  "  ret;\n"
                                  "}\n";

static pthread_mutex_t setter_lock = PTHREAD_MUTEX_INITIALIZER;

static int make_setter(cuda_device *device, cuda_setter *setter) {
  cuda_image image = {0};
  image.parts[IMAGE_PTX] = (mw_text){.data = (char *)(uintptr_t)setter_text, .length = strlen(setter_text)};
  int code = cuda_load_linked(device, &image, "conditional nodes of graphs need", &setter->module);
  if (code != MW_SUCCESS) return code;
  setter->epoch = device->epoch;
  return cuda_outcome(device, cu.cuModuleGetFunction(&setter->function, setter->module, "mw_set_condition"),
                      "finding the kernel that sets conditions");
}

static int get_setter(cuda_device *device, CUfunction *out) {
  int code = MW_SUCCESS;
  pthread_mutex_lock(&setter_lock);
  if (!device->setter || device->setter->epoch != device->epoch) {
    cuda_setter made = {0};
    code = make_setter(device, &made);
    if (code == MW_SUCCESS) {
      if (!device->setter) device->setter = mw_alloc(sizeof made);
      *device->setter = made;
    }
  }
  if (code == MW_SUCCESS) *out = device->setter->function;
  pthread_mutex_unlock(&setter_lock);
  return code;
}

void cuda_setter_close(cuda_device *device) {
  bool loaded = device->setter && device->setter->epoch == device->epoch;
  if (loaded && device->context && cuda_enter_quietly(device)) cu.cuModuleUnload(device->setter->module);
  free(device->setter);
  device->setter = NULL;
}

/* ---- nodes ---- */

/* A graph under construction: the next node follows `last`. */
typedef struct builder {
  cuda_commands *commands;
  CUgraph graph;
  CUgraphNode last;
  const mw_list_item *item; /* the next one */
} builder;

static size_t after(const builder *b) { return b->last != NULL; }

static int node_made(builder *b, CUresult result, CUgraphNode node, const char *what) {
  int code = cuda_outcome(b->commands->device, result, what);
  if (code == MW_SUCCESS) b->last = node;
  return code;
}

static int add_kernel(builder *b, const CUDA_KERNEL_NODE_PARAMS *params) {
  CUgraphNode node = NULL;
  CUresult result = cu.cuGraphAddKernelNode(&node, b->graph, &b->last, after(b), params);
  return node_made(b, result, node, "adding a kernel to a graph");
}

static int add_setter(builder *b, uint64_t handle, uint64_t word) {
  CUfunction function;
  void *params[] = {&handle, &word};
  int code = get_setter(b->commands->device, &function);
  if (code != MW_SUCCESS) return code;
  const CUDA_KERNEL_NODE_PARAMS launch = {
      .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
  return add_kernel(b, &launch);
}

static int add_copy(builder *b, uint64_t target, uint64_t source, size_t bytes) {
  CUgraphNode node = NULL;
  const CUDA_MEMCPY3D copy = {.source_kind = CU_MEMORY_UNIFIED,
                              .source_device = source,
                              .source_pitch = bytes,
                              .source_height = 1,
                              .target_kind = CU_MEMORY_UNIFIED,
                              .target_device = target,
                              .target_pitch = bytes,
                              .target_height = 1,
                              .width = bytes,
                              .height = 1,
                              .depth = 1};
  CUresult result = cu.cuGraphAddMemcpyNode(&node, b->graph, &b->last, after(b), &copy, b->commands->device->context);
  return node_made(b, result, node, "adding a copy to a graph");
}

static int add_words(builder *b, const CUDA_MEMSET_NODE_PARAMS *params) {
  CUgraphNode node = NULL;
  CUresult result = cu.cuGraphAddMemsetNode(&node, b->graph, &b->last, after(b), params, b->commands->device->context);
  return node_made(b, result, node, "adding a fill to a graph");
}

/* Columns of one word each, 1, 2 or 4 bytes wide; or all at once if the pattern repeats that word. */
static int add_fill(builder *b, const mw_list_item *item) {
  const unsigned char *pattern = item->pattern;
  size_t size = item->size;
  unsigned width = size % 4 == 0 && item->target % 4 == 0 ? 4 : size % 2 == 0 && item->target % 2 == 0 ? 2 : 1;
  bool repeats = memcmp(pattern, pattern + width, size - width) == 0;
  int code = MW_SUCCESS;
  if (!repeats && size > SMALL)
    return fail(MW_NOT_SUPPORTED, "a fill in a conditional node has a pattern of %d bytes at most on a GPU, not %zu",
                SMALL, size);
  for (size_t at = 0; at < (repeats ? width : size) && code == MW_SUCCESS; at += width) {
    CUDA_MEMSET_NODE_PARAMS fill = {.target = item->target + at, .size = width, .width = 1, .height = item->count};
    memcpy(&fill.value, pattern + at, width);
    fill.pitch = size;
    if (repeats) fill.width = size / width * item->count, fill.height = 1;
    code = add_words(b, &fill);
  }
  return code;
}

/* The unit of a template instance has copies of the module's variables: see launch.c. */
static int add_sharing(builder *b, const cuda_unit *unit, bool back) {
  int code = MW_SUCCESS;
  for (size_t i = 0; unit->shares && i < unit->symbol_count && code == MW_SUCCESS; i++) {
    const mw_symbol_info *own = &unit->symbols[i].info;
    if (!unit->shared_with[i] || own->reference || (back && own->constant)) continue;
    const mw_symbol_info *shared = &unit->parent->symbols[unit->shared_with[i] - 1].info;
    code = add_copy(b, back ? shared->address : own->address, back ? own->address : shared->address, own->size);
  }
  return code;
}

static int add_launch(builder *b, const mw_launch_request *r) {
  cuda_kernel *kernel = r->kernel;
  cuda_commands *commands = b->commands;
  void *params[PARAMS_MOST];
  if (kernel->unit->epoch != commands->device->epoch)
    return fail(MW_INVALID_RESOURCE_HANDLE, "the module of %s was lost when the device was reset: compile it again",
                kernel->info.name);
  if (kernel->unit->numbered)
    return fail(MW_NOT_SUPPORTED, "%s is compiled with checks, and conditional nodes take no such kernels on a GPU",
                kernel->info.name);
  for (size_t i = 0; i < kernel->info.param_count && i < PARAMS_MOST; i++)
    params[i] = (char *)(uintptr_t)r->params + kernel->info.params[i].offset;
  if (!commands->kernel || (kernel->unit->guarded && !commands->kernel->unit->guarded)) {
    free(commands->site);
    commands->kernel = kernel;
    commands->site = mw_strdup(r->site ? r->site : "");
    commands->owner = r->owner;
  }
  const CUDA_KERNEL_NODE_PARAMS launch = {.function = kernel->function,
                                          .grid = {r->grid[0], r->grid[1], r->grid[2]},
                                          .block = {r->block[0], r->block[1], r->block[2]},
                                          .shared = (unsigned)r->dynamic_shared,
                                          .params = params};
  int code = cuda_launch_allow(kernel, r);
  if (code == MW_SUCCESS) code = add_sharing(b, kernel->unit, false);
  if (code == MW_SUCCESS) code = add_kernel(b, &launch);
  return code ? code : add_sharing(b, kernel->unit, true);
}

static int add_items(builder *b, const mw_list_item *end);

/* The number of bodies of the conditional node that begins at `item`, and its end. */
static unsigned count_bodies(const mw_list_item *item, const mw_list_item **end) {
  unsigned bodies = 0;
  for (int depth = 0;; item++) {
    bool begins = item->mark == MW_LIST_IF || item->mark == MW_LIST_WHILE || item->mark == MW_LIST_SWITCH;
    bodies += depth == 1 && item->mark == MW_LIST_BODY;
    depth += begins - (item->mark == MW_LIST_END);
    *end = item;
    if (depth == 0) return bodies;
  }
}

/* The next body's end: where another one begins, or where all end. */
static const mw_list_item *end_of_body(const mw_list_item *item) {
  for (;; item++) {
    if (item->mark == MW_LIST_BODY || item->mark == MW_LIST_END) return item;
    if (item->mark != MW_LIST_WORK) count_bodies(item, &item);
  }
}

static int add_conditional(builder *b) {
  static const int kinds[] = {[MW_LIST_IF] = CU_CONDITIONAL_IF,
                              [MW_LIST_WHILE] = CU_CONDITIONAL_WHILE,
                              [MW_LIST_SWITCH] = CU_CONDITIONAL_SWITCH};
  const mw_list_item *item = b->item, *end;
  cuda_device *device = b->commands->device;
  unsigned bodies = count_bodies(item, &end);
  uint64_t handle = 0;
  CUgraphNode node = NULL;
  int code = cuda_outcome(device, cu.cuGraphConditionalHandleCreate(&handle, b->graph, device->context, 0, 0),
                          "making a condition of a graph");
  if (code == MW_SUCCESS) code = add_setter(b, handle, item->target);
  if (code != MW_SUCCESS) return code;
  CUgraphNodeParams params = {.type = CU_GRAPH_CONDITIONAL};
  params.of.conditional.handle = handle;
  params.of.conditional.kind = kinds[item->mark];
  params.of.conditional.count = bodies;
  params.of.conditional.context = device->context;
  CUresult result = cu.cuGraphAddNode(&node, b->graph, &b->last, after(b), &params);
  code = node_made(b, result, node, "adding a conditional node (an if with two bodies and a switch want CUDA 12.8)");
  builder body = {.commands = b->commands, .item = item + 2};
  for (unsigned i = 0; i < bodies && code == MW_SUCCESS; i++) {
    body.graph = params.of.conditional.bodies[i];
    body.last = NULL;
    code = add_items(&body, end_of_body(body.item));
    if (code == MW_SUCCESS && item->mark == MW_LIST_WHILE) code = add_setter(&body, handle, item->target);
    body.item++;
  }
  b->item = end + 1;
  return code;
}

static int add_items(builder *b, const mw_list_item *end) {
  int code = MW_SUCCESS;
  while (b->item < end && code == MW_SUCCESS) {
    const mw_list_item *item = b->item;
    if (item->mark) {
      code = add_conditional(b);
      continue;
    }
    code = item->launch    ? add_launch(b, item->launch)
           : item->pattern ? add_fill(b, item)
                           : add_copy(b, item->target, item->source, item->size * item->count);
    b->item++;
  }
  return code;
}

/* ---- lists ---- */

static void end_graph(cuda_device *device, uint64_t handle) {
  if (cuda_enter_quietly(device)) cu.cuGraphDestroy((CUgraph)(uintptr_t)handle);
}

static void end_exec(cuda_device *device, uint64_t handle) {
  if (cuda_enter_quietly(device)) cu.cuGraphExecDestroy((CUgraphExec)(uintptr_t)handle);
}

static void end_later(cuda_commands *commands, cuda_ending *function, void *handle) {
  cuda_device *device = commands->device;
  if (handle && commands->epoch == device->epoch) cuda_end(device, function, (uint64_t)(uintptr_t)handle, false);
}

void cuda_list_end(void *list) {
  cuda_commands *commands = list;
  end_later(commands, end_exec, commands->exec);
  end_later(commands, end_graph, commands->graph);
  free(commands->site);
  free(commands);
}

int cuda_list_new(void *handle, const mw_list_item *items, size_t count, void **out) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  if (!cu.cuGraphAddNode)
    return fail(MW_NOT_SUPPORTED, "conditional nodes need a driver of CUDA 12.3 or newer, and this one is of %d.%d",
                cuda_driver_version() / 1000, cuda_driver_version() % 1000 / 10);
  cuda_commands *commands = mw_alloc(sizeof *commands);
  commands->device = device;
  commands->epoch = device->epoch;
  code = cuda_outcome(device, cu.cuGraphCreate(&commands->graph, 0), "making a graph");
  builder b = {.commands = commands, .graph = commands->graph, .item = items};
  if (code == MW_SUCCESS) code = add_items(&b, items + count);
  if (code == MW_SUCCESS)
    code = cuda_outcome(device, cu.cuGraphInstantiateWithFlags(&commands->exec, commands->graph, 0),
                        "instantiating a graph");
  if (code == MW_SUCCESS)
    *out = commands;
  else
    cuda_list_end(commands);
  return code;
}

bool cuda_list_is_good(const void *list) {
  const cuda_commands *commands = list;
  return commands->epoch == commands->device->epoch;
}

int cuda_list_run(void *handle, void *list, mw_completion completion) {
  cuda_stream *stream = handle;
  cuda_commands *commands = list;
  int code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  cuda_stream_inherit_holds(stream);
  code = cuda_outcome(commands->device, cu.cuGraphLaunch(commands->exec, stream->handle), "launching a graph");
  if (code != MW_SUCCESS) return code;
  if (!commands->kernel) {
    cuda_stream_queued(stream, &completion);
    return MW_SUCCESS;
  }
  const mw_launch_request launched = {
      .kernel = commands->kernel, .site = commands->site, .owner = commands->owner, .completion = completion};
  if (commands->kernel->unit->guarded) atomic_fetch_add(&commands->device->guarded, 1);
  cuda_stream_launched(stream, commands->kernel, &launched);
  return MW_SUCCESS;
}
