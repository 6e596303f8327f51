x: /tmp/w/bench/build/release/share/moonwarp/device/moonwarp_device.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/keywords.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/limits.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/vector_types.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/make_vector.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/indices.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/sync.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/memory.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/debug.h \
  /tmp/w/bench/build/release/share/moonwarp/device/assert.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/atomics.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/warp.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/libm.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/minmax.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/math_overloads.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/roots.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/pi_trigonometry.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/polynomial.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/error_functions.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/bessel.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/bits.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/conversions.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/arithmetic.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/arithmetic_double.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/texture_types.h \
  /tmp/w/bench/build/release/share/moonwarp/device/moonwarp/texture_descriptor.h \
  /tmp/w/bench/build/release/share/moonwarp/device/stdint.h
