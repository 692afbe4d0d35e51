// Which Highway targets the tuned code is built for. Include before any Highway header.
#pragma once

// Blocks of 16 bytes are addressed, so only targets whose vectors have a known size; such Arm
// machines use NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Highway's fallbacks for machines without vectors: there the tuned code is the scalar code.
#define FL_NO_VECTORS (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
