// The code of the operations on batches ([batch] ops): what each draws for a sample, and how it mixes a row. It knows
// neither batches nor pipelines: the caller chooses the partners. Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/batch_operation.h"
#include "daemon/base/random.h"

namespace spdld::mixing {

// Pixels [left, right) of the rows [top, bottom).
struct Box {
  uint64_t left = 0, top = 0, right = 0, bottom = 0;
};

// How one sample is mixed with its partner.
struct Mix {
  double lam = 1;  // the part of the sample's own label
  Box box = {};    // of an operation that has boxes: the part of the picture that is the partner's
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual Mix draw(const Draws& draws) const = 0;
  // Mixes the partner's row of the operation's image `image` (by its place in `images`) into the sample's own row.
  virtual void mix(const Mix& mix, size_t image, uint8_t* own, const uint8_t* partner) const = 0;
};

struct Part {
  const config::BatchOperationSpec& spec;
  std::vector<config::Signature> images;  // the ends of spec.images
};
// Precondition: config/load.h has accepted the operation.
std::unique_ptr<Operation> make_operation(const Part& part);

}  // namespace spdld::mixing
