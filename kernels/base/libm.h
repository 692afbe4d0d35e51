// Functions whose last bit is not the same in every C library, as the library of this process has
// them: Python's math and Pillow call those. A compiler may link functions of its own into a module
// (Zig does), so these are looked up when they are first called.
#pragma once

namespace fl::libm {

double cos(double x) noexcept;
double exp(double x) noexcept;
double sin(double x) noexcept;
double tan(double x) noexcept;

}  // namespace fl::libm
