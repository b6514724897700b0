// What stands around the node's feeds under test: a stream that makes batches at once or when it is told to, memory
// that does as it is told, and a trainer. Everything runs on the test's own thread, and no clock is read.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/node/seats/feed.h"
#include "daemon/node/seats/fillers.h"
#include "daemon/node/seats/tap.h"

namespace spdld::test {

using node::Feed;
using sampler::Position;

// The number that a fake stream writes in each tensor of a sample.
inline int64_t number_of(uint64_t epoch, uint64_t in_epoch) { return static_cast<int64_t>(1000 * epoch + in_epoch); }

// Memory in this process that claims to be of any kind.
class FakeMemory final : public memory::SlotMemory {
 public:
  // What all slots of a ring do, as the test says.
  struct Rules {
    memory::MemoryKind kind = memory::MemoryKind::kHost;
    std::string gpu = {};
    bool has_room = true;         // of staging memory
    bool copies_fail = false;     // from now on
    bool publishes_fail = false;  // from now on
    std::optional<Error> trouble = {};
    std::vector<std::function<void()>> wait_for_room = {};
    std::vector<Published> held = {};  // publishes that wait, while `holds_publishes`
    bool holds_publishes = false;
    // Ends the first publish that waits. It lets go of its slot, as a copy to a GPU does.
    void answer(const Status& status) {
      const Published published = std::move(held.front());
      held.erase(held.begin());
      published(status);
    }
  };
  FakeMemory(std::shared_ptr<Rules> rules, uint64_t bytes) : rules_(std::move(rules)), bytes_(bytes) {}

  memory::MemoryKind kind() const override { return rules_->kind; }
  uint64_t bytes() const override { return bytes_.size(); }
  memory::Shared shared() const override {
    memory::Shared shared;
    shared.bytes = bytes_.size();
    return shared;
  }
  std::string gpu() const override { return rules_->gpu; }
  Result<bool> begin_fill(const std::function<void()>& room) override {
    if (!rules_->has_room) rules_->wait_for_room.push_back(room);
    return rules_->has_room;
  }
  uint8_t* fill_address() const override { return const_cast<uint8_t*>(bytes_.data()); }
  void copy(const SlotMemory& from, const Copies& copies, Published copied) override {
    for (const CopiedRange& range : copies.ranges)
      std::memcpy(&bytes_.at(range.to), from.fill_address() + range.from, range.bytes);
    for (const Literal& own : copies.literals) std::memcpy(&bytes_.at(own.to), own.bytes.data(), own.bytes.size());
    copied(rules_->copies_fail ? Status(Error{Trouble::kInternal, "the copy failed"}) : Status(Done{}));
  }
  void publish(std::span<const memory::Range>, Published published) override {
    if (rules_->holds_publishes) return rules_->held.push_back(std::move(published));
    published(rules_->publishes_fail ? Status(Error{Trouble::kInternal, "the GPU failed"}) : Status(Done{}));
  }
  void abandon() override {}
  std::optional<Error> trouble() const override { return rules_->trouble; }

 private:
  std::shared_ptr<Rules> rules_;
  std::vector<uint8_t> bytes_;
};

// A stream that makes its batches at once, or (while `holds`) when make() is called.
class FakeStream final : public pipeline::SeekableFiller {
 public:
  FakeStream(const node::StreamPlan& plan, pipeline::FillObserver& observer)
      : layout(plan.layout),
        samples_(plan.pipeline->samples()),
        epochs_(plan.pipeline->spec().order.epochs),
        sharding_(plan.sharding),
        observer_(observer),
        next(plan.start) {}

  bool copies() const override { return false; }
  bool wants_slot() override { return !stopped; }
  bool fill(batch::Slot& slot) override {
    if (stopped || (epochs_ && next.epoch >= epochs_)) return false;
    batch::Batch& batch = open.emplace_back();
    batch.slot = &slot, batch.run = run, batch.position = next, batch.slice = sharding_.slice(next);
    batch.fill_ns = 1000;
    next = sharding_.by_one_name({next.epoch, next.step + 1});
    if (!holds) make();
    return true;
  }
  // Makes the oldest batch that waits.
  void make() {
    batch::Batch batch = open.front();
    open.pop_front();
    for (size_t tensor = 0; tensor < layout.tensors().size(); tensor++)
      for (uint64_t i = 0; i < batch.slice.count; i++) {
        const int64_t number = number_of(batch.position.epoch, (batch.slice.first + i) % samples_);
        std::memcpy(layout.sample_at(batch.slot->memory->fill_address(), tensor, i), &number, sizeof(number));
      }
    batch.substituted = std::exchange(substituted, {});
    if (!batch.substituted.empty())
      batch.flaws.push_back({batch.substituted[0], batch::FlawKind::kDamaged, 7, "s", "bad"});
    observer_.on_batch(batch);
  }
  void fail(const Error& error) { observer_.on_failed(error); }
  Status push(const sampler::PushedSteps& steps) override {
    pushed += steps.sizes.size();
    return Done{};
  }
  void seek(uint32_t to_run, Position to) override {
    abandon();
    run = to_run, next = to;
    sought.push_back(to);
  }
  void stop() override {
    stopped = true;
    abandon();
    if (!holds_quiet) observer_.on_quiet();
  }
  void tick() override { ticks++; }

  const batch::Layout layout;

 private:
  void abandon() {
    for (const auto& batch : std::exchange(open, {})) observer_.on_abandoned(*batch.slot);
  }
  const uint64_t samples_, epochs_;
  const sampler::Sharding sharding_;
  pipeline::FillObserver& observer_;

 public:
  Position next;
  uint32_t run = 0;
  std::deque<batch::Batch> open = {};
  std::vector<Position> sought = {};
  std::vector<uint32_t> substituted = {};  // in the next batch that is made
  size_t pushed = 0, ticks = 0;
  bool holds = false, holds_quiet = false, stopped = false;
};

// The side of a client, behind its session: takes what it is sent, and gives back what it is told to.
class Trainer final : public control::AttachReply, public delivery::Reader {
 public:
  struct Held {
    delivery::LeaseId lease;
    Position position;
    uint32_t run = 0;
    std::vector<int64_t> numbers = {};
    std::vector<uint32_t> substituted = {};
  };

  void preparing(std::string_view, uint64_t, uint64_t) override {}
  void attached(std::unique_ptr<control::Attachment> given, const control::AttachedInfo& told) override {
    attachment = std::move(given);
    layout = *told.layout;
    info = told;
  }
  void refused(const Error& error) override { refusal = error; }
  delivery::Reader& reader() override { return *this; }
  void failed(const Error& error) override {
    failure = error;
    failures++;
    if (leaves_when_told) attachment.reset();
  }
  void seek_refused(uint32_t request, const Error& error) override {
    parted.push_back(request);
    parted_why = error.message;
  }
  bool client_gone() const override { return gone; }
  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) override {
    Held got{{batch.slot->index, generation}, batch.position, run};
    for (uint64_t i = 0; i < batch.slice.count; i++) {
      int64_t number = 0;
      std::memcpy(&number, layout.sample_at(batch.slot->memory->fill_address(), 0, i), sizeof(number));
      got.numbers.push_back(number);
    }
    got.substituted = batch.substituted;
    numbers.insert(numbers.end(), got.numbers.begin(), got.numbers.end());
    steps.push_back(batch.position.step);
    held.push_back(std::move(got));
  }

  // Gives back the oldest batch. False: there is none.
  bool give_back() {
    if (held.empty()) return false;
    const delivery::LeaseId lease = held.front().lease;
    held.pop_front();
    taken++;
    REQUIRE(attachment->release(lease, taken, 0));
    return true;
  }
  bool seek(uint32_t run, Position to, bool waits = true) {
    control::SeekRequest seek;
    seek.request = 100 + run, seek.run = run, seek.to = to, seek.waits = waits;
    seek.keeps.emplace();
    held.clear();
    return static_cast<bool>(attachment->seek(seek));
  }
  // DETACH: nothing of the ring is open any more.
  void detach() {
    held.clear();
    attachment->dismiss({});
    attachment.reset();
  }
  // The session ends, and the client has said nothing.
  void die() {
    held.clear();
    attachment.reset();
  }
  void forget() { steps.clear(), numbers.clear(); }

  batch::Layout layout;
  std::unique_ptr<control::Attachment> attachment;
  std::optional<control::AttachedInfo> info;
  std::optional<Error> refusal, failure;
  size_t failures = 0;
  std::vector<uint32_t> parted;
  std::string parted_why;
  std::deque<Held> held;
  std::vector<uint64_t> steps;   // of all batches
  std::vector<int64_t> numbers;  // of all samples
  uint64_t taken = 0;
  bool gone = false, leaves_when_told = false;
};

// A process as its pidfd shows it: readable once it has ended.
class FakeProcess {
 public:
  FakeProcess() {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    pidfd_ = std::make_shared<const UniqueFd>(ends[0]);
    lives_ = UniqueFd(ends[1]);
  }
  const std::shared_ptr<const UniqueFd>& pidfd() const { return pidfd_; }
  void end() { lives_ = UniqueFd(); }

 private:
  std::shared_ptr<const UniqueFd> pidfd_;
  UniqueFd lives_;
};

// A reader of a feed without any session, for feeds under test alone.
class PlainReader final : public node::FeedReader {
 public:
  void on_ready(const batch::Batch& batch, uint64_t generation, uint32_t run) override {
    held.push_back({{batch.slot->index, generation}, batch.position, run});
    steps.push_back(batch.position.step);
  }
  void on_failed(const Error& error) override {
    failure = error;
    if (when_told) when_told();
  }
  void on_seek_refused(uint32_t, const Error& error) override { parted_why = error.message; }
  bool has_gone() const override { return false; }

  std::deque<Trainer::Held> held;
  std::vector<uint64_t> steps;
  std::optional<Error> failure;
  std::string parted_why;
  std::function<void()> when_told;
};

}  // namespace spdld::test
