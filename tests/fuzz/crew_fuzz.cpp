// What workers of a crew write into their rings and ring with their bells, while a crew has jobs for them: the input is
// a script of both sides. Each job has one outcome, and no memory stays.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/signature.h"
#include "daemon/base/system/log.h"
#include "daemon/memory/host/host_slot.h"
#include "daemon/user/crew.h"
#include "proto/crew/record.h"

namespace {

using namespace spdld;
namespace ring = proto::crew;

constexpr uint64_t kScratchBytes = 1 << 20;
constexpr size_t kJobsMax = 80;

void require(bool holds) {
  if (!holds) std::abort();
}

// The input, byte by byte; zeros behind its end.
class Script {
 public:
  Script(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  bool is_over() const { return at_ == end_; }
  uint8_t byte() { return is_over() ? 0 : *at_++; }
  uint64_t number() {  // mostly a small one, or one at a bound
    switch (const uint8_t way = byte(); way % 8) {
      case 0:
        return byte();
      case 1:
        return ScratchFileMin + byte();
      case 2:
        return kScratchBytes / 4 + byte() - 128u;
      case 3:
        return UINT64_MAX - byte();
      case 4:
        return uint64_t{byte()} << (byte() % 64);
      default:
        return way / 8;
    }
  }

 private:
  static constexpr uint64_t ScratchFileMin = 4096 - 4;
  const uint8_t *at_, *end_;
};

std::vector<pipeline::Errand> make_errands() {
  const auto errand = [](config::Signature takes, config::Signature gives, size_t from) {
    return pipeline::Errand{.executor = "user",
                            .output = "o",
                            .ops = {{"python", {{"call", std::string("f:g")}}, {}}},
                            .takes = std::move(takes),
                            .gives = std::move(gives),
                            .from = from,
                            .to = from + 1};
  };
  const auto numbers = [](std::vector<config::Dimension> dimensions) {
    config::Signature signature = config::tensor(config::DType::kInt64, {});
    signature.dimensions = std::move(dimensions);
    return signature;
  };
  std::vector<pipeline::Errand> all = {errand(config::Signature{}, config::Signature{}, 0),
                                       errand(config::Signature{}, numbers({2, 3}), 2),
                                       errand(numbers({4}), numbers({{}, 3, config::Dimension::bounded(5)}), 4)};
  all[1].ops[0].parameters["batch"] = int64_t{3};  // one that takes bunches
  return all;
}

const std::vector<pipeline::Errand>& errands() {
  static const std::vector<pipeline::Errand> all = make_errands();
  return all;
}

// Of records that all have 144 bytes, and of records that differ.
std::vector<pipeline::Making> make_makings() {
  const auto making = [](const char* values) {
    pipeline::Making one;
    one.executor = "user";
    one.ops = {{"python", {{"call", std::string("f:g")}}, {}}};
    one.values = config::value_types_in(values).value();
    return one;
  };
  std::vector<pipeline::Making> all = {making("a int64 []; b int64 [2]"), making("a bytes; b int64 [-1]; c bytes")};
  all[0].tensors = {0, std::nullopt};
  return all;
}

const std::vector<pipeline::Making>& makings() {
  static const std::vector<pipeline::Making> all = make_makings();
  return all;
}

// All jobs are of one passage each, which is told of its one outcome.
class Walker final : public pipeline::Passage::Walker {
 public:
  void on_wait(pipeline::Passage&) override {}
  bool is_wanted(const pipeline::Passage& passage) const override { return passage.sample >= wanted_from; }
  void on_outcome(pipeline::Passage& passage, pipeline::StageOutcome) override {
    const std::lock_guard lock(mutex_);
    require(++outcomes_[&passage] == 1);
    changed_.notify_all();
  }
  void await(size_t count) {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return outcomes_.size() == count; }));
  }

  std::atomic<uint64_t> wanted_from{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pipeline::Passage*, int> outcomes_;
};

class Worker {
 public:
  explicit Worker(std::vector<UniqueFd> descriptors) : bell_(std::move(descriptors.at(1))) {
    void* const start = mmap(nullptr, sizeof(ring::Ring), PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[0].get(), 0);
    require(start != MAP_FAILED);
    ring_ = static_cast<ring::Ring*>(start);
  }
  ~Worker() { munmap(ring_, sizeof(ring::Ring)); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void reply(Script& script) {
    ring::Reply reply;
    reply.number = script.number();
    if (reply.number == 0) reply.number = ++answered_;
    const uint8_t way = script.byte();
    reply.kind = static_cast<ring::ReplyKind>(way % 8 < 7 ? way / 8 % 6 : way);
    reply.text_bytes = static_cast<uint32_t>(script.number());
    reply.bytes = script.number();
    reply.shape.dimensions = static_cast<uint32_t>(script.number());
    for (size_t i = 0; i < 3; i++) reply.shape.sizes[i] = static_cast<int64_t>(script.number());
    reply.call_ns = script.number();
    for (uint64_t& ns : reply.operation_ns) ns = reply.call_ns / (1 + way % 3);
    const uint64_t written = ring_->replies.written;
    std::memcpy(&ring_->replies.entries[written % ring::kPlaces], &reply, sizeof reply);
    ring_->texts[written % ring::kPlaces][0] = static_cast<char>(way);
    ring_->replies.written = written + 1;
    wake();
  }
  // As a worker that does what it is to do.
  void obey() {
    const uint64_t number = ++answered_;
    begin(number);
    ring::Reply reply;
    reply.number = number;
    reply.bytes = 48;
    const uint64_t written = ring_->replies.written;
    std::memcpy(&ring_->replies.entries[written % ring::kPlaces], &reply, sizeof reply);
    ring_->replies.written = written + 1;
    wake();
  }
  void claim(uint64_t written) { ring_->replies.written = written, wake(); }
  void begin(uint64_t number) { ring_->begun[number % ring::kPlaces] = number; }
  // All calls that it ever had, each as one of several.
  void begin_all(uint8_t in_flight) {
    for (uint64_t number = 0; number < ring::kPlaces; number++)
      ring_->begun[number] = ring::begun_word(number, in_flight);
  }
  void wake(size_t times = 1) {
    for (size_t i = 0; i < times; i++) static_cast<void>(send(bell_.get(), "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

 private:
  UniqueFd bell_;
  ring::Ring* ring_;
  uint64_t answered_ = 0;
};

class Stage final : private user::Customer {
 public:
  Stage()
      : crew_({.pipeline = "p",
               .workers = 2,
               .call_limit_ns = 3'600'000'000'000,
               .scratch_bytes = kScratchBytes,
               .makings = {&makings().at(0), &makings().at(1)},
               .errands = {&errands().at(0), &errands().at(1), &errands().at(2)}},
              {.start =
                   [this](uint32_t number, std::vector<UniqueFd> descriptors) {
                     const std::lock_guard lock(mutex_);
                     workers_[number] = std::make_unique<Worker>(std::move(descriptors));
                   },
               .end = [this](uint32_t number) { kill(number); },
               .closed = [] {},
               .failed = [](const Error&) {}}) {}

  void play(Script& script) {
    while (!script.is_over()) step(script);
    walker_.wanted_from = UINT64_MAX;
    crew_.close();
    {
      const std::lock_guard lock(mutex_);
      workers_.clear();
    }
    crew_.drop_unwanted();
    walker_.await(passages_.size());
    passages_.clear();
    require(crew_.scratch().taken_bytes() == 0);
    require(crew_.waiting() == 0);
  }

 private:
  void on_done(const user::Job& job, Status status, user::ScratchPiece record) override {
    if (job.making != nullptr && status)
      for (size_t i = 0; i < job.making->values.size() + 1; i++)
        if (const auto value = ring::value_in(record.bytes(), job.making->values.size(), i))
          require(value->empty() || (value->data() >= record.bytes().data() &&
                                     value->data() + value->size() <= record.bytes().data() + record.bytes().size()));
    record = {};
    walker_.on_outcome(*job.passage, status ? pipeline::StageOutcome::kDone : pipeline::StageOutcome::kFailed);
  }
  void step(Script& script) {
    switch (script.byte() % 17) {
      case 0:
      case 1:
        return add(script.byte());
      case 2:
        if (crew_.is_closed()) crew_.open();
        return;
      case 3:
        return crew_.close();
      case 4:
        return crew_.note_end(script.byte() % 8, "died");
      case 5:
        return kill(script.byte() % 8);
      case 6:
        walker_.wanted_from = script.byte();
        return crew_.drop_unwanted();
      case 7:
        script.byte() % 4 == 0 ? crew_.fail({Trouble::kUsage, "no"}) : crew_.forget_failure();
        return;
      case 8:
        return with_worker(script, [&](Worker& one) { one.claim(script.number()); });
      case 9:
        return with_worker(script, [&](Worker& one) {
          script.byte() % 4 == 0 ? one.begin_all(script.byte()) : one.begin(script.number());
        });
      case 10:
        return with_worker(script, [&](Worker& one) { one.wake(script.byte()); });
      case 11:
      case 12:
        return with_worker(script, [](Worker& one) { one.obey(); });
      case 16:
        return crew_.end_lending(slot_);
      case 13:
        for (int i = script.byte() % 8; i > 0; i--) std::this_thread::yield();
        return;
      default:
        return with_worker(script, [&](Worker& one) { one.reply(script); });
    }
  }
  // Errand by errand, or several in one go.
  void add(uint8_t way) {
    if (passages_.size() == kJobsMax) return;
    passages_.push_back(std::make_unique<pipeline::Passage>());
    pipeline::Passage& passage = *passages_.back();
    passage.walker = &walker_;
    passage.sample = passages_.size();
    for (const pipeline::Errand& errand : errands()) {
      passage.carried.emplace_back(crew_.scratch(), errand.takes);
      passage.carried.emplace_back(crew_.scratch(), errand.gives);
    }
    passage.index = passages_.size() - 1;
    passage.layout = &layout_;
    passage.slot = slot_.fill_address();
    if (way & 32) passage.slot_memory = &slot_;
    if (way & 8) passage.carried[3].lie_at(layout_.sample_at(passage.slot, 1, passage.index));
    static const std::vector<const pipeline::Errand*> ways[] = {{&errands().at(0)},
                                                                {&errands().at(1)},
                                                                {&errands().at(2)},
                                                                {&errands().at(0), &errands().at(1), &errands().at(2)}};
    if (!passage.carried[0].open_bytes(way) || !passage.carried[2].open_bytes(5) ||
        !passage.carried[4].open(std::vector<int64_t>{4}))
      std::abort();
    static const std::vector<const pipeline::Errand*> made[] = {{&makings().at(0)}, {&makings().at(1)}};
    if (way & 16)
      crew_.add({.passage = &passage,
                 .errands = &made[way % 2],
                 .customer = this,
                 .making = &makings().at(way % 2),
                 .may_be_placed = way % 2 == 0});
    else
      crew_.add({.passage = &passage, .errands = &ways[way % 4], .customer = this});
  }
  void kill(uint32_t number) {
    const std::lock_guard lock(mutex_);
    workers_.erase(number);
  }
  template <typename Do>
  void with_worker(Script& script, const Do& act) {
    const std::lock_guard lock(mutex_);
    if (workers_.empty()) return;
    act(*std::next(workers_.begin(), script.byte() % static_cast<std::ptrdiff_t>(workers_.size()))->second);
  }

  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Worker>> workers_;
  Walker walker_;
  const batch::Layout layout_{
      {{.name = "a", .dtype = config::DType::kInt64, .sample_shape = {}, .sample_bytes = 8},
       {.name = "b", .dtype = config::DType::kInt64, .sample_shape = {2, 3}, .sample_bytes = 48}},
      kJobsMax,
      1 << 20};
  memory::HostSlot slot_{layout_.slot_bytes(), memory::Access::kWritable};
  std::vector<std::unique_ptr<pipeline::Passage>> passages_;
  user::Crew crew_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const bool is_quiet = [] {
    log::set_level("error");
    return true;
  }();
  Script script(bytes, size);
  if (is_quiet && size < 2000) std::make_unique<Stage>()->play(script);
  return 0;
}
