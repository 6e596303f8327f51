/* OpenGL's current context: which library made it, its functions, and its buffers. */
#include "gl.h"
#include "base/lock.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- finding the current context ---- */

/* The libraries that make contexts; each is queried only if the process has loaded it or is linked with it. */
typedef struct maker {
  const char *files[3], *current, *lookup;
  void *(*get_current)(void);
  void *(*get_function)(const char *name);
  pthread_mutex_t lock;
  bool ready;
  mw_gl gl;
} maker;

static maker makers[] = {
    {.files = {"libEGL.so.1", "libEGL.so"},
     .current = "eglGetCurrentContext",
     .lookup = "eglGetProcAddress",
     .lock = MW_LOCK_INITIALIZER},
    {.files = {"libGLX.so.0", "libGL.so.1", "libGL.so"},
     .current = "glXGetCurrentContext",
     .lookup = "glXGetProcAddressARB",
     .lock = MW_LOCK_INITIALIZER},
    {.files = {"libOSMesa.so.8", "libOSMesa.so.6"},
     .current = "OSMesaGetCurrentContext",
     .lookup = "OSMesaGetProcAddress",
     .lock = MW_LOCK_INITIALIZER},
};

static bool find_in(maker *m, void *library) {
  void *current = dlsym(library, m->current), *lookup = dlsym(library, m->lookup);
  if (!current || !lookup) return false;
  memcpy(&m->get_current, &current, sizeof current);
  memcpy(&m->get_function, &lookup, sizeof lookup);
  return true;
}

/* Under the lock. A library that is found stays loaded, since its handle is kept. */
static bool find_maker(maker *m) {
  if (m->get_current || find_in(m, RTLD_DEFAULT)) return true;
  for (size_t i = 0; i < MW_COUNT(m->files) && m->files[i]; i++) {
    void *library = dlopen(m->files[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (library && find_in(m, library)) return true;
    if (library) dlclose(library);
  }
  return false;
}

/* Functions that the context lacks may be NULL or do nothing: callers check the version first. */
static void find_functions(maker *m) {
  void *address;
#define FIND(result, name, params)                                                                                     \
  address = m->get_function("gl" #name);                                                                               \
  memcpy(&m->gl.name, &address, sizeof address);
  MW_GL_FUNCTIONS(FIND)
#undef FIND
}

static const mw_gl *current_of(maker *m) {
  mw_lock(&m->lock);
  bool is_current = find_maker(m) && m->get_current();
  if (is_current && !m->ready) {
    find_functions(m);
    m->ready = true;
  }
  mw_unlock(&m->lock);
  return is_current ? &m->gl : NULL;
}

unsigned mw_gl_error(const mw_gl *gl) {
  unsigned first = gl->GetError();
  /* A lost context returns errors endlessly. */
  for (int i = 0; first && i < 16 && gl->GetError(); i++) {}
  return first;
}

int mw_gl_integer(const mw_gl *gl, unsigned name) {
  int value = 0;
  gl->GetIntegerv(name, &value);
  return value;
}

enum { VERSION = 0x1f02 };

int mw_gl_current(mw_gl_context *out) {
  const mw_gl *gl = NULL;
  for (size_t i = 0; i < MW_COUNT(makers) && !gl; i++) gl = current_of(&makers[i]);
  const char *version = gl && gl->GetString ? (const char *)gl->GetString(VERSION) : NULL;
  if (!version)
    return fail(
        MW_INVALID_GRAPHICS_CONTEXT,
        "this thread has no current OpenGL context: make one, and make it current in the thread that shares its "
        "buffers and images");
  int major = 0, minor = 0;
  bool embedded = strncmp(version, "OpenGL ES", 9) == 0;
  sscanf(version + strcspn(version, "0123456789"), "%d.%d", &major, &minor);
  *out = (mw_gl_context){gl, embedded, 10 * major + minor};
  (void)mw_gl_error(gl);
  return MW_SUCCESS;
}

/* ---- buffers ---- */

enum {
  ARRAY_BUFFER_BINDING = 0x8894,
  BUFFER_SIZE = 0x8764,
  MAP_READ = 1,
  COPY_READ_BUFFER = 0x8f36,
  COPY_WRITE_BUFFER = 0x8f37,
  STREAM_DRAW = 0x88e0,
};

/* Bind the buffer; *before is the previous binding. */
static int bind(const mw_gl *gl, unsigned name, unsigned *before) {
  if (!gl->IsBuffer(name)) return fail(MW_INVALID_RESOURCE_HANDLE, "the current OpenGL context has no buffer %u", name);
  *before = (unsigned)mw_gl_integer(gl, ARRAY_BUFFER_BINDING);
  gl->BindBuffer(GL_BUFFER_OF_ARRAYS, name);
  return MW_SUCCESS;
}

int mw_gl_buffer_size(const mw_gl_context *context, unsigned name, size_t *bytes) {
  const mw_gl *gl = context->gl;
  unsigned before;
  int code = bind(gl, name, &before);
  if (code != MW_SUCCESS) return code;
  int64_t size = 0;
  int small = 0;
  if (context->version >= (context->embedded ? 30 : 32)) {
    gl->GetBufferParameteri64v(GL_BUFFER_OF_ARRAYS, BUFFER_SIZE, &size);
  } else {
    gl->GetBufferParameteriv(GL_BUFFER_OF_ARRAYS, BUFFER_SIZE, &small);
    size = small;
  }
  gl->BindBuffer(GL_BUFFER_OF_ARRAYS, before);
  *bytes = (size_t)size;
  return MW_SUCCESS;
}

static int outcome(const mw_gl *gl, unsigned name, const char *what) {
  unsigned error = mw_gl_error(gl);
  if (error == 0) return MW_SUCCESS;
  return fail(MW_UNKNOWN, "OpenGL refuses %s buffer %u with error 0x%04x%s", what, name, error,
              error == 0x0502 ? ": is it mapped by glMapBuffer?" : "");
}

int mw_gl_buffer_read(const mw_gl_context *context, unsigned name, void *target, size_t bytes) {
  const mw_gl *gl = context->gl;
  unsigned before;
  int code = bind(gl, name, &before);
  if (code != MW_SUCCESS) return code;
  if (!context->embedded) {
    gl->GetBufferSubData(GL_BUFFER_OF_ARRAYS, 0, (intptr_t)bytes, target);
  } else if (context->version >= 30) { /* OpenGL ES has no GetBufferSubData */
    const void *mapped = gl->MapBufferRange(GL_BUFFER_OF_ARRAYS, 0, (intptr_t)bytes, MAP_READ);
    if (mapped) {
      memcpy(target, mapped, bytes);
      gl->UnmapBuffer(GL_BUFFER_OF_ARRAYS);
    }
  } else {
    code = fail(MW_NOT_SUPPORTED, "OpenGL ES before 3.0 cannot read buffers back: register the buffer with "
                                  "cudaGraphicsRegisterFlagsWriteDiscard");
  }
  gl->BindBuffer(GL_BUFFER_OF_ARRAYS, before);
  return code ? code : outcome(gl, name, "to read");
}

/* Immutable storage accepts no data from the host, but data from another buffer. */
static void write_through(const mw_gl *gl, unsigned name, const void *source, size_t bytes) {
  unsigned between;
  int read = mw_gl_integer(gl, COPY_READ_BUFFER), write = mw_gl_integer(gl, COPY_WRITE_BUFFER);
  gl->GenBuffers(1, &between);
  gl->BindBuffer(COPY_READ_BUFFER, between);
  gl->BufferData(COPY_READ_BUFFER, (intptr_t)bytes, source, STREAM_DRAW);
  gl->BindBuffer(COPY_WRITE_BUFFER, name);
  gl->CopyBufferSubData(COPY_READ_BUFFER, COPY_WRITE_BUFFER, 0, 0, (intptr_t)bytes);
  gl->BindBuffer(COPY_READ_BUFFER, (unsigned)read);
  gl->BindBuffer(COPY_WRITE_BUFFER, (unsigned)write);
  gl->DeleteBuffers(1, &between);
}

int mw_gl_buffer_write(const mw_gl_context *context, unsigned name, const void *source, size_t bytes) {
  const mw_gl *gl = context->gl;
  unsigned before;
  int code = bind(gl, name, &before);
  if (code != MW_SUCCESS) return code;
  gl->BufferSubData(GL_BUFFER_OF_ARRAYS, 0, (intptr_t)bytes, source);
  gl->BindBuffer(GL_BUFFER_OF_ARRAYS, before);
  bool copies = context->version >= (context->embedded ? 30 : 31);
  if (copies && mw_gl_error(gl) != 0) write_through(gl, name, source, bytes);
  return outcome(gl, name, "to write");
}
