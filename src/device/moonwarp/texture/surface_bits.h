/* The integer type in which elements of a surface are loaded and stored: words, to which rows are aligned, or less. */
#ifndef MOONWARP_SURFACE_BITS_H
#define MOONWARP_SURFACE_BITS_H

struct __mw_two_words {
  unsigned int x, y;
};
struct __mw_four_words {
  unsigned int x, y, z, w;
};
template <int Bytes> struct __mw_surface_bits {
  static_assert(Bytes < 0, "surfaces are read and written in elements of 1, 2, 4, 8 or 16 bytes");
};
template <> struct __mw_surface_bits<1> {
  typedef unsigned char type;
};
template <> struct __mw_surface_bits<2> {
  typedef unsigned short type;
};
template <> struct __mw_surface_bits<4> {
  typedef unsigned int type;
};
template <> struct __mw_surface_bits<8> {
  typedef __mw_two_words type;
};
template <> struct __mw_surface_bits<16> {
  typedef __mw_four_words type;
};

#endif
