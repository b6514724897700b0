// Notes of a decode thread on a sample that is good all the same. One thread.
#pragma once

#include <cstddef>

#include "daemon/media/decode_limits.h"

namespace spdld::media {

class SampleNotes {
 public:
  explicit SampleNotes(const DecodeLimits&) {}
  void shrink(size_t) {}

  bool is_trimmed = false;  // a tag, or the packet within which the file was cut, was left out of its sound
};

}  // namespace spdld::media
