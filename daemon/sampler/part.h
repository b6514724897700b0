// Which samples belong to a part of a data set ([order] part), as a pure function of a seed and of texts: the samples'
// names, or the names of their groups. Each text has a place, drawn in [0, 2^64). Part i of n has the texts whose
// places lie in the i-th of n equal stretches, and a fraction has the texts at the places below it. So a sample's part
// depends on nothing but its own text and the seed: neither on other samples, nor on the listing's order, nor on lists.
//
// Within a class, samples may have places at even distances in the place of these, in the order of their draws. Then
// each part has its share of each class, to one sample, and a sample that is added or taken away moves at most one
// other sample of its class over each border between parts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::sampler {

// Constant; any thread.
class DatasetPart {
 public:
  explicit DatasetPart(const config::PartSpec& spec);  // spec.is_on()

  uint64_t place_of(std::string_view text) const;
  // The place of sample `number` of a class's `count` samples, in the order of place_of() their names; number < count.
  uint64_t even_place(uint64_t number, uint64_t count, std::string_view class_name) const;
  bool takes(uint64_t place) const;

 private:
  uint64_t seed_;
  bool rest_;
  uint64_t below_ = 0;       // of a fraction
  std::vector<bool> taken_;  // by number of the part; empty: a fraction
};

}  // namespace spdld::sampler
