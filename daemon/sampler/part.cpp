#include "daemon/sampler/part.h"

#include <cmath>

#include "daemon/base/random.h"
#include "daemon/base/wide.h"

namespace spdld::sampler {

// The fraction is below 1, so that it has at most 53 bits below 2^64.
DatasetPart::DatasetPart(const config::PartSpec& spec) : seed_(spec.seed), rest_(spec.rest), taken_(spec.of, false) {
  for (const uint64_t index : spec.index) taken_[index] = true;
  if (taken_.empty()) below_ = static_cast<uint64_t>(std::ldexp(spec.fraction, 64));
}

// Version 1: the draw named "part" of (seed, epoch 0), whose sample is the text's 64 bits; of a class "part of class".
uint64_t DatasetPart::place_of(std::string_view text) const {
  return Draw(seed_, 0, draw_key(text), draw_key("part")).bits64();
}

uint64_t DatasetPart::even_place(uint64_t number, uint64_t count, std::string_view class_name) const {
  const uint64_t start = Draw(seed_, 0, draw_key(class_name), draw_key("part of class")).bits64();
  return static_cast<uint64_t>(((Wide{number} << 64) + start) / count);
}

bool DatasetPart::takes(uint64_t place) const {
  const bool is_inside =
      taken_.empty() ? place < below_ : taken_[static_cast<uint64_t>((Wide{place} * taken_.size()) >> 64)];
  return is_inside != rest_;
}

}  // namespace spdld::sampler
