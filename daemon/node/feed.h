// One rank of one group on one pipeline: its ring, the stream that fills it, and the readers that empty it.
//
//   stream --on_batch--> publish --> ring --READY--> readers --RELEASE--> ring --free slot--> begin_fill --> stream
//
// Between stream and ring a batch is published: at once in host memory, by a copy on a GPU.
// Control thread, but for the news of streams and slots, which come on other threads and are posted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/control/service.h"
#include "daemon/delivery/ring.h"
#include "daemon/memory/host/host_memory.h"
#include "daemon/pipeline/stream.h"

namespace spdld::node {

struct FeedKey {
  uid_t uid = 0;
  std::string group;
  uint32_t rank = 0;
  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

class Feed final : public pipeline::StreamObserver, public std::enable_shared_from_this<Feed> {
 public:
  struct Setting {
    FeedKey key;
    uint32_t world_size = 1, readers = 1;
    sampler::Position start;
    memory::GpuUuid gpu = {};  // of slots on a GPU
    bool ready_early = false;
  };

  // `memories`: one a slot, at least one, all of a kind; those of the host go back to where they came from.
  Feed(boost::asio::io_context& context, std::shared_ptr<pipeline::Pipeline> pipeline,
       const sampler::Sharding& sharding, const batch::Layout& layout, const Setting& setting,
       memory::SlotMemories memories, memory::HostMemory& host_memory);
  ~Feed();

  // A reader takes its seat; once all seats are taken, the stream begins.
  delivery::ReaderId join(uint32_t reader, const control::Client& client, std::shared_ptr<control::AttachReply> reply);
  // Its seat is free, and all its leases end but those named.
  void leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps = {});
  // Its seat is free, and all its leases stay until leave().
  void vacate(delivery::ReaderId id);
  bool release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us);
  Status seek(uint32_t run, sampler::Position to);
  Status push(const sampler::PushedSteps& steps);
  // A reader has gone without saying that nothing of the slots is open there any more.
  void note_unclosed() { closed_ = false; }
  // Ends it; `quiet` is called on the control thread when nothing touches the slots any more.
  void stop(std::function<void()> quiet);
  // At most this many batches are being filled or lie ready; Ring::set_depth() says it exactly. At first: depth_max().
  void set_depth(uint32_t depth);
  uint32_t depth() const { return ring_.depth(); }
  uint32_t depth_max() const { return depth_max_; }
  uint32_t take_ready_low() { return ring_.take_ready_low(); }
  void tick();
  // Tells every reader, and fills nothing any more.
  void give_up(const Error& error);

  struct Seat {
    control::Client client;
    std::shared_ptr<control::AttachReply> reply;
    delivery::ReaderId id = 0;
  };
  const Setting& setting() const { return setting_; }
  const std::map<uint32_t, Seat>& seats() const { return seats_; }
  const delivery::Ring& ring() const { return ring_; }
  const batch::Layout& layout() const { return layout_; }
  const sampler::Sharding& sharding() const { return sharding_; }
  const pipeline::Pipeline& pipeline() const { return *pipeline_; }
  const std::shared_ptr<pipeline::Pipeline>& shared_pipeline() const { return pipeline_; }
  memory::Kind kind() const { return ring_.slots().front().memory->kind(); }
  std::string gpu() const;  // its UUID as text; empty for host memory
  uint64_t host_bytes() const { return memory::on_gpu(kind()) ? 0 : slot_bytes(); }
  uint64_t device_bytes() const { return memory::on_gpu(kind()) ? slot_bytes() : 0; }
  const std::string& failure() const { return failure_; }
  control::AttachedInfo describe_to_client() const;

 private:
  void on_batch(const batch::Batch& batch) override;
  void on_abandoned(batch::Slot& slot) override;
  void on_failed(const Error& error) override;
  void on_quiet() override;
  void on_wanting() override;
  void fill_free_slots();
  bool begin_fill(batch::Slot& slot);
  uint64_t slot_bytes() const { return layout_.slot_bytes() * ring_.slots().size(); }
  sampler::Position next_to_come() const;

  boost::asio::io_context& context_;
  memory::HostMemory& host_memory_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const sampler::Sharding sharding_;
  const batch::Layout layout_;
  const Setting setting_;
  const uint32_t depth_max_, held_max_;  // a ring's slots
  delivery::Ring ring_;
  pipeline::Stream stream_;
  std::map<uint32_t, Seat> seats_;
  bool begun_ = false, stopping_ = false;
  bool waits_for_room_ = false;  // of staging memory
  bool closed_ = true;           // the slots, by all readers that have gone
  std::string failure_;
  std::function<void()> quiet_;
};

}  // namespace spdld::node
