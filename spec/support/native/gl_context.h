/* An OpenGL context without a window, for tests: Mesa's software renderer through EGL, loaded at run time.
 *
 *   const char *why = gl_context_open("gl");   "gl", "es": NULL, or why there is none
 *   void *f = gl_context_function("glGenBuffers");
 *   gl_context_current(0); gl_context_current(1);   not current any more, and again */
#ifndef GL_CONTEXT_H
#define GL_CONTEXT_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *gl_context_egl, *gl_context_display, *gl_context_context;

static void *gl_context_symbol(const char *name) { return gl_context_egl ? dlsym(gl_context_egl, name) : NULL; }

#define GL_CONTEXT_EGL(result, name, params)                                                                           \
  result(*name) params;                                                                                                \
  {                                                                                                                    \
    void *address = gl_context_symbol(#name);                                                                          \
    if (!address) return "libEGL.so.1 has no function " #name;                                                         \
    memcpy(&name, &address, sizeof address);                                                                           \
  }

static const char *gl_context_open(const char *kind) {
  int embedded = strcmp(kind, "es") == 0;
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 0);
  setenv("GALLIUM_DRIVER", "softpipe", 0); /* which needs no code generator */
  gl_context_egl = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!gl_context_egl) return "libEGL.so.1 is not there (Debian: libegl1, libgl1-mesa-dri)";
  GL_CONTEXT_EGL(void *, eglGetProcAddress, (const char *name))
  GL_CONTEXT_EGL(unsigned, eglInitialize, (void *display, int *major, int *minor))
  GL_CONTEXT_EGL(unsigned, eglBindAPI, (unsigned api))
  GL_CONTEXT_EGL(unsigned, eglChooseConfig, (void *display, const int *wanted, void **found, int size, int *count))
  GL_CONTEXT_EGL(void *, eglCreateContext, (void *display, void *config, void *shared, const int *wanted))
  GL_CONTEXT_EGL(unsigned, eglMakeCurrent, (void *display, void *draw, void *read, void *context))
  void *(*get_display)(unsigned platform, void *native, const int *wanted);
  void *address = eglGetProcAddress("eglGetPlatformDisplayEXT");
  memcpy(&get_display, &address, sizeof address);
  if (!get_display) return "libEGL.so.1 has no platforms";
  gl_context_display = get_display(0x31dd /* EGL_PLATFORM_SURFACELESS_MESA */, NULL, NULL);
  if (!gl_context_display || !eglInitialize(gl_context_display, NULL, NULL))
    return "EGL has no display without a window (Debian: libgl1-mesa-dri)";
  void *config = NULL;
  int count = 0;
  /* EGL_SURFACE_TYPE: none; EGL_RENDERABLE_TYPE: EGL_OPENGL_BIT or EGL_OPENGL_ES3_BIT */
  const int wanted[] = {0x3033, 0, 0x3040, embedded ? 0x40 : 0x8, 0x3038};
  if (!eglBindAPI(embedded ? 0x30a0 : 0x30a2) || !eglChooseConfig(gl_context_display, wanted, &config, 1, &count) ||
      count == 0)
    return "EGL has no such configuration";
  const int version[] = {0x3098 /* EGL_CONTEXT_MAJOR_VERSION */, 3, 0x3038};
  gl_context_context = eglCreateContext(gl_context_display, config, NULL, embedded ? version : NULL);
  if (!gl_context_context) return "EGL makes no context";
  return eglMakeCurrent(gl_context_display, NULL, NULL, gl_context_context) ? NULL : "EGL makes no context current";
}

static const char *gl_context_current(int on) {
  GL_CONTEXT_EGL(unsigned, eglMakeCurrent, (void *display, void *draw, void *read, void *context))
  return eglMakeCurrent(gl_context_display, NULL, NULL, on ? gl_context_context : NULL) ? NULL : "no context";
}

static void *gl_context_function(const char *name) {
  void *(*lookup)(const char *name);
  void *address = gl_context_symbol("eglGetProcAddress");
  memcpy(&lookup, &address, sizeof address);
  return lookup ? lookup(name) : NULL;
}

#endif
