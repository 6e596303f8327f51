/* Rules of the memory system in numbers, the same for the CPU device (src/cpu/watch/coalescing.c), for kernels that
 * count on a GPU (count.h) and for mwcc. Those of capability 9.0 agree with what Nsight Compute counted on an H100;
 * those of 1.x are from the CUDA programming guide 2.0, section 5.1.2. */
#ifndef MOONWARP_MEASURED_RULES_H
#define MOONWARP_MEASURED_RULES_H

#ifdef __CUDA__
#define MW_RULE static __attribute__((device, always_inline, nodebug)) inline
#else
#define MW_RULE static inline
#endif

enum {
  MW_SECTOR_BYTES = 32,
  MW_WORD_BYTES = 4,
  MW_BANKS_TODAY = 32,
  MW_BANKS_OLD = 16,
  MW_HALF_WARP = 16,
  MW_WIDEST_ACCESS = 16, /* bytes of a thread: a larger one is several requests */
  MW_LONGEST_TRANSACTION = 128,
  MW_FIRST_ATOMIC_KIND = 2 /* MW_SITE_ATOMIC; the next is MW_SITE_REDUCTION, and no other is an access */
};

enum mw_rule_set {
  MW_RULES_TODAY,
  MW_RULES_1_0, /* and 1.1: half-warps coalesce only in order, aligned; 16 banks */
  MW_RULES_1_2  /* and 1.3: segments of 32, 64 or 128 bytes for half-warps; 16 banks */
};

/* Shared memory has no atomic operations on floats (LLVM's FAdd to FMin, `detail` of an mw_site): nvcc makes a loop of
   a load and a compare-and-swap, in each iteration of which one lane succeeds at each address. `kind`: an
   mw_site_kind. */
MW_RULE bool mw_is_swapped(unsigned kind, unsigned detail) {
  return kind >= MW_FIRST_ATOMIC_KIND && detail >= 12 && detail <= 15;
}

MW_RULE unsigned mw_divided(unsigned bytes, unsigned by) { return (bytes + by - 1) / by; }

/* The lanes whose accesses to shared memory are served together: 32 for words of up to 4 bytes, 16 for 8, 8 for 16. */
MW_RULE unsigned mw_lanes_together(bool is_old, unsigned bytes) {
  return is_old ? MW_HALF_WARP : bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
}

/* Compute capability 1.0 and 1.1: one transaction of 64 or 128 bytes (two of 128 for 16-byte words) if lane n of a
   half-warp accesses word n of an aligned segment, else one of 32 bytes for each lane. */
MW_RULE unsigned mw_strict_transactions(bool is_ordered, unsigned bytes, unsigned lanes) {
  return is_ordered ? mw_divided(bytes, 8) : lanes;
}
MW_RULE unsigned mw_strict_bytes(bool is_ordered, unsigned bytes, unsigned lanes) {
  return is_ordered ? MW_HALF_WARP * bytes : lanes * MW_SECTOR_BYTES;
}

/* 1.2 and 1.3: segments of 32 bytes for 1-byte words, 64 for 2, 128 for others; each is halved while only one half of
   it is used, down to 32. `first` and `last`: the distances of the bytes used from the segment's start. */
MW_RULE unsigned mw_segment_bytes(unsigned bytes) { return bytes == 1 ? 32 : bytes == 2 ? 64 : 128; }
MW_RULE unsigned mw_segment_width(unsigned segment, unsigned first, unsigned last) {
  unsigned start = 0, width = segment;
  while (width > MW_SECTOR_BYTES && (first - start) / (width / 2) == (last - start) / (width / 2)) {
    start += (first - start) / (width / 2) * (width / 2);
    width /= 2;
  }
  return width;
}

#endif
