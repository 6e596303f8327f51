/* Opens a module as the runtime does, runs it, and prints what comes of it:
 *   host module.mwo          its results; whether the stack can be walked from within; what of its memory can be written
 *   host module.mwo names    whether number_100 … number_399 are found, and others are not */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

static const char *walked[16];
static int steps;

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *unused) {
  Dl_info where;
  (void)unused;
  void *at = (char *)_Unwind_GetIP(context) - 1;
  if (dladdr(at, &where) && where.dli_sname && steps < 16) walked[steps++] = where.dli_sname;
  return _URC_NO_REASON;
}

void walk(void) {
  steps = 0;
  _Unwind_Backtrace(note, NULL);
}

/* Whether the page of `address` is mapped with the rights in `rights`, as "r-x". */
static int has_rights(const void *address, const char *rights) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], now[5];
  unsigned long start, end, at = (unsigned long)address;
  int found = 0;
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s", &start, &end, now) == 3 && start <= at && at < end)
      found = !strncmp(now, rights, 3);
  fclose(maps);
  return found;
}

static int check_names(void *module) {
  char name[32];
  int found = 0, absent = 0;
  for (int i = 0; i < 600; i++) {
    snprintf(name, sizeof name, "number_%d", i);
    int (*number)(void) = (int (*)(void))dlsym(module, name);
    if (!number)
      absent++;
    else if (number() == i)
      found++;
  }
  printf("%d found, %d absent\n", found, absent);
  return 0;
}

int main(int count, char **args) {
  void *module = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
  if (!module) return printf("%s\n", dlerror()), 1;
  if (count > 2) return check_names(module);
  int (*run)(double *, void (*)(void)) = (int (*)(double *, void (*)(void)))dlsym(module, "run");
  if (!run) return printf("no function\n"), 1;
  double results[64] = {0};
  int numbers = run(results, walk);
  for (int i = 0; i < numbers; i++) printf("%.17g\n", results[i]);
  for (int i = 0; i < steps; i++)
    if (!strcmp(walked[i], "run") || !strcmp(walked[i], "main") || !strcmp(walked[i], "walk"))
      printf("%s\n", walked[i]);
  printf("code r-x %d\n", has_rights((void *)run, "r-x"));
  void *table = dlsym(module, "imported"), *variable = dlsym(module, "shared_number");
  if (table) printf("tables r-- %d\n", has_rights(table, "r--"));
  if (variable) printf("variables rw- %d\n", has_rights(variable, "rw-"));
  return 0;
}
