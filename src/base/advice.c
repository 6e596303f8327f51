/* Advice: see advice.h. One table contains the advice; the rest finds the row that applies to an error, by the name in
 * the code at the caret, or by a name that the message quotes. */
#include "advice.h"

#include <ctype.h>
#include <string.h>
#include <stdlib.h>

/* ---- the table ---- */

typedef enum row_kind {
  HOST,    /* of CUDA's host interface */
  LIBRARY, /* of C++'s library */
} row_kind;

typedef struct row {
  row_kind kind;
  const char *names; /* separated by spaces; a trailing '*' matches all names with that prefix */
  const char *text;  /* '@' is the name as written; for the host interface, the part after MW_HOST_CODE */
} row;

/* The first match applies. */
static const row rows[] = {
    {HOST, "main", "leave it out, the text holds kernels alone"},
    {HOST, "cudaMalloc cudaMallocManaged cudaMallocHost cudaMallocPitch cudaHostAlloc cudaMallocAsync",
     "x = mw.zeros(n), mw.empty(n) or mw.array(table) makes an array"},
    {HOST, "cudaMallocArray cudaMalloc3DArray", "mw.cuda_array makes a CUDA array"},
    {HOST, "cudaFree*", "arrays go with Lua's collector, or by x:free()"},
    {HOST, "cudaMemcpyToSymbol* cudaMemcpyFromSymbol* cudaGetSymbol*",
     "m.name = value writes a __device__ or __constant__ variable, and "
     "m.name reads it"},
    {HOST, "cudaMemcpy*",
     "mw.array(table) and x:copy_from(table) copy in, x:totable() and "
     "x[i] copy out, and wait for the kernels before"},
    {HOST, "cudaMemset*", "x:fill(value)"},
    {HOST, "cudaDeviceSynchronize cudaThreadSynchronize",
     "mw.synchronize() waits, and so does whatever reads a result"},
    {HOST, "cudaGetLastError cudaPeekAtLastError cudaGetErrorString cudaGetErrorName cudaError_t cudaSuccess",
     "what fails raises an error there, nothing is to be asked for"},
    {HOST, "cudaEvent* cudaEvent_t", "mw.event() makes an event"},
    {HOST, "cudaStream* cudaStream_t", "mw.stream() makes a stream"},
    {HOST, "cudaBindTexture* cudaUnbindTexture* cudaCreateTextureObject",
     "m.name = mw.texture(x) binds a texture reference, and "
     "mw.texture(x) is a texture object"},
    {HOST, "cudaSetDevice cudaGetDevice cudaGetDeviceCount cudaGetDeviceProperties cudaDeviceProp",
     "mw.use(name) takes a device, mw.properties() tells of it"},
    {LIBRARY, "vector array deque list map set unordered_map unordered_set",
     "@ is a container of the host's: a kernel takes a pointer (float *x) to an array that the script makes, or has an "
     "array of its own (float x[16])"},
    {LIBRARY, "cout cerr clog endl ostream stringstream ofstream cin ifstream iostream fstream sstream",
     "@ is a stream of the host's: a kernel prints with printf(\"%f\\n\", x), the script with print(x)"},
    {LIBRARY, "string string_view", "@ is a type of the host's: kernels have const char * for text, to print it"},
    {LIBRARY, "thread mutex future async",
     "@ is of the host's: a kernel's threads are those that it is launched with, and __syncthreads and atomics order "
     "them"},
    {LIBRARY, "function shared_ptr unique_ptr",
     "@ is a type of the host's: kernels have templates and plain pointers for that"},
};

/* The rest of the interface: cudaFuncSetCacheConfig, cuMemAlloc. */
static const row runtime_row = {HOST, "", "require \"moonwarp.runtime\" has CUDA's functions by name"};
static const row driver_row = {HOST, "", "require \"moonwarp.driver\" has CUDA's functions by name"};

static bool fits(const char *names, const char *name) {
  for (size_t length; *names; names += length + (names[length] == ' ')) {
    length = strcspn(names, " ");
    bool starts = names[length - 1] == '*';
    size_t same = length - starts;
    if (strncmp(names, name, same) == 0 && (!name[same] || (starts && isupper((unsigned char)name[same])))) return true;
  }
  return false;
}

static const row *find_row(const char *name, row_kind kind) {
  for (size_t i = 0; i < MW_COUNT(rows); i++)
    if (rows[i].kind == kind && fits(rows[i].names, name)) return &rows[i];
  if (kind == HOST && strncmp(name, "cuda", 4) == 0 && isupper((unsigned char)name[4])) return &runtime_row;
  if (kind == HOST && strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2])) return &driver_row;
  return NULL;
}

/* ---- names in code and messages ---- */

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == ':'; }

/* The name at the column, with its namespaces. */
static char *name_at(const char *code, size_t column) {
  size_t length = strlen(code);
  if (column >= length || !is_name(code[column])) return mw_strdup("");
  size_t start = column, end = column;
  while (start > 0 && is_name(code[start - 1])) start--;
  while (end < length && is_name(code[end])) end++;
  return mw_format("%.*s", (int)(end - start), code + start);
}

/* The next quoted name of the message, in 'single' (clang) or "double" (NVRTC) quotes or as <file>; without template
   arguments. */
static char *next_quoted(const char **at) {
  const char *open = strpbrk(*at, "'\"");
  const char *close = open ? strchr(open + 1, *open) : NULL;
  if (!close) return NULL;
  *at = close + 1;
  return mw_format("%.*s", (int)(strcspn(open + 1, "<'\"")), open + 1);
}

/* "vector" of "std::vector" and "std::__cxx11::vector", else NULL. */
static const char *of_library(const char *name) {
  if (strncmp(name, "::", 2) == 0) name += 2;
  if (strncmp(name, "std::", 5) != 0) return NULL;
  const char *last = strrchr(name, ':') + 1;
  return *last ? last : NULL;
}

/* ---- classifying the message ---- */

static bool says(const char *text, const char *const *words) {
  for (; *words; words++)
    if (strstr(text, *words)) return true;
  return false;
}

/* Whether the message, by clang or NVRTC, is about an unknown name. */
static bool is_unknown(const mw_complaint *c) {
  static const char *const words[] = {"undeclared identifier",
                                      "unknown type name",
                                      "no template named",
                                      "is undefined",
                                      "file not found",
                                      "open source file",
                                      NULL};
  return says(c->message, words);
}

/* Whether the message is about a kernel that calls a host function. */
static bool calls_host(const mw_complaint *c) {
  static const char *const words[] = {"reference to __host__ function", "call to __host__ function from", NULL};
  return says(c->message, words) || says(c->notes, words);
}

/* Whether the message is about a host function that calls one of the device's. */
static bool is_from_host(const mw_complaint *c) {
  static const char *const words[] = {"in __host__ function", "from __host__ function", NULL};
  return says(c->message, words) || says(c->notes, words);
}

/* Whether "vector" without a namespace means the library's, and not a missing variable. */
static bool looks_like_library(const mw_complaint *c, const char *name) {
  static const char *const words[] = {"unknown type name", "no template named", "file not found", "open source file",
                                      NULL};
  const char *used = strstr(c->code, name), *after = used ? used + strlen(name) : "";
  return says(c->message, words) || *after == '<' || strncmp(after + strspn(after, " "), "<<", 2) == 0;
}

static char *about_name(const mw_complaint *c, const char *name, bool *host) {
  const char *member = of_library(name);
  const row *found = member ? find_row(member, LIBRARY) : NULL;
  if (!found && strcmp(name, "main") == 0) found = &rows[0];
  if (!found && (is_unknown(c) || is_from_host(c))) found = find_row(name, HOST);
  if (!found && (is_unknown(c) || calls_host(c)) && looks_like_library(c, name)) found = find_row(name, LIBRARY);
  if (!found) return NULL;
  *host = found->kind == HOST;
  if (*host) return mw_format("%s" MW_HOST_CODE "%s", name, found->text);
  size_t before = strcspn(found->text, "@");
  return mw_format("%.*s%s%s", (int)before, found->text, name, found->text + before + 1);
}

/* The bracket on this line that matches the one at `open`, or NULL. */
static const char *closing(const char *open) {
  int depth = 0;
  for (const char *at = open; *at; at++) {
    if (strchr("([{", *at)) depth++;
    if (strchr(")]}", *at) && --depth == 0) return at;
  }
  return NULL;
}

/* The start of the kernel's name, including template arguments, that ends before `end`. */
static const char *start_of_kernel(const char *code, const char *end) {
  int depth = 0;
  const char *at = end;
  while (at > code && (is_name(at[-1]) || depth > 0 || at[-1] == '>')) {
    at--;
    depth += (*at == '>') - (*at == '<');
    if (*at == '<' && depth < 0) return end;
  }
  return at;
}

/* text[0..length) if it is valid Lua as well, else `otherwise`. */
static char *argument_text(const char *text, size_t length, const char *otherwise) {
  char *copy = mw_format("%.*s", (int)length, text);
  if (!strpbrk(copy, "(&*<>{\"'?!") && !strstr(copy, "dim3")) return copy;
  free(copy);
  return mw_strdup(otherwise);
}

/* k<<<1, 32>>>(x) as a Lua script writes it, if it is on one line; else NULL. */
static char *rewrite_launch(const char *code) {
  const char *open = strstr(code, "<<<"), *close = open ? strstr(open, ">>>") : NULL;
  const char *call = close ? close + 3 + strspn(close + 3, " ") : NULL;
  const char *end = call && *call == '(' ? closing(call) : NULL;
  const char *name = end ? start_of_kernel(code, open) : NULL;
  if (!name || name == open) return NULL;
  bool template = open[-1] == '>';
  char *shape = argument_text(open + 3, (size_t)(close - open - 3), "grid, block");
  char *arguments = argument_text(call + 1, (size_t)(end - call - 1), "arguments");
  char *text = mw_format("m%s%.*s%s(%s)(%s)", template ? "[\"" : ".", (int)(open - name), name, template ? "\"]" : "",
                         shape, arguments);
  free(shape);
  free(arguments);
  return text;
}

static char *about_launch(const mw_complaint *c, bool *host) {
  static const char *const words[] = {"cudaConfigureCall", "cudaPushCallConfiguration", "kernel launch from", NULL};
  static const char *const inside[] = {"reference to __global__ function", NULL};
  bool in_kernel = says(c->message, inside) && strstr(c->code, "<<<");
  if (!says(c->message, words) && !in_kernel) return NULL;
  *host = !in_kernel;
  char *call = rewrite_launch(c->code);
  char *text = mw_format(
      "%s%s",
      in_kernel ? "launches from kernels need __global__ or __device__ before the function, and the CPU device; a "
                  "script launches by "
                : "a launch" MW_HOST_CODE,
      call ? call : "m.kernel(grid, block)(arguments), or m[\"kernel<float>\"] for a template's");
  free(call);
  return text;
}

/* The host's own functions and variables in kernels, and the device's in host code. */
static char *about_sides(const mw_complaint *c, const char *name, bool *host) {
  static const char *const variable[] = {"reference to __host__ variable", "undefined in device code", NULL};
  if (is_from_host(c)) {
    *host = true;
    return mw_format("%s" MW_HOST_CODE "leave the function that uses it out, or declare that __global__ or __device__",
                     name);
  }
  if (says(c->message, variable))
    return mw_format("%s is a variable of the host's: kernels see it where it is declared __device__, or __constant__ "
                     "if they only read it; the script then has it as m.%s",
                     name, name);
  if (!calls_host(c)) return NULL;
  if (of_library(name)) return mw_format("%s is a function of the host's C++ library, which kernels cannot call", name);
  return mw_format("%s is a function of the host's: kernels can call it where it is declared __device__", name);
}

static char *about_file(const mw_complaint *c, const char *name) {
  static const char *const words[] = {"file not found", "open source file", NULL};
  if (!says(c->message, words)) return NULL;
  if (strncmp(name, "thrust/", 7) == 0 || strncmp(name, "cub/", 4) == 0)
    return mw_format("<%s> is not here: arrays have sum, min and max of their own, the rest is kernels", name);
  return mw_format("there is no file '%s': give its text as headers = {[\"%s\"] = text}, or its folder as options = "
                   "{\"-Ifolder\"}",
                   name, name);
}

/* Choose the name that the error is about: the one that the message quotes, with its namespaces from the code. */
static char *choose(const char *in_code, const char *quoted) {
  const char *colon = strrchr(in_code, ':');
  bool same = strcmp(colon ? colon + 1 : in_code, quoted) == 0;
  return mw_strdup(same || !*quoted ? in_code : quoted);
}

char *mw_advice_find(const mw_complaint *complaint, bool *host) {
  *host = false;
  char *advice = about_launch(complaint, host);
  if (advice) return advice;
  char *in_code = name_at(complaint->code, complaint->column), *first = NULL, *name;
  if (*in_code) advice = about_name(complaint, in_code, host);
  for (const char *at = complaint->message; !advice && (name = next_quoted(&at)); free(name)) {
    advice = about_name(complaint, name, host);
    if (!advice) advice = about_file(complaint, name);
    if (!first) first = choose(in_code, name);
  }
  const char *about = first ? first : in_code;
  if (!advice && *about) advice = about_sides(complaint, about, host);
  free(in_code);
  free(first);
  return advice;
}
