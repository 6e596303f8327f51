/* Files of data: their bytes, and what the members of a zip file need: deflate and CRC-32, by zlib. */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

#ifdef MW_HAVE_ZLIB
#include <zlib.h>
#endif

int mw_bytes_read(const char *path, size_t *length, char **bytes) {
  mw_text file;
  int code = mw_file_read_regular(path, &file);
  if (code) return code;
  *length = file.length;
  *bytes = file.data;
  return MW_SUCCESS;
}

int mw_bytes_write(const char *path, const char *bytes, size_t length) { return mw_file_write(path, bytes, length); }

void mw_bytes_release(char *bytes) { free(bytes); }

/* CRC-32 as zip and PNG have it, four bits at a time. */
uint32_t mw_bytes_checksum(const char *bytes, size_t length) {
#ifdef MW_HAVE_ZLIB
  return (uint32_t)crc32_z(0, (const unsigned char *)bytes, length);
#else
  static const uint32_t table[16] = {0,          0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                     0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t sum = ~0u;
  for (size_t i = 0; i < length; i++) {
    sum ^= (unsigned char)bytes[i];
    sum = sum >> 4 ^ table[sum & 15];
    sum = sum >> 4 ^ table[sum & 15];
  }
  return ~sum;
#endif
}

/* The product of two polynomials over GF(2) modulo CRC-32's; the highest bit is the coefficient of x^0. */
static uint32_t crc_product(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a; a <<= 1) {
    if (a >> 31) product ^= b;
    b = b >> 1 ^ (b & 1 ? 0xedb88320 : 0);
  }
  return product;
}

/* `length` bytes after it multiply a checksum by x^(8 length). */
uint32_t mw_bytes_checksum_join(uint32_t first, uint32_t second, size_t length) {
  for (uint32_t power = 1u << 23; length; length >>= 1) { /* x^8, and its squares */
    if (length & 1) first = crc_product(power, first);
    power = crc_product(power, power);
  }
  return first ^ second;
}

#ifdef MW_HAVE_ZLIB

/* zlib counts in 32 bits, so both sides advance piece by piece. */
static int inflate_all(z_stream *z, const char *bytes, size_t length, char *out, size_t size) {
  const size_t most = 1u << 30;
  size_t used = 0, made = 0;
  z->next_in = (unsigned char *)(uintptr_t)bytes;
  z->next_out = (unsigned char *)out;
  for (;;) {
    size_t take = length - used < most ? length - used : most, give = size - made < most ? size - made : most;
    z->avail_in = (uInt)take;
    z->avail_out = (uInt)give;
    int status = inflate(z, Z_NO_FLUSH);
    used += take - z->avail_in;
    made += give - z->avail_out;
    if (status == Z_STREAM_END) break;
    if (status == Z_MEM_ERROR) return fail(MW_MEMORY_ALLOCATION, "the host has no memory to inflate compressed data");
    bool stuck = take == z->avail_in && give == z->avail_out;
    if (status != Z_OK || stuck)
      return fail(MW_INVALID_VALUE, "the compressed data is damaged: %s",
                  z->msg           ? z->msg
                  : used == length ? "it is cut off"
                  : made == size   ? "there is more of it than its size says"
                                   : "it does not inflate");
  }
  if (made == size) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "the compressed data is damaged: it has %zu bytes, not %zu", made, size);
}

int mw_bytes_inflate(const char *bytes, size_t length, size_t size, char *out) {
  z_stream z = {0};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
    return fail(MW_MEMORY_ALLOCATION, "the host has no memory for zlib to inflate compressed data");
  int code = inflate_all(&z, bytes, length, out, size);
  inflateEnd(&z);
  return code;
}

#else

int mw_bytes_inflate(const char *bytes, size_t length, size_t size, char *out) {
  (void)bytes, (void)length, (void)size, (void)out;
  return fail(MW_NOT_SUPPORTED, "this build of moonwarp has no zlib, which reads compressed data");
}

#endif
