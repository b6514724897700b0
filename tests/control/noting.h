// An attachment that notes what it is told, and a ring to attach to.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <vector>

#include "daemon/control/service.h"
#include "daemon/memory/host/host_slot.h"
#include "tests/control/raw_client.h"

namespace spdld::test {

struct Notes {
  std::vector<delivery::LeaseId> released, kept;
  std::vector<sampler::Position> sought;
  std::vector<sampler::PushedSteps> pushed;
  int ended = 0;
  // Of the leases kept by DETACH, those given back since.
  size_t released_after_detach() const {
    return static_cast<size_t>(std::count_if(kept.begin(), kept.end(), [&](const delivery::LeaseId& lease) {
      return std::find(released.begin(), released.end(), lease) != released.end();
    }));
  }
};

class NotingAttachment final : public control::Attachment {
 public:
  explicit NotingAttachment(Notes& notes) : notes_(notes) {}
  ~NotingAttachment() override { notes_.ended++; }
  bool release(const delivery::LeaseId& lease, uint64_t, uint64_t) override {
    notes_.released.push_back(lease);
    return lease.generation != 99;
  }
  void dismiss(std::span<const delivery::LeaseId> keeps) override { notes_.kept.assign(keeps.begin(), keeps.end()); }
  bool holds_leases() const override { return notes_.kept.size() > notes_.released_after_detach(); }
  Status seek(const control::SeekRequest& seek) override {
    notes_.sought.push_back(seek.to);
    if (seek.to.step == 77) return Error{Trouble::kUsage, "there is no step 77"};
    return Done{};
  }
  Status push(const sampler::PushedSteps& steps) override {
    if (steps.last && steps.sizes.empty()) return Error{Trouble::kLimit, "no end here"};
    notes_.pushed.push_back(steps);
    return Done{};
  }

 private:
  Notes& notes_;
};

struct OneRing {
  memory::HostSlot memory{8192, memory::Access::kWritable};
  batch::Layout layout{{{"value", config::DType::kInt64, {}, 8, 0}}, 4, 1 << 20};
  control::AttachedInfo info() const {
    control::AttachedInfo info;
    info.pipeline = "p";
    info.slots = {memory.shared()};
    info.slot_bytes = 8192;
    info.layout = &layout;
    info.global_size = 4, info.samples = 40, info.steps_per_epoch = 10, info.epochs = 1;
    info.fingerprint = "f";
    return info;
  }
};

// Every attach gets an attachment that notes to `notes`. `reply` keeps the last one's reply, where it is given.
inline void attach_all(Served& served, const OneRing& ring, Notes& notes,
                       std::shared_ptr<control::AttachReply>* reply = nullptr) {
  served.service.on_attach = [&, reply](const control::Client&, const control::AttachRequest&,
                                        const std::shared_ptr<control::AttachReply>& to) {
    if (reply) *reply = to;
    to->attached(std::make_unique<NotingAttachment>(notes), ring.info());
  };
}

// Attaches, and gives the number of the attachment.
inline uint32_t attach(RawClient& client) {
  client.send_attach(1, "p");
  const auto heard = client.hear();
  REQUIRE(heard);
  const auto* attached = heard->message().body_as_Attached();
  REQUIRE(attached);
  return attached->attachment();
}

}  // namespace spdld::test
