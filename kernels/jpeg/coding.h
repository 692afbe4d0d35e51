// How a JPEG is coded, from its markers alone.
#pragma once

#include "jpeg/frame.h"

namespace fl::jpeg {

// What a conversion must know: whether a file can have a seek index, and if not, why.
enum class Coding {
  kBaseline,     // one sequential Huffman scan: it can have a seek index as it is
  kRestarts,     // the same with restart markers
  kScans,        // components in several sequential scans
  kProgressive,  // Huffman
  kArithmetic,   // sequential or progressive
  kOther,        // not a JPEG of 8 bits and 1 or 3 components, or not covered for another reason
};

// "baseline", "restart-marked", "multi-scan", "progressive", "arithmetic", "other".
const char* name(Coding coding);

// Looks at nothing behind the first scan's header, and decodes nothing.
Coding coding_of(Bytes bytes);

// The next marker's 0xFF from `at` on, behind coded bytes; the file's size if there is none.
// Restart markers belong to the coded bytes (T.81 B.1.1.5).
size_t end_of_scan(Bytes bytes, size_t at);

// Whether markers and coded bytes follow each other to the end-of-image marker, behind at least one
// scan. What is coded is not looked at. False for what is cut off.
bool reaches_end(Bytes bytes);

}  // namespace fl::jpeg
