// Which Highway targets the tuned code is built for. Include before any Highway header.
#pragma once

// Vectors have a known size: NEON on every Arm. What newer Highway versions have above AVX3, in the
// lowest 8 bits, would double the code, and AVX3 has all that is used (vector_ops.h).
#define HWY_DISABLED_TARGETS (0xFF | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Highway's fallbacks for machines without vectors: there the tuned code is the scalar code.
#define FL_NO_VECTORS (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
