#include "daemon/pipeline/finisher.h"

#include <new>
#include <optional>

#include "daemon/base/system/memory_reserve.h"
#include "daemon/batch/contents.h"
#include "daemon/pipeline/mixer.h"
#include "daemon/pipeline/pipeline.h"

namespace spdld::pipeline {
namespace {

class OfPipeline final : public Finisher {
 public:
  OfPipeline(const config::PipelineSpec& spec, const batch::Layout& layout) : layout_(layout) {
    if (!spec.batch.ops.empty()) mixer_.emplace(spec, layout);
  }

  uint64_t bytes_of(const batch::Batch& batch) const override { return mixer_ ? mixer_->bytes_of(batch) : 0; }

  Status finish(const batch::Batch& batch, uint8_t* memory) override {
    if (mixer_) {
      const memory_reserve::Spared spared;
      mixer_->run(batch, memory);
    }
    return pack(batch, memory);
  }

 private:
  // Samples that pack() has moved can't be moved again, so pack() may use the daemon's reserve of memory, and is not
  // called twice.
  Status pack(const batch::Batch& batch, uint8_t* memory) const try {
    batch::close_gaps(layout_, batch.slot->contents, memory, batch.slice.count, batch.absent);
    batch::pack(layout_, batch.slot->contents, memory, batch.valid());
    return Done{};
  } catch (const std::bad_alloc&) {
    return Error{Trouble::kInternal, "there was no memory left to put a batch together"};
  }

  const batch::Layout layout_;
  std::optional<Mixer> mixer_;
};

}  // namespace

std::unique_ptr<Finisher> make_finisher(const Pipeline& pipeline, const batch::Layout& layout) {
  const bool may_have_gaps = pipeline.spec().drops_by() == config::OnDrop::kShorter;
  if (layout.varying().empty() && pipeline.spec().batch.ops.empty() && !may_have_gaps) return nullptr;
  return std::make_unique<OfPipeline>(pipeline.spec(), layout);
}

}  // namespace spdld::pipeline
