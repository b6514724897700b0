// The samples of a stream's steps. The orders of its pipeline's epochs decide them, or a mix of several sources, or the
// client, who pushes them. Owned by one stream, under its lock unless said otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/pipeline/order/orders.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/sampler/pushed.h"
#include "daemon/sampler/sharding.h"

namespace spdld::pipeline {

class Steps {
 public:
  struct Step {
    sampler::Position position;
    sampler::Slice slice;
    Orders::Found order;        // of its epoch, where the pipeline is plain
    std::vector<uint64_t> ids;  // of its samples, where they were pushed
  };
  struct Sample {
    uint64_t id = 0;
    uint64_t pass = 0;    // of its random draws
    uint32_t source = 0;  // of a mix
  };

  virtual ~Steps() = default;
  // Whether a step can be taken now: not after the last epoch, nor where the client has pushed no further step.
  virtual bool has_next() const = 0;
  virtual Step take_next() = 0;  // precondition: has_next()
  // Whether the step's samples can be asked for. If not, the reader given to make_steps() is told when to ask again.
  virtual bool can_read(Step& /*step*/) { return true; }
  // The samples of the step from `first` on, as many as `samples` has room for. Precondition here and for substitute():
  // can_read(step), and the samples are below slice.count. Both are for any thread, without the stream's lock.
  virtual void read(const Step& step, uint64_t first, std::span<Sample> samples) = 0;
  // The substitute for bad content, another sample; attempt from 1.
  virtual uint64_t substitute(const Step& step, uint64_t index, uint32_t attempt) = 0;
  virtual void go_to(sampler::Position place) = 0;
  // Adds steps to come. Refused whole, or taken whole; always refused where the order is not the client's.
  virtual Status push(const sampler::PushedSteps& steps) = 0;
  // awaits_order(): the reader must still be told. note_order(): it has been told.
  virtual bool awaits_order() const { return false; }
  virtual void note_order() {}
};

// The steps of a rank of the pipeline, from `start` on. `pipeline` and `reader` are borrowed.
std::unique_ptr<Steps> make_steps(Pipeline& pipeline, const sampler::Sharding& sharding, sampler::Position start,
                                  Orders::Reader& reader);

}  // namespace spdld::pipeline
