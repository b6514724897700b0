// One feed with fake readers, fake memory and a fake stream.
#pragma once

#include <memory>
#include <vector>

#include "tests/node/rig.h"

namespace spdld::test {

using delivery::ReaderId;

class FeedRig : public FakeFillers {
 public:
  explicit FeedRig(const Wanted& wanted = {}, uint32_t readers = 1, uint32_t slots = 6)
      : pipelines(wanted),
        sharding(pipelines.pipeline->samples(), pipelines.pipeline->spec().batch, 0, 1),
        layout(pipelines.pipeline->plan().tensors(), sharding.batch_size(), 1 << 20) {
    setting.key.group = "a";
    setting.readers = readers;
    slots_ = slots;
  }
  ~FeedRig() {
    if (!feed || feed->state() >= Feed::State::kStopping) return;
    for (const auto& [id, seat] : Feed::Seats(feed->seats())) feed->leave(id);
    feed->stop([] {});
    loop.run_ready();
  }

  Feed& open() {
    memory::SlotMemories memories;
    for (uint32_t i = 0; i < slots_; i++) memories.push_back(std::make_unique<FakeMemory>(rules, layout.slot_bytes()));
    feed = std::make_shared<Feed>(loop, pipelines.pipeline, sharding, layout, setting, std::move(memories), host_memory,
                                  fillers());
    return *feed;
  }
  ReaderId join(PlainReader& reader, uint32_t replica = 0) {
    const ReaderId id = feed->join({"a", replica, {}, &reader}, *feed->entry(control::Join::kNow, {}), {});
    feed->begin(id);
    loop.run_ready();
    return id;
  }
  bool give_back(ReaderId id, PlainReader& reader) {
    const auto lease = reader.held.front().lease;
    reader.held.pop_front();
    const bool is_there = feed->release(id, lease, ++taken_, 0);
    loop.run_ready();
    return is_there;
  }
  FakeStream& stream() { return *streams.back(); }

  memory::HostMemory host_memory{0};
  PipelineRig pipelines;
  EventLoop loop;
  sampler::Sharding sharding;
  batch::Layout layout;
  Feed::Setting setting;
  std::shared_ptr<FakeMemory::Rules> rules = std::make_shared<FakeMemory::Rules>();
  std::shared_ptr<Feed> feed;

 private:
  uint32_t slots_ = 6;
  uint64_t taken_ = 0;
};

}  // namespace spdld::test
