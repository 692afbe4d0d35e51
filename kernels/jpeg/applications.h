// Segments of applications as Pillow's own parser reads them: some that libjpeg passes over make it
// refuse the file.
#pragma once

#include <cstdint>
#include <span>

namespace fl::jpeg {

class Applications {
 public:
  // content: of an APPn segment, behind its length. False: whether Pillow takes it, only Pillow can
  // say.
  bool take(uint32_t marker, std::span<const uint8_t> content);

 private:
  bool exif_ = false, index_ = false;  // there was one already
};

}  // namespace fl::jpeg
