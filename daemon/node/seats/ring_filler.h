// The filler of a feed's ring is at any time either a stream, or a Tap. When a Tap has ended, a stream takes its place.
// Control thread.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "daemon/node/seats/tap.h"
#include "daemon/pipeline/filler.h"

namespace spdld::node {

class RingFiller {
 public:
  using StreamOwner = std::unique_ptr<pipeline::SeekableFiller>;
  using TapOwner = std::unique_ptr<Tap>;

  // Precondition: there is one.
  explicit RingFiller(StreamOwner stream) : filler_(std::move(stream)) {}
  explicit RingFiller(TapOwner tap) : filler_(std::move(tap)) {}
  // Precondition: the filler until now is quiet.
  void replace_by(StreamOwner stream) { filler_ = std::move(stream); }

  pipeline::Filler* operator->() const {
    return std::visit([](const auto& filler) -> pipeline::Filler* { return filler.get(); }, filler_);
  }
  // The stream, where one fills the ring; else null.
  pipeline::SeekableFiller* stream() const {
    const auto* const stream = std::get_if<StreamOwner>(&filler_);
    return stream == nullptr ? nullptr : stream->get();
  }
  // The Tap, where one fills the ring; else null.
  Tap* tap() const {
    const auto* const tap = std::get_if<TapOwner>(&filler_);
    return tap == nullptr ? nullptr : tap->get();
  }

 private:
  std::variant<StreamOwner, TapOwner> filler_;
};

}  // namespace spdld::node
