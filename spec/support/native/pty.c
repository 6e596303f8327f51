/* Runs a program in a pseudo-terminal and talks to it, as a person would: pty SCENARIO PROGRAM [ARGUMENTS]. All that the
 * program wrote goes to standard output; the exit status is the program's, or 99 where something did not come.
 *
 * A scenario has one command per line:
 *   wait TEXT   until the program has written it, after the text that was waited for before
 *   send TEXT   and a line end
 *   type TEXT   without one; \t is a tabulator
 *   paste TEXT  as a terminal pastes it that was asked to mark it (bracketed paste); \n is a line end
 *   key N       one byte: 3 is Ctrl-C, 4 is Ctrl-D
 * Nothing sleeps: each step waits for what the program says. One that hangs is ended after a minute. */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <fcntl.h>

enum { PATIENCE = 60000 };

static char output[1 << 20];
static size_t length, seen;

static int finish(pid_t child, const char *missing) {
  int status = 0;
  if (missing) kill(child, 9);
  waitpid(child, &status, 0);
  fwrite(output, 1, length, stdout);
  if (missing) printf("\n[waited in vain for: %s]\n", missing);
  return missing ? 99 : WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* In the marks of bracketed paste, line ends as a terminal sends them. */
static void paste(int terminal, char *text) {
  for (char *end; (end = strstr(text, "\\n"));) memmove(end + 1, end + 2, strlen(end + 1)), *end = '\r';
  dprintf(terminal, "\033[200~%s\033[201~", text);
}

static int is_patient = 1; /* it has said something in time */

/* More of the program's output; 0 at its end, or where nothing comes. */
static int read_more(int terminal) {
  struct pollfd ready = {.fd = terminal, .events = POLLIN};
  is_patient = poll(&ready, 1, PATIENCE) > 0;
  if (!is_patient || length + 1 >= sizeof output) return 0;
  ssize_t count = read(terminal, output + length, sizeof output - 1 - length);
  if (count <= 0) return 0;
  length += (size_t)count;
  output[length] = 0;
  return 1;
}

static int wait_for(int terminal, const char *text) {
  char *found;
  while (!(found = strstr(output + seen, text)))
    if (!read_more(terminal)) return 0;
  seen = (size_t)(found - output) + strlen(text);
  return 1;
}

static void type(int terminal, const char *text) {
  for (; *text; text++) {
    char letter = *text;
    if (letter == '\\' && text[1] == 't') letter = '\t', text++;
    if (write(terminal, &letter, 1) != 1) return;
  }
}

int main(int argc, char **argv) {
  char line[4096];
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  FILE *scenario = argc > 2 ? fopen(argv[1], "r") : NULL;
  if (!scenario || terminal < 0 || grantpt(terminal) || unlockpt(terminal)) return 97;
  struct winsize size = {.ws_row = 40, .ws_col = 100};
  ioctl(terminal, TIOCSWINSZ, &size);
  const char *name = ptsname(terminal);
  pid_t child = fork();
  if (child == 0) {
    setsid();
    int side = open(name, O_RDWR);
    ioctl(side, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++) dup2(side, i);
    close(terminal);
    execvp(argv[2], argv + 2);
    _exit(96);
  }
  while (fgets(line, sizeof line, scenario)) {
    line[strcspn(line, "\n")] = 0;
    char *text = strchr(line, ' ');
    text = text ? text + 1 : line + strlen(line);
    if (!strncmp(line, "wait", 4) && !wait_for(terminal, text)) return finish(child, text);
    if (!strncmp(line, "send", 4)) type(terminal, text), type(terminal, "\n");
    if (!strncmp(line, "type", 4)) type(terminal, text);
    if (!strncmp(line, "paste", 5)) paste(terminal, text);
    if (!strncmp(line, "key", 3)) type(terminal, (char[]){(char)atoi(text), 0});
  }
  while (read_more(terminal)) continue;
  return finish(child, is_patient ? NULL : "its end");
}
