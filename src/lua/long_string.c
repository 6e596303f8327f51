/* Long strings, made in place. Lua's interface copies what becomes a string, and of a large one that costs more than all
 * the rest: twice the memory, each page of it touched for the first time, and a copy by one processor.
 *
 * Since 5.3 a long string is one piece of memory from Lua's allocator, with the bytes at a fixed place in it. So that
 * memory is taken from the same allocator beforehand and filled; then Lua is told to make a string of the bytes that
 * stand there, and gets this memory for it when it asks: it copies them onto themselves. A Lua that asked for something
 * else would get other memory and copy as ever. */
#include "binding.h"

#include <string.h>
#include <sys/mman.h>

/* From here on memory is asked for in large pages where the system has such: to touch so many small ones for the first
   time costs several times what copying to them does. */
#define LARGE ((size_t)8 << 20)

/* A string's making: what Lua's allocator is asked for meanwhile. */
typedef struct making {
  lua_Alloc allocate; /* Lua's own */
  void *context;
  const char *text;
  size_t bytes;
  void *memory; /* is handed to Lua when it asks for `size` bytes; NULL: nothing is */
  size_t size;
  void *first; /* memory for more than `bytes` that Lua got first, and how much */
  size_t first_size;
} making;

static void *in_large_pages(void *memory, size_t bytes) {
  const uintptr_t page = (uintptr_t)2 << 20, first = ((uintptr_t)memory + page - 1) & ~(page - 1),
                  end = ((uintptr_t)memory + bytes) & ~(page - 1);
  if (memory && end > first) madvise((void *)first, end - first, MADV_HUGEPAGE);
  return memory;
}

static void *allocate(void *context, void *memory, size_t old_bytes, size_t bytes) {
  making *m = context;
  if (memory || bytes == 0) return m->allocate(m->context, memory, old_bytes, bytes);
  void *made = m->memory;
  if (made && bytes == m->size) {
    m->memory = NULL;
  } else {
    made = m->allocate(m->context, NULL, old_bytes, bytes);
    if (bytes >= LARGE) in_large_pages(made, bytes);
  }
  if (!m->first && bytes > m->bytes) m->first = made, m->first_size = bytes;
  return made;
}

static int push_text(lua_State *L) {
  const making *m = lua_touserdata(L, 1);
  lua_pushlstring(L, m->text, m->bytes);
  return 1;
}

/* In protected mode: whatever happens, Lua gets its own allocator back. The result, or the error, is on the stack. */
static int push(lua_State *L, making *m) {
  lua_pushcfunction(L, push_text);
  lua_pushlightuserdata(L, m);
  lua_setallocf(L, allocate, m);
  int code = lua_pcall(L, 1, 1, 0);
  lua_setallocf(L, m->allocate, m->context);
  return code;
}

/* Where the bytes stand in the memory of a string, and how much larger it is than they. False where that cannot be told. */
static bool measure(lua_State *L, making *m, size_t *before, size_t *more) {
  char sample[512];
  memset(sample, ' ', sizeof sample);
  m->text = sample;
  m->bytes = sizeof sample;
  if (push(L, m) != 0) return lua_pop(L, 1), false;
  const char *text = lua_tostring(L, -1);
  uintptr_t at = (uintptr_t)text - (uintptr_t)m->first;
  bool inside = m->first && (uintptr_t)text > (uintptr_t)m->first && at + sizeof sample < m->first_size;
  *before = at;
  *more = m->first_size - sizeof sample;
  lua_pop(L, 1);
  return inside;
}

static void *take(lua_State *L, const making *m, size_t size) {
  void *memory = m->allocate(m->context, NULL, LUA_TSTRING, size);
  if (memory) return memory;
  lua_gc(L, LUA_GCCOLLECT, 0);
  return m->allocate(m->context, NULL, LUA_TSTRING, size);
}

/* Since a string is interned there, its bytes are read before there is memory for it. */
#if MWL_HAS_INTEGERS
enum { IN_PLACE = 1 };
#else
enum { IN_PLACE = 0 };
#endif

int mwl_push_filled(lua_State *L, size_t bytes, mwl_fill *fill, void *context) {
  making m = {0};
  size_t before = 0, more = 0;
  m.allocate = lua_getallocf(L, &m.context);
  luaL_checkstack(L, 3, "a string");
  bool in_place = IN_PLACE && bytes >= LARGE && measure(L, &m, &before, &more);
  void *memory = in_place ? take(L, &m, bytes + more) : mwl_plain(L, bytes ? bytes : 1);
  if (!memory) return luaL_error(L, "not enough memory");
  if (bytes >= LARGE) in_large_pages(memory, bytes);
  m.text = (char *)memory + before;
  int code = fill(context, (char *)memory + before);
  int failed = 0;
  if (code == MW_SUCCESS && bytes >= LARGE) {
    m.bytes = bytes;
    m.memory = in_place ? memory : NULL;
    m.size = bytes + more;
    failed = push(L, &m);
  } else if (code == MW_SUCCESS) {
    lua_pushlstring(L, m.text, bytes);
  } else if (in_place) {
    m.memory = memory;
  }
  if (m.memory) m.allocate(m.context, m.memory, bytes + more, 0);
  return failed ? lua_error(L) : code;
}
