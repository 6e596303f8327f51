/* One of two objects that spec/compiler/link_spec.lua links: which features of a linker they use. */
#include <math.h>

typedef void callback(void);

/* Of several objects: an own one, one that the other has, a weak one that gives way, one that all have. */
int shared_number = 5;
extern int other_number;
__attribute__((weak)) int chosen(void) { return 1; }
int other_function(int);
__attribute__((visibility("hidden"))) int hidden_number = 7;
extern __attribute__((weak)) int nobody_has_it;

/* Zeros that take no place in the file, common ones, aligned ones, tables of addresses, a constant. */
int zeros[5000];
__attribute__((common)) int common_numbers[3];
__attribute__((aligned(256))) char aligned_bytes[3] = {1, 2, 3};
static int twice(int x) { return 2 * x; }
static int square(int x) { return x * x; }
int (*const functions[])(int) = {twice, square, other_function};
double (*const imported[])(double) = {cbrt, tgamma};
int *const pointers[] = {&shared_number, &zeros[4999], &hidden_number, &other_number};
const char *const texts[] = {"one", "three", "fifteen"};

/* Constructors, in an order that differs from the one they are written in. */
static int order;
__attribute__((constructor(300))) static void third(void) { order = order * 10 + 3; }
__attribute__((constructor(200))) static void second(void) { order = order * 10 + 2; }
__attribute__((constructor)) static void last(void) { order = order * 10 + 4; }
__attribute__((constructor(101))) static void first(void) { order = order * 10 + 1; }

/* A table of jumps. */
__attribute__((noinline)) static int choose(int x) {
  switch (x) {
  case 0: return 11;
  case 1: return shared_number;
  case 2: return other_function(3);
  case 3: return 14;
  case 4: return zeros[1] + 15;
  case 5: return x * x;
  case 6: return -1;
  default: return 100;
  }
}

/* What all that comes to, in `results`; how many there are. */
int run(double *results, callback *call) {
  int n = 0;
  results[n++] = shared_number + other_number * 10 + hidden_number * 100;
  results[n++] = chosen();
  results[n++] = &nobody_has_it == 0;
  for (int i = 0; i < 5000; i++) results[n] += zeros[i] + i;
  n++;
  for (int i = 0; i < 3; i++) results[n] += common_numbers[i]++ + aligned_bytes[i];
  n++;
  results[n++] = (double)((unsigned long)aligned_bytes % 256);
  for (int i = 0; i < 3; i++) results[n++] = functions[i](9);
  for (int i = 0; i < 2; i++) results[n++] = imported[i](5.0) + exp(2.0 + i) + pow(1.5, results[0]) + cbrt(i);
  for (int i = 0; i < 4; i++) results[n++] = *pointers[i];
  for (int i = 0; i < 3; i++) results[n] = results[n] * 128 + texts[i][i];
  n++;
  results[n++] = order;
  for (int i = 0; i < 8; i++) results[n] = results[n] * 7 + choose(i);
  n++;
  __int128 wide = (__int128)results[0] << 90;
  results[n++] = (double)(wide / (1000000000 + choose(9))); /* of libgcc */
  call();
  return n;
}
