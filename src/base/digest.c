/* The digest of a compiler's log: for each mistake the most helpful message, without its consequences.
 *
 * A mistake is an error or a warning with the notes after it. If there is advice (advice.c), it replaces the message,
 * and notes and further errors on that line are dropped. All host code is one mistake, whose lines become notes. A
 * mistake without advice retains notes about the user's own files; of notes about moonwarp's and the system's headers
 * only the text is retained. */
#include "advice.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

#define FOREIGN_NOTES 3 /* the most notes about other files that are shown for a mistake */

typedef struct mistake {
  mw_log_entry entry;
  const mw_log_entry *notes;
  size_t note_count;
  char *advice; /* or NULL */
  bool host;
  bool moved; /* from a header to the user's line */
} mistake;

typedef struct digest {
  mw_log_entry *entries;
  mistake *list;
  size_t entry_count, count;
  mw_text out;
} digest;

/* ---- reading ---- */

static void read_entries(digest *d, const char *log) {
  mw_log_entry entry;
  for (const char *at = log; mw_log_next(&at, &entry);) {
    d->entries = mw_realloc(d->entries, (d->entry_count + 1) * sizeof *d->entries);
    d->entries[d->entry_count++] = entry;
  }
}

static void group(digest *d) {
  for (size_t i = 0; i < d->entry_count; i++) {
    if (d->entries[i].kind == MW_LOG_NOTE && d->count) {
      d->list[d->count - 1].note_count++;
      continue;
    }
    d->list = mw_realloc(d->list, (d->count + 1) * sizeof *d->list);
    d->list[d->count++] = (mistake){.entry = d->entries[i], .notes = d->entries + i + 1};
  }
}

/* Whether the file is moonwarp's, the compiler's or the system's header, or a pseudo-file of a macro; not the
   user's. */
static bool is_foreign(const mw_log_entry *entry) {
  static const char folder[] = "/moonwarp/device/";
  const char *file = entry->file;
  if (entry->file_length && strncmp(file, "<command line>", entry->file_length) == 0) return false;
  return entry->file_length &&
         (*file == '<' || strncmp(file, "/usr/", 5) == 0 || memmem(file, entry->file_length, folder, strlen(folder)));
}

/* An error in a foreign header is reported at the user's line that leads to it. */
static void blame_user(mistake *m) {
  if (m->entry.kind != MW_LOG_ERROR || !is_foreign(&m->entry)) return;
  for (size_t i = 0; i < m->note_count; i++) {
    const mw_log_entry *note = &m->notes[i];
    if (is_foreign(note) || !note->file_length) continue;
    mw_log_entry place = *note;
    place.start = place.file;
    place.kind = MW_LOG_ERROR;
    place.message = m->entry.message;
    place.message_length = m->entry.message_length;
    m->entry = place;
    m->moved = true;
    m->notes += i + 1, m->note_count -= i + 1;
    return;
  }
}

/* The line of code in an entry, after a margin "   12 | " if there is one. */
static char *code_of(const mw_log_entry *entry) {
  const char *line = entry->body, *end = line + strcspn(line, "\n");
  if (line == entry->end) return mw_strdup("");
  const char *bar = line + strspn(line, " 0123456789");
  if (bar > line && bar[0] == '|' && bar[1] == ' ') line = bar + 2;
  return mw_format("%.*s", (int)(end - line), line);
}

static void advise(mistake *m) {
  if (m->entry.kind != MW_LOG_ERROR) return;
  mw_text notes = {0};
  mw_text_add(&notes, "", 0);
  for (size_t i = 0; i < m->note_count; i++)
    mw_text_addf(&notes, "%.*s\n", (int)m->notes[i].message_length, m->notes[i].message);
  char *message = mw_format("%.*s", (int)m->entry.message_length, m->entry.message), *code = code_of(&m->entry);
  size_t column = m->entry.column > 0 ? (size_t)m->entry.column - 1 : 0;
  m->advice = mw_advice_find(&(mw_complaint){message, code, column, notes.data}, &m->host);
  free(message);
  free(code);
  mw_text_free(&notes);
}

/* ---- writing ---- */

static void add_place(digest *d, const mw_log_entry *entry) {
  if (!entry->file_length) return;
  mw_text_addf(&d->out, "%.*s:%d:", (int)entry->file_length, entry->file, entry->line);
  if (entry->column) mw_text_addf(&d->out, "%d:", entry->column);
  mw_text_add(&d->out, " ", 1);
}

/* The origin of a header's macro is not helpful. */
static bool is_expansion(const mw_log_entry *note) { return strncmp(note->message, "expanded from ", 14) == 0; }

static void add_notes(digest *d, const mistake *m) {
  size_t foreign = 0, first = d->out.length;
  for (size_t i = 0; i < m->note_count; i++) {
    const mw_log_entry *note = &m->notes[i];
    if (!is_foreign(note)) {
      mw_text_add(&d->out, note->start, (size_t)(note->end - note->start));
      continue;
    }
    bool known = memmem(d->out.data + first, d->out.length - first, note->message, note->message_length);
    if (known || is_expansion(note) || foreign++ >= FOREIGN_NOTES) continue;
    add_place(d, &m->entry);
    mw_text_addf(&d->out, "note: %.*s\n", (int)note->message_length, note->message);
  }
}

/* The further lines of host code, each kind only once: "cudaMemset: x:fill(value)". */
static void add_host_lines(digest *d, size_t first) {
  for (size_t i = first + 1; i < d->count; i++) {
    const mistake *m = &d->list[i];
    const char *middle = m->host ? strstr(m->advice, MW_HOST_CODE) : NULL;
    if (!middle) continue;
    const char *instead = middle + strlen(MW_HOST_CODE);
    if (memmem(d->out.data, d->out.length, instead, strlen(instead))) continue;
    add_place(d, &m->entry);
    mw_text_addf(&d->out, "note: %.*s: %s\n", (int)(middle - m->advice), m->advice, instead);
  }
}

/* Whether the mistake belongs to an earlier one: it is also about host code, on a line with advice, or at the same
   position. */
static bool follows(const digest *d, size_t index) {
  const mistake *m = &d->list[index];
  for (size_t i = 0; i < index && m->entry.kind == MW_LOG_ERROR; i++) {
    const mistake *before = &d->list[i];
    if (before->entry.kind != MW_LOG_ERROR) continue;
    if (m->host && before->host) return true;
    bool same_line = before->entry.line == m->entry.line && mw_log_same_file(&before->entry, &m->entry);
    if (same_line && (before->advice || before->entry.column == m->entry.column)) return true;
  }
  return false;
}

static void add_mistake(digest *d, size_t index) {
  const mistake *m = &d->list[index];
  if (m->advice || m->moved) {
    add_place(d, &m->entry);
    mw_text_addf(&d->out, "error: ");
    if (m->advice)
      mw_text_addf(&d->out, "%s\n", m->advice);
    else
      mw_text_addf(&d->out, "%.*s\n", (int)m->entry.message_length, m->entry.message);
    mw_text_add(&d->out, m->entry.body, (size_t)(m->entry.end - m->entry.body));
  } else {
    mw_text_add(&d->out, m->entry.start, (size_t)(m->entry.end - m->entry.start));
  }
  if (m->host)
    add_host_lines(d, index);
  else if (!m->advice)
    add_notes(d, m);
}

char *mw_log_digest(const char *log) {
  digest d = {0};
  mw_text_add(&d.out, "", 0);
  read_entries(&d, log);
  group(&d);
  for (size_t i = 0; i < d.count; i++) {
    blame_user(&d.list[i]);
    advise(&d.list[i]);
  }
  for (size_t i = 0; i < d.count; i++)
    if (!follows(&d, i)) add_mistake(&d, i);
  if (d.count == 0) mw_text_add(&d.out, log, strlen(log));
  for (size_t i = 0; i < d.count; i++) free(d.list[i].advice);
  free(d.entries);
  free(d.list);
  return d.out.data;
}
