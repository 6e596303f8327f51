/* Integer intrinsics: counting and moving bits, high halves of products, averages, sums of absolute differences. */
#ifndef MOONWARP_BITS_H
#define MOONWARP_BITS_H

/* Unlike C's built-ins, these are defined for 0: the width (clz) or 0 (ffs). */
__mw_both int __clz(int x) { return x ? __builtin_clz(x) : 32; }
__mw_both int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
__mw_both int __ffs(int x) { return __builtin_ffs(x); }
__mw_both int __ffsll(long long x) { return __builtin_ffsll(x); }
__mw_both int __popc(unsigned int x) { return __builtin_popcount(x); }
__mw_both int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__mw_both unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
__mw_both unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }

/* The position of the |n|th set bit of `mask`, counted upward from `base` (downward for n < 0); ~0 if there is none.
   For n = 0: `base`, if that bit is set. (PTX fns) */
__mw_both unsigned int __fns(unsigned int mask, unsigned int base, int n) {
  int step = n < 0 ? -1 : 1, left = n < 0 ? -n : n;
  if (left == 0) return base < 32 && mask >> base & 1 ? base : 0xffffffffu;
  for (int i = (int)base; i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && --left == 0) return i;
  return 0xffffffffu;
}

/* Four of the eight bytes of y:x, selected by the low three bits of each nibble of `selector`; with its fourth bit, the
   byte's sign is replicated instead. (PTX prmt) */
__mw_both unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  unsigned long long bytes = (unsigned long long)y << 32 | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned int byte = (unsigned int)(bytes >> 8 * (selector >> 4 * i & 7)) & 0xff;
    result |= byte << 8 * i;
  }
  return result;
}

/* The upper (l) or lower (r) half of high:low shifted; the amount wraps at 32, or is clamped to it (lc, rc). */
__mw_both unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
__mw_both unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
__mw_both unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
__mw_both unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* The low 32 bits of products of the low 24 bits (mul24: sign-extended). */
__mw_both int __mul24(int x, int y) {
  return (int)(((long long)((int)((unsigned)x << 8) >> 8)) * ((int)((unsigned)y << 8) >> 8));
}
__mw_both unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffff) * (y & 0xffffff); }
__mw_both int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
__mw_both unsigned int __umulhi(unsigned int x, unsigned int y) {
  return (unsigned int)((unsigned long long)x * y >> 32);
}
__mw_both long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
__mw_both unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}

/* |x - y| + z; the difference does not overflow. */
__mw_both unsigned int __sad(int x, int y, unsigned int z) {
  return (x > y ? (unsigned int)x - (unsigned int)y : (unsigned int)y - (unsigned int)x) + z;
}
__mw_both unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return (x > y ? x - y : y - x) + z; }

/* Averages, rounded down (hadd) or up (rhadd), whose sum does not overflow. */
__mw_both int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
__mw_both int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
__mw_both unsigned int __uhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y) >> 1);
}
__mw_both unsigned int __urhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

/* Dot products of packed bytes (dp4a) or of two 16-bit numbers with the low or high two bytes (dp2a), plus z. */
__mw_both int __dp4a(int x, int y, int z) {
  unsigned int sum = (unsigned int)z;
  for (int i = 0; i < 32; i += 8) sum += (signed char)(x >> i) * (signed char)(y >> i);
  return (int)sum;
}
__mw_both unsigned int __dp4a(unsigned int x, unsigned int y, unsigned int z) {
  for (int i = 0; i < 32; i += 8) z += (x >> i & 0xff) * (y >> i & 0xff);
  return z;
}
__mw_both int __dp4a(char4 x, char4 y, int z) {
  return (int)((unsigned int)z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w);
}
__mw_both unsigned int __dp4a(uchar4 x, uchar4 y, unsigned int z) {
  return z + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
__mw_both int __dp2a_lo(int x, int y, int z) {
  return (int)((unsigned int)z + (short)x * (signed char)y + (short)(x >> 16) * (signed char)(y >> 8));
}
__mw_both unsigned int __dp2a_lo(unsigned int x, unsigned int y, unsigned int z) {
  return z + (x & 0xffff) * (y & 0xff) + (x >> 16) * (y >> 8 & 0xff);
}
__mw_both int __dp2a_lo(short2 x, char4 y, int z) { return (int)((unsigned int)z + x.x * y.x + x.y * y.y); }
__mw_both unsigned int __dp2a_lo(ushort2 x, uchar4 y, unsigned int z) { return z + x.x * y.x + x.y * y.y; }
__mw_both int __dp2a_hi(int x, int y, int z) { return __dp2a_lo(x, y >> 16, z); }
__mw_both unsigned int __dp2a_hi(unsigned int x, unsigned int y, unsigned int z) { return __dp2a_lo(x, y >> 16, z); }
__mw_both int __dp2a_hi(short2 x, char4 y, int z) { return (int)((unsigned int)z + x.x * y.z + x.y * y.w); }
__mw_both unsigned int __dp2a_hi(ushort2 x, uchar4 y, unsigned int z) { return z + x.x * y.z + x.y * y.w; }

/* CUDA 1.x names without underscores. */
__mw_both int mul24(int x, int y) { return __mul24(x, y); }
__mw_both unsigned int umul24(unsigned int x, unsigned int y) { return __umul24(x, y); }
__mw_both int mulhi(int x, int y) { return __mulhi(x, y); }
__mw_both unsigned int umulhi(unsigned int x, unsigned int y) { return __umulhi(x, y); }
__mw_both long long mul64hi(long long x, long long y) { return __mul64hi(x, y); }
__mw_both unsigned long long umul64hi(unsigned long long x, unsigned long long y) { return __umul64hi(x, y); }

#endif
