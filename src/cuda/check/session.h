/* The session of a checked run on a GPU: what its files share. */
#ifndef MW_CUDA_CHECK_SESSION_H
#define MW_CUDA_CHECK_SESSION_H

#include "check.h"
#include "core/launch/stream_clocks.h"

typedef struct check_site {
  char *file, *name; /* or NULL */
  int line;
  unsigned bytes;
} check_site;

typedef struct check_launch {
  char *kernel; /* NULL: a copy or a fill, which has one run */
  unsigned base, blocks, grid[3], block[3];
  bool skips_reads; /* some of its reads are not recorded */
  mw_ordered_command order;
} check_launch;

/* Of the launches of a stream, which run one after the other. */
typedef struct check_stream_room {
  CUdeviceptr at;
  size_t bytes;
} check_stream_room;

typedef struct check_unit {
  const cuda_unit *unit;
  unsigned first_site; /* site n of the unit is first_site + n */
} check_unit;

typedef struct check_range {
  uint64_t address;
  size_t bytes;
  bool is_whole; /* of allocated memory: all of it is written */
} check_range;

typedef struct check_command {
  unsigned run;
  bool writes;
  check_range range;
} check_command;

typedef struct check_list {
  void *items;
  size_t count, capacity, size;
} check_list;

struct check_session {
  cuda_device *device;
  unsigned kinds;
  pthread_mutex_t lock;
  CUdeviceptr session;  /* mw_follow_session */
  mw_follow_session at; /* as it began */
  CUdeviceptr pool;     /* memory for slots, and how much is left */
  size_t pool_bytes;
  unsigned next_run, next_site;
  check_launch *launches;
  size_t launch_count;
  mw_stream_clocks clocks;
  check_stream_room *rooms; /* by the stream's number */
  size_t room_count;
  check_unit *units;
  size_t unit_count;
  check_site *sites; /* by number; [0] is unused */
  /* shadow_pages.c */
  mw_follow_page *pages; /* as on the device */
  size_t page_count;
  uint64_t changes; /* of the heaps, when all their memory had pages */
  check_range *allocated, *freed;
  size_t allocated_count, freed_count;
  bool lacks_memory; /* for shadows of all arrays */
  bool has_many;     /* more blocks than runs have numbers */
  bool misses_reads; /* work that may write to arrays whose reads were not recorded */
  CUdeviceptr *owned;
  size_t owned_count;
  /* commands.c */
  check_command *commands;
  size_t command_count;
  /* findings.c */
  mw_finding *findings;
  size_t finding_count;
  mw_text notes; /* of contexts before */
};

/* What a run found in a context that is gone. */
struct check_past {
  unsigned kinds;
  mw_finding *findings;
  size_t finding_count;
  mw_text notes;
};

/* Memory of the session, filled with a byte; 0: there is none. */
CUdeviceptr check_room(check_session *check, size_t bytes, unsigned char value);

/* shadow_pages.c */
int check_cover(check_session *check); /* all arrays have shadows */
void check_wrote_arrays(check_session *check, CUstream stream);
void check_give_back(check_session *check); /* what was to be freed */
/* Whether all of the array is written; false: it is not known. */
bool check_is_whole(const check_session *check, cuda_extent extent);
bool check_is_freed(const check_session *check, uint64_t address);

/* The page of an address; its number is 0 if there is none. */
const mw_follow_page *check_page_of(const check_session *check, uint64_t address);

/* commands.c */
void check_forget_commands(check_session *check, uint64_t address, size_t bytes);
CUresult check_commands(check_session *check, void (*race)(check_session *, const mw_follow_finding *));

/* session.c: the next launch, whose blocks get numbers; of a command without a kernel. */
check_launch *check_add_launch(check_session *check, const char *kernel, const mw_launch_request *r, unsigned blocks);

/* launch_order.c */
/* Work of which a launch before did not know: its reads were recorded only if there were other streams then. */
void check_meet_reads(check_session *check, const check_launch *made);
size_t check_stream_number(check_session *check, const cuda_stream *stream);

/* happens_before.c: what the log says about the pairs; each that is not ordered is passed on. */
void check_decide(check_session *check, const mw_follow_session *end,
                  void (*race)(check_session *, const mw_follow_finding *));
const check_launch *check_launch_of(const check_session *check, unsigned run);

/* findings.c: all that the device has found. */
int check_collect(check_session *check, mw_text *notes);
void check_add(check_session *check, const mw_finding *finding);

#endif
