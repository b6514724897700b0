// The least that libjpeg needs for a box: the floor beside which the decoder is measured. It handles no errors, and the
// colours at a box's edges differ a little from a whole decoding.
#pragma once

#include <memory>

#include "bench/decode/corpus.h"

namespace spdld::bench {

class BareDecoder {
 public:
  BareDecoder();
  ~BareDecoder();
  void decode(const Photo& photo, const Box& box);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::bench
