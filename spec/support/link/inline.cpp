// Linked twice, with WHICH 1 and 2: an inline function and a template's instance that both objects have, with its static
// variable.
template <typename T> __attribute__((noinline)) T next(T step) {
  static T state = 40;
  return state += step;
}
__attribute__((noinline)) inline int weigh(int x) { return x * 3; }

#if WHICH == 1
extern "C" int second_half(void);
extern "C" int run(double *results, void (*call)(void)) {
  results[0] = next(1) * 1000 + second_half();
  results[1] = weigh(4);
  call();
  return 2;
}
#else
extern "C" int second_half(void) { return next(1) + weigh(5); }
#endif
