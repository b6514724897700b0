// An executor that no room knows, with operations of its own, for tests alone: some threads that turn bytes round and
// tensors over. A chain with its operations is in segments.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/pipeline/delegate.h"
#include "daemon/pipeline/pipeline.h"

namespace spdld::test {

// Bytes, or a tensor, as an operation of the workshop takes and gives it.
struct Piece {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape = {};
};

inline std::string keep(const config::OperationSpec&, config::Signature&) { return ""; }
inline std::string cut(const config::OperationSpec&, config::Signature& signature) {
  if (signature.dimensions.size() != 3) return "takes a picture";
  signature = config::tensor(config::DType::kUint8, {4, 4, 3}, config::Layout::kNhwc);
  return "";
}
inline std::string count(const config::OperationSpec&, config::Signature& signature) {
  signature = config::tensor(config::DType::kInt64, {});
  return "";
}

// Adds the operations to the catalogue, once in a process:
//   reverse   bytes, from the last one to the first
//   negate    a tensor of bytes, each value x as 255 - x
//   cut       a picture of any size: the four by four pixels in its upper left corner
//   transpose a picture, which says that its height is its width
//   double    int64 numbers, each twice as large
//   count     int64 []: how many numbers there are along the first dimension
inline void open_workshop() {
  using config::SignatureKind;
  static const bool is_open = [] {
    const auto add = [](std::string_view name, SignatureKind takes, SignatureKind gives, auto* bind) {
      config::add_operation({.name = name,
                             .takes = takes,
                             .gives = gives,
                             .help = "",
                             .parameters = {},
                             .bind = bind,
                             .executor = "workshop"});
    };
    add("reverse", SignatureKind::kBytes, SignatureKind::kBytes, keep);
    add("negate", SignatureKind::kTensor, SignatureKind::kTensor, keep);
    add("cut", SignatureKind::kTensor, SignatureKind::kTensor, cut);
    add("transpose", SignatureKind::kTensor, SignatureKind::kTensor, keep);
    add("double", SignatureKind::kTensor, SignatureKind::kTensor, keep);
    add("count", SignatureKind::kTensor, SignatureKind::kTensor, count);
    return true;
  }();
  static_cast<void>(is_open);
}

inline void work_on(Piece& piece, std::string_view op) {
  const auto numbers = [&] {
    std::vector<int64_t> all(piece.bytes.size() / sizeof(int64_t));
    if (!all.empty()) std::memcpy(all.data(), piece.bytes.data(), piece.bytes.size());
    return all;
  };
  const auto write = [&](const std::vector<int64_t>& all) {
    const auto* const first = reinterpret_cast<const uint8_t*>(all.data());
    piece.bytes.assign(first, first + all.size() * sizeof(int64_t));
  };
  if (op == "reverse") std::reverse(piece.bytes.begin(), piece.bytes.end());
  if (op == "negate")
    for (uint8_t& byte : piece.bytes) byte = static_cast<uint8_t>(255 - byte);
  if (op == "cut") {
    std::vector<uint8_t> corner;
    for (int row = 0; row < 4; row++) {
      const auto first = piece.bytes.begin() + row * piece.shape[1] * 3;
      corner.insert(corner.end(), first, first + 12);
    }
    piece = {std::move(corner), {4, 4, 3}};
  }
  if (op == "transpose") std::swap(piece.shape[0], piece.shape[1]);
  if (op == "double") {
    std::vector<int64_t> all = numbers();
    for (int64_t& number : all) number *= 2;
    write(all);
  }
  if (op == "count") {
    write({piece.shape.front()});
    piece.shape.clear();
  }
}

inline Status do_errand(const pipeline::Errand& errand, std::vector<media::Carried>& all) {
  media::Carried &from = all[errand.from], &to = all[errand.to];
  Piece piece{{from.memory(), from.memory() + from.bytes()}, {from.shape().begin(), from.shape().end()}};
  if (from.bytes() > 0) std::memset(from.memory(), 0xa5, from.bytes());  // it is the errand's own to change
  for (const config::OperationSpec& op : errand.ops) work_on(piece, op.op);
  const bool is_bytes = errand.gives.kind() == config::SignatureKind::kBytes;
  const Result<uint8_t*> room = is_bytes ? to.open_bytes(piece.bytes.size()) : to.open(piece.shape);
  if (!room) return room.error();
  if (!piece.bytes.empty()) std::memcpy(*room, piece.bytes.data(), piece.bytes.size());
  return Done{};
}

// Scratch memory that counts the pieces which it gives out, and refuses a piece where `most` of them are out already.
class CountedScratch final : public media::ScratchMemory {
 public:
  explicit CountedScratch(size_t most = SIZE_MAX) : most_(most) {}
  ~CountedScratch() override {
    if (taken_ != 0) std::abort();  // somebody has kept a piece
  }
  uint8_t* take(uint64_t bytes) override {
    if (++taken_ > most_) {
      --taken_;
      refused_++;
      return nullptr;
    }
    given_++;
    return static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  void give_back(uint8_t* memory, uint64_t) override {
    std::free(memory);
    --taken_;
  }
  size_t taken() const { return taken_; }
  size_t given() const { return given_; }      // so far
  size_t refused() const { return refused_; }  // so far

 private:
  const size_t most_;
  std::atomic<size_t> taken_{0}, given_{0}, refused_{0};
};

class Workshop {
 public:
  // The trouble that the work on a sample has this time; a text that is empty: none.
  using Fails = std::function<Error(uint64_t sample)>;

  explicit Workshop(unsigned threads, size_t pieces_max = SIZE_MAX, Fails fails = {})
      : scratch_(pieces_max), fails_(std::move(fails)) {
    open_workshop();
    for (unsigned i = 0; i < threads; i++) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  ~Workshop() {
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  CountedScratch& scratch() { return scratch_; }
  pipeline::DelegateMakers delegates() {
    return {{"workshop", [this](const pipeline::Pipeline&) { return std::make_unique<Own>(*this); }}};
  }

 private:
  struct Job {
    pipeline::Passage* passage;
    const std::vector<const pipeline::Errand*>* errands;
    std::function<void(bool fails)> done;
  };

  class WorkStage final : public pipeline::Stage {
   public:
    WorkStage(Workshop& workshop, std::vector<const pipeline::Errand*> errands)
        : Stage({.name = errands.front()->turn == 1 ? "work" : "work-" + std::to_string(errands.front()->turn),
                 .work = "Working",
                 .at = "by",
                 .lane = "worker",
                 .faulty = "the workshop"}),
          workshop_(workshop),
          errands_(std::move(errands)) {}

    pipeline::StageOutcome start(pipeline::Passage& passage, pipeline::Caller&) override {
      passage.walker->on_wait(passage);
      workshop_.add({&passage, &errands_, [this, since_ns = monotonic_ns()](bool fails) {
                       statistics_.duration_ns.record(monotonic_ns() - since_ns);
                       (fails ? statistics_.failures : statistics_.samples).add();
                     }});
      return pipeline::StageOutcome::kUnderWay;
    }
    bool tries_again_here() const override { return true; }
    uint64_t busy_ns() const override { return statistics_.duration_ns.sum(); }
    unsigned concurrency() const override { return static_cast<unsigned>(workshop_.threads_.size()); }

   private:
    Workshop& workshop_;
    const std::vector<const pipeline::Errand*> errands_;
  };

  class Own final : public pipeline::Delegate {
   public:
    explicit Own(Workshop& workshop) : workshop_(workshop) {}
    media::ScratchMemory& scratch() override { return workshop_.scratch_; }
    std::unique_ptr<pipeline::Stage> make_stage(std::vector<const pipeline::Errand*> errands) override {
      return std::make_unique<WorkStage>(workshop_, std::move(errands));
    }

   private:
    Workshop& workshop_;
  };

  void add(Job job) {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }

  Status run(const Job& job) const {
    if (fails_)
      if (Error error = fails_(job.passage->sample); !error.message.empty()) return error;
    for (const pipeline::Errand* errand : *job.errands)
      if (Status done = do_errand(*errand, job.passage->carried); !done) return done;
    return Done{};
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      Status status = run(job);
      const bool fails = !status;
      job.done(fails);
      if (fails) job.passage->error = std::move(status.error());
      job.passage->walker->on_outcome(*job.passage,
                                      fails ? pipeline::StageOutcome::kFailed : pipeline::StageOutcome::kDone);
      lock.lock();
    }
  }

  CountedScratch scratch_;
  const Fails fails_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_;
  std::vector<std::jthread> threads_;
};

}  // namespace spdld::test
