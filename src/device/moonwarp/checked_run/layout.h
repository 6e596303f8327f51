/* The data of checked runs on a GPU, for kernels (calls.h), for mwcc (src/mwcc/gpu/checked_run.c) and for the host
 * (src/cuda/check). Pointers are integers, so that the layout is the same for all.
 *
 * A block of a checked run has a number of its own, its run: the host gives each launch as many in succession as it has
 * blocks. Runs below a launch's `floor` happen before it. */
#ifndef MOONWARP_FOLLOW_LAYOUT_H
#define MOONWARP_FOLLOW_LAYOUT_H

enum { MW_FOLLOW_LANES = 32, MW_FOLLOW_THREADS = 1024 };

/* What a unit follows: kinds of checks (bits of mw_check_kind), and what else its kernels do. */
enum mw_follow_uses {
  MW_FOLLOW_MEMORY = 1,
  MW_FOLLOW_RACES = 2,
  MW_FOLLOW_BARRIERS = 4,
  MW_FOLLOW_INITIALISATION = 8,
  MW_FOLLOW_KINDS = 15,
  MW_FOLLOW_WARPS = 16,
  MW_FOLLOW_ARRIVALS = 32, /* waits for arrivals: arrivals.h */
  MW_FOLLOW_BYTES = 64,    /* accesses parts of words of shared memory, whose bytes then have cells each */
};

/* Properties of an access. */
enum mw_follow_flags {
  MW_FOLLOW_STORE = 1,
  MW_FOLLOW_ATOMIC = 2,   /* also MW_FOLLOW_STORE */
  MW_FOLLOW_VOLATILE = 4, /* or an atomic load or store */
  MW_FOLLOW_BLOCK = 8,    /* atomic for the block only */
  MW_FOLLOW_USED = 16,    /* a load whose value is used, rather than copied */
  MW_FOLLOW_COPY = 16,    /* of a record: by an asynchronous copy */
  MW_FOLLOW_ACQUIRE = 32,
  MW_FOLLOW_RELEASE = 64,
  MW_FOLLOW_IN_SHARED = 128, /* known to be so by the compiler */
  MW_FOLLOW_IN_GLOBAL = 256,
  MW_FOLLOW_RELAXED = 512,   /* of an atomic load: what it reads is acquired by a fence after it */
  MW_FOLLOW_COPIES = 1024,   /* in code with asynchronous copies */
  MW_FOLLOW_SHADOWED = 2048, /* which bytes are written is followed by other calls: written.h */
  MW_FOLLOW_ALIGNED = 4096,  /* to its size, as the access has been checked to be */
};

/* Of an origin: of a value that a shuffle read from a lane that takes no part. */
enum { MW_FOLLOW_FROM_SHUFFLE = 1 << 30 };

/* The headers' reports (checked_events.h), which mwcc passes to __mw_guard_follow_event. */
enum mw_follow_report {
  MW_FOLLOW_ORDER = 2, /* for mwcc */
  MW_FOLLOW_ASYNC,
  MW_FOLLOW_COMMIT,
  MW_FOLLOW_COPIED,
  MW_FOLLOW_TRACK
};

enum mw_follow_vote { MW_FOLLOW_COUNT, MW_FOLLOW_AND, MW_FOLLOW_OR };

/* Operations of a kernel that are not followed: bits of mw_follow_session.notes. */
enum mw_follow_note {
  MW_FOLLOW_NAMED = 1,      /* barriers of a part of a block in PTX that mwcc does not read */
  MW_FOLLOW_CLUSTERS = 2,   /* shared memory and barriers of a cluster */
  MW_FOLLOW_BULK = 4,       /* asynchronous copies by the hardware */
  MW_FOLLOW_LOG_FULL = 8,   /* more fences and atomics than the log has room for */
  MW_FOLLOW_LIST_FULL = 16, /* more findings than the list has room for */
  MW_FOLLOW_MASKS = 32,     /* warp functions with more than 32 masks in one warp */
  MW_FOLLOW_STORES = 64     /* stores in PTX that mwcc does not read: what they write is not known */
};

enum mw_follow_kind {
  MW_FOLLOW_RACE = 1,
  MW_FOLLOW_UNWRITTEN,
  MW_FOLLOW_DIVERGED,   /* threads of a block wait at different barriers; other: the second one */
  MW_FOLLOW_RETURNED,   /* a thread of the block never reaches the barrier; value: which */
  MW_FOLLOW_OWN_LANE,   /* value: the mask */
  MW_FOLLOW_NEVER,      /* a lane of the mask never calls; value: mask, lane << 32 */
  MW_FOLLOW_OTHER_CALL, /* other: the other lane's */
  MW_FOLLOW_ABSENT,     /* a shuffle reads a lane that does not take part; value: it */
  MW_FOLLOW_FREED_TWICE,
  MW_FOLLOW_NOT_MALLOC,  /* free of an address that malloc did not return; value: it */
  MW_FOLLOW_PAST_BLOCK,  /* an access outside of memory of malloc; value: its bytes */
  MW_FOLLOW_FREED_BLOCK, /* an access to freed memory */
  MW_FOLLOW_STUCK,       /* waits for arrivals, and all others of the block wait too or have returned */
  MW_FOLLOW_GRID,        /* waits for the grid, and blocks of it have ended */
  MW_FOLLOW_USED_ABSENT  /* a value that a shuffle read from a lane that does not take part is used */
};

/* The latest accesses to four bytes: two readers, a write, an atomic operation. who: run << 32 | epoch << 14 | thread
   << 4 | bytes, 0: none; what: site << 44 | step << 32 | grids << 16 | flags. A copy's step is its group. */
enum { MW_FOLLOW_READ, MW_FOLLOW_READ_TOO, MW_FOLLOW_WRITE, MW_FOLLOW_UPDATE, MW_FOLLOW_RECORDS };
typedef struct mw_follow_cell {
  unsigned long long who[MW_FOLLOW_RECORDS], what[MW_FOLLOW_RECORDS];
} mw_follow_cell;

/* One of two accesses, or the only one. */
typedef struct mw_follow_end {
  unsigned int site, run, thread, epoch, step, flags;
} mw_follow_end;

/* A finding; entry of a hash table of open addressing, by key. */
typedef struct mw_follow_finding {
  unsigned long long key; /* of kind and sites; 0: free */
  unsigned int count, kind;
  mw_follow_end here, other;
  unsigned long long address, object, bytes, value;
  unsigned int is_shared, ready;
} mw_follow_finding;

/* Two accesses that a fence and an atomic may order; the log decides. */
typedef struct mw_follow_pair {
  mw_follow_end here, other;
  unsigned long long address, object, bytes;
  unsigned int is_shared, logged; /* logged: entries of the log at that time */
} mw_follow_pair;

/* An entry of the log. Releases of a word are a list, from the latest on. */
enum { MW_FOLLOW_RELEASED = 1, MW_FOLLOW_LEARNT, MW_FOLLOW_FENCED };
typedef struct mw_follow_event {
  unsigned int kind, run, thread, epoch, step;
  unsigned int link;   /* number of an entry from 1; of a release, the one before at its word; of what was learnt,
                                    the release */
  unsigned int fenced; /* bits: for the device, for the block; of what was learnt, 1: from the next fence on */
  unsigned int fenced_epoch[2], fenced_step[2];
  unsigned int copies; /* of a release: the thread's groups of copies up to this one are done */
} mw_follow_event;

/* A word by which threads synchronise. */
typedef struct mw_follow_head {
  unsigned long long key; /* address; of shared memory with the run above; 0: free */
  unsigned int latest, unused;
} mw_follow_head;

/* Memory that malloc gave to a kernel. */
typedef struct mw_follow_malloc {
  unsigned long long address; /* 0: free entry */
  unsigned int bytes, site, run, thread, is_freed, unused;
} mw_follow_malloc;

/* The shadow of 2 MiB of global memory. */
enum { MW_FOLLOW_PAGE_SHIFT = 21, MW_FOLLOW_PAGE_WORDS = 1 << (MW_FOLLOW_PAGE_SHIFT - 2) };
typedef struct mw_follow_page {
  unsigned long long number;  /* address >> MW_FOLLOW_PAGE_SHIFT; 0: free entry */
  unsigned long long cells;   /* mw_follow_cell *, or 0 */
  unsigned long long written; /* unsigned char *: a bit for each byte of a word; or 0: all is written */
} mw_follow_page;

/* All rooms are powers of two. */
typedef struct mw_follow_session {
  unsigned long long pages, findings, pairs, log, heads, mallocs;
  unsigned int page_room, finding_room, pair_room, log_room, head_room, malloc_room;
  unsigned int pair_count, log_count, notes, malloc_count; /* malloc_count: 0, or 1 if there were blocks */
  /* Shadows for pages of memory of malloc: all written, so many, and how many pages have asked for one. */
  unsigned long long spare;
  unsigned int spare_room, spare_count;
} mw_follow_session;

/* A launch, followed by a bit for each slot that says whether a block has it, and by the slots. slot_count: 0 if blocks
   need none. */
typedef struct mw_follow_launch {
  unsigned long long session, slots, slot_bytes, cells_at,
      written_at; /* offsets in a slot: of shared memory's shadow */
  unsigned int slot_count, base, floor, blocks, threads, shared_words, kinds, first_site;
  unsigned int grid_arrived, grid_generation, ended; /* blocks at a barrier of the grid; blocks that have ended */
  /* Bits of the first parameters: pointers to arrays of which all is written; to which nothing writes at that time. */
  unsigned int whole, read_only;
} mw_follow_launch;

/* Lanes that are to call a warp function with the mask; entry of a hash table. */
typedef struct mw_follow_group {
  unsigned int mask; /* 0: free */
  unsigned int arrived, generation, takes_part, site, lane;
} mw_follow_group;

typedef struct mw_follow_warp {
  unsigned int exited, waits, gathers; /* lanes; waits: at a barrier of the block; gathers: in a group */
  unsigned int absent;                 /* whose latest shuffle read a lane that takes no part */
  mw_follow_group groups[MW_FOLLOW_LANES];
} mw_follow_warp;

typedef struct mw_follow_thread {
  unsigned int epoch, step, floor; /* floor: all lanes' accesses of an earlier step are known */
  unsigned int fenced, fenced_epoch[2], fenced_step[2], seen, has_known;
  unsigned int copies, groups, done;     /* copies: it issues asynchronous ones; groups of them; groups that are done */
  unsigned int passed[2], joined;        /* done, at the barrier before an even and an odd epoch, and at __syncwarp */
  unsigned int saw;                      /* the latest entry learnt that counts from the next fence on, 0: none */
  unsigned int polls, progress;          /* polls: of a wait, 0: it does not wait; progress: of the block, then */
  unsigned short known[MW_FOLLOW_LANES]; /* the same of each lane */
} mw_follow_thread;

/* A block that runs, in its shared memory. */
typedef struct mw_follow_here {
  unsigned long long launch, slot; /* mw_follow_launch, mw_follow_block; or 0 */
  unsigned long long place;        /* the latest arrival at a barrier: site << 32 | thread */
  unsigned int gone, gone_thread;  /* threads that have returned: how many, and the latest */
  /* What accesses look up: of the session, and of the block's slot if it has one. */
  unsigned long long pages, written; /* written: of shared memory, or 0 */
  unsigned int page_room, shared_words, run, unused;
} mw_follow_here;

/* A barrier that some threads of a block wait at, by its number (PTX bar.sync). */
enum { MW_FOLLOW_NUMBERS = 16 };
typedef struct mw_follow_named {
  unsigned int arrived, generation;
} mw_follow_named;

/* What does not fit there: a slot begins with it. */
typedef struct mw_follow_block {
  unsigned int slot, grids, learnt, unfollowed;
  unsigned int arrived, stalled, progress; /* threads at barriers of the block; that wait for arrivals; arrivals */
  mw_follow_named named[MW_FOLLOW_NUMBERS];
  mw_follow_warp warps[MW_FOLLOW_THREADS / MW_FOLLOW_LANES];
  mw_follow_thread threads[MW_FOLLOW_THREADS];
} mw_follow_block;

#endif
