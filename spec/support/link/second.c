/* The other of the two objects. */
extern int shared_number;
extern __attribute__((visibility("hidden"))) int hidden_number;
__attribute__((common)) int common_numbers[3];
int other_number = 3;
int chosen(void) { return 2; }
__attribute__((noinline)) int other_function(int x) { return x + shared_number + hidden_number; }

/* Many names to be found. */
#define ONE(n)                                                                                                         \
  int number_##n(void) { return n; }
#define TEN(n)     ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1) HUNDRED(2) HUNDRED(3)
