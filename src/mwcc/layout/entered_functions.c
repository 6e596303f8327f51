/* Records which functions of a program are entered: a library for LD_PRELOAD (lay_out.sh), for x86-64 programs at a
 * fixed address.
 *
 * ENTERED_FROM is a file with the functions' addresses and names, a line for each, as nm prints them. The names of
 * those that are entered, in this process and in its children, are appended to the file ENTERED_TO. Each function's
 * entry has a breakpoint, which the first call replaces by the original byte.
 *
 * _exit is replaced by exit, since an instrumented program writes its counters at exit. */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BREAKPOINT = 0xCC, PAGE = 4096, MOST_NAME = 4000 };

typedef struct entry {
  uint8_t *address, was;
  char *name; /* with a newline */
} entry;

static entry *entries;
static size_t entry_count;
static int out = -1;

static int by_address(const void *left, const void *right) {
  const entry *a = left, *b = right;
  return (a->address > b->address) - (a->address < b->address);
}

/* The signal handler: it may interrupt any code, so nothing here takes a lock. Two threads may be here at once; both
   continue with the original instruction. */
static void enter(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number, (void)info;
  greg_t *next = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  entry key = {.address = (uint8_t *)(*next - 1)}, *e = bsearch(&key, entries, entry_count, sizeof key, by_address);
  if (!e) abort();
  __atomic_store_n(e->address, e->was, __ATOMIC_SEQ_CST);
  *next -= 1;
  if (write(out, e->name, strlen(e->name)) < 0) abort();
}

/* The program's code: the executable segment of the first object. */
static int find_code(struct dl_phdr_info *object, size_t size, void *range) {
  uintptr_t *code = range;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_LOAD && (object->dlpi_phdr[i].p_flags & PF_X)) {
      code[0] = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
      code[1] = code[0] + object->dlpi_phdr[i].p_memsz;
    }
  return 1;
}

static void read_entries(FILE *file, const uintptr_t code[2]) {
  char line[MOST_NAME + 100];
  size_t room = 0;
  while (fgets(line, sizeof line, file)) {
    char kind, name[MOST_NAME + 1];
    unsigned long address;
    if (sscanf(line, "%lx %c %4000s", &address, &kind, name) != 3 || !strchr("tTwW", kind)) continue;
    if (address < code[0] || address >= code[1]) continue;
    if (entry_count == room) entries = realloc(entries, (room = 2 * room + 1000) * sizeof *entries);
    if (!entries) abort();
    entry *e = &entries[entry_count++];
    e->address = (uint8_t *)address;
    if (asprintf(&e->name, "%s\n", name) < 0) abort();
  }
  qsort(entries, entry_count, sizeof *entries, by_address);
  size_t count = 0; /* keep one of several names of an address */
  for (size_t i = 0; i < entry_count; i++)
    if (i == 0 || entries[i].address != entries[i - 1].address) entries[count++] = entries[i];
  entry_count = count;
}

__attribute__((constructor)) static void break_at_entries(void) {
  const char *from = getenv("ENTERED_FROM"), *to = getenv("ENTERED_TO");
  FILE *file = from && to ? fopen(from, "r") : NULL;
  struct sigaction action = {.sa_sigaction = enter, .sa_flags = SA_SIGINFO};
  uintptr_t code[2] = {0, 0};
  if (!file) return;
  dl_iterate_phdr(find_code, code);
  read_entries(file, code);
  fclose(file);
  out = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0 || entry_count == 0 || sigaction(SIGTRAP, &action, NULL) != 0) return;
  uintptr_t start = code[0] / PAGE * PAGE;
  if (mprotect((void *)start, code[1] - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  for (size_t i = 0; i < entry_count; i++) {
    entries[i].was = *entries[i].address;
    *entries[i].address = BREAKPOINT;
  }
}

/* Masks of all signals leave out SIGTRAP: a blocked one would end the process. */
int sigfillset(sigset_t *set) {
  memset(set, 0xFF, sizeof *set);
  return sigdelset(set, SIGTRAP);
}

void _exit(int status) { exit(status); }
