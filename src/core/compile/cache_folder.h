/* The folder of the compile cache: its files, their total size, and eviction. */
#ifndef MW_CACHE_FOLDER_H
#define MW_CACHE_FOLDER_H

#include "base/base.h"

#define MW_CACHE_NAME_SIZE 37 /* "0123456789abcdef0123456789abcdef.mwo" */

/* The file name of the entry for `key`. */
void mw_cache_folder_name(const mw_hash *key, char out[MW_CACHE_NAME_SIZE]);

typedef struct mw_cache_usage {
  size_t bytes, entries;
} mw_cache_usage;

/* Scan all entries. */
mw_cache_usage mw_cache_folder_usage(const char *folder);
/* `bytes` were stored under `name`: evict other entries if the folder may exceed `limit` now. */
void mw_cache_folder_grown(const char *folder, const char *name, size_t bytes, size_t limit);
/* Remove entries, least recently used first, until at most `limit` bytes are left. */
void mw_cache_folder_shrink(const char *folder, size_t limit);
/* Remove all entries and other files of the cache; errno of the first failure, or 0. */
int mw_cache_folder_clear(const char *folder);

#endif
