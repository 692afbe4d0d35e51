// Whether Pillow, which has the last word on every file, is certain to take a JPEG: then it need
// not be asked.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fl::jpeg {

// Empty: Pillow gives an image whatever the coded bits are, if libjpeg takes the header (and, of a
// file of several scans, all scans: those are always decoded whole). Else what is unusual.
//
// Pillow refuses a JPEG where its own parser of headers raises, where libjpeg meets a fatal error,
// or where the file ends while libjpeg wants more of it. Damaged coded bits are none of these:
// libjpeg stops reading at the next marker and goes on with zeros, till all rows are there. So
// behind a header that both parsers take, the scan's markers decide: the restart markers that are
// due, in turn, then the end marker, and nothing else.
std::string why_uncertain(std::span<const uint8_t> bytes);

}  // namespace fl::jpeg
