/* The folder of the compile cache on disk: what may lie in it, how much does, and what goes first. */
#ifndef MW_CACHE_FOLDER_H
#define MW_CACHE_FOLDER_H

#include "base/base.h"

#define MW_CACHE_NAME_SIZE 37 /* "0123456789abcdef0123456789abcdef.mwo" */

/* The file name of the entry for `key`. */
void mw_cache_folder_name(const mw_hash *key, char out[MW_CACHE_NAME_SIZE]);

typedef struct mw_cache_usage {
  size_t bytes, entries;
} mw_cache_usage;

/* Look at every entry. */
mw_cache_usage mw_cache_folder_usage(const char *folder);
/* `bytes` came in under `name`: make room if that may have brought the folder past `limit`, but not by removing `name`. */
void mw_cache_folder_grown(const char *folder, const char *name, size_t bytes, size_t limit);
/* Remove entries, least recently used first, until at most `limit` bytes are there. */
void mw_cache_folder_shrink(const char *folder, size_t limit);
/* Remove every entry and all that belongs to the cache; errno of the first failure, or 0. */
int mw_cache_folder_clear(const char *folder);

#endif
