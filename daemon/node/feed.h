// One rank of one group on one pipeline: its ring, the stream that fills it, and the readers that empty it.
//
//   stream --on_batch--> ring --READY--> readers --RELEASE--> ring --free slot--> stream
//
// Control thread, but for the stream's news, which come on pool threads and are posted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/control/service.h"
#include "daemon/delivery/ring.h"
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
    size_t slots = 0;
    sampler::Position start;
  };

  // Throws SetupError where the slots can't be had.
  Feed(boost::asio::io_context& context, std::shared_ptr<pipeline::Pipeline> pipeline,
       const sampler::Sharding& sharding, const batch::Layout& layout, const Setting& setting);

  // A reader takes its seat; once all seats are taken, the stream begins.
  delivery::ReaderId join(uint32_t reader, const control::Client& client, std::shared_ptr<control::AttachReply> reply);
  // Its seat is free, and all its leases end but those named.
  void leave(delivery::ReaderId id, std::span<const delivery::LeaseId> keeps = {});
  bool release(delivery::ReaderId id, const delivery::LeaseId& lease, uint64_t taken, uint64_t waited_us);
  Status seek(uint32_t run, sampler::Position to);
  // Ends it; `quiet` is called on the control thread when nothing touches the slots any more.
  void stop(std::function<void()> quiet);
  void tick() { stream_.tick(); }

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
  uint64_t bytes() const { return layout_.slot_bytes() * setting_.slots; }
  const std::string& failure() const { return failure_; }
  control::AttachedInfo describe_to_client() const;

 private:
  void on_batch(const batch::Batch& batch) override;
  void on_abandoned(batch::Slot& slot) override;
  void on_failed(const Error& error) override;
  void on_quiet() override;
  void fill_free_slots();
  sampler::Position next_to_come() const;

  boost::asio::io_context& context_;
  const std::shared_ptr<pipeline::Pipeline> pipeline_;
  const sampler::Sharding sharding_;
  const batch::Layout layout_;
  const Setting setting_;
  delivery::Ring ring_;
  pipeline::Stream stream_;
  std::map<uint32_t, Seat> seats_;
  bool begun_ = false, stopping_ = false;
  std::string failure_;
  std::function<void()> quiet_;
};

}  // namespace spdld::node
