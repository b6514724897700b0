// The process of a crew and its workers, for tests alone, as threads of the test: a crew that a test scripts. It reads
// and writes the rings as workers do.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/control/crew.h"
#include "proto/crew/ring.h"

namespace spdld::test {

// A memfd that is mapped as a whole.
class Mapped {
 public:
  explicit Mapped(int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0) throw std::runtime_error("no memory to map");
    bytes_ = static_cast<size_t>(status.st_size);
    memory_ = static_cast<uint8_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (memory_ == MAP_FAILED) throw std::runtime_error("memory can't be mapped");
  }
  ~Mapped() { munmap(memory_, bytes_); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  uint8_t* at(uint64_t offset) const { return memory_ + offset; }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* memory_ = nullptr;
  size_t bytes_ = 0;
};

// What a function makes of a task, on a worker's thread.
struct Made {
  enum class Way : uint8_t {
    kGives,   // bytes, with the shape that they have
    kBad,     // `text`
    kDies,    // the worker ends
    kHangs,   // until it is told to end
    kSays,    // `reply` as it is; where it asks for room, `with_room` is what it does with it
    kClaims,  // to have written more replies than there are places for
    kRings    // its bell, until it is told to end
  };
  Way way = Way::kGives;
  std::vector<uint8_t> bytes = {};
  std::vector<int64_t> shape = {};
  std::string text = {};
  proto::crew::Reply reply = {};
  Way with_room = Way::kHangs;  // or kDies, or kSays: it asks again
};
using CrewFunction = std::function<Made(const proto::crew::Task& task, std::vector<uint8_t> input)>;

class WorkerThread {
 public:
  // `on_death`: called on the worker's thread once it is gone by itself.
  WorkerThread(int scratch_fd, std::vector<UniqueFd> descriptors, const CrewFunction& function,
               std::function<void()> on_death, bool dies_at_start)
      : scratch_(scratch_fd),
        ring_file_(descriptors.at(0).get()),
        bell_(std::move(descriptors.at(1))),
        function_(function),
        on_death_(std::move(on_death)),
        dies_at_start_(dies_at_start),
        thread_([this] { work(); }) {}
  ~WorkerThread() { end(); }
  // As SIGKILL does. Returns once it is gone.
  void end() {
    ended_ = true;
    ended_.notify_all();
    shutdown(bell_.get(), SHUT_RD);
    if (thread_.joinable()) thread_.join();
  }

 private:
  proto::crew::Ring& ring() { return *reinterpret_cast<proto::crew::Ring*>(ring_file_.at(0)); }

  void work() {
    proto::crew::LaneReader<proto::crew::Task> tasks(ring().tasks);
    proto::crew::LaneWriter<proto::crew::Reply> replies(ring().replies, bell_.get());
    while (!ended_ && !dies_at_start_) {
      proto::crew::Task task;
      if (tasks.take(task) != proto::crew::Taken::kEntry) {
        if (!tasks.begin_sleep()) continue;
        std::array<char, 64> rings;
        if (recv(bell_.get(), rings.data(), rings.size(), 0) <= 0) break;
        tasks.end_sleep();
      } else if (!run(task, replies)) {
        break;
      }
    }
    shutdown(bell_.get(), SHUT_RDWR);  // as if it were closed
    if (!ended_) on_death_();
  }

  // False: the worker ends.
  bool run(const proto::crew::Task& task, proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    using proto::crew::TaskKind;
    if (task.kind == TaskKind::kRoom) {
      if (const auto at = liars_.find(task.number); at != liars_.end())
        return at->second == Made::Way::kSays ? ask_again(task, replies) : do_nothing(at->second);
      give(task.number, task.room, kept_.at(task.number), replies);
      kept_.erase(task.number);
      return true;
    }
    if (task.kind == TaskKind::kDrop) return kept_.erase(task.number) + liars_.erase(task.number) == 1;
    ring().begun = task.number;
    const uint8_t* const input = scratch_.at(task.input.offset);
    Made made = function_(task, {input, input + task.input.bytes});
    std::memset(scratch_.at(task.input.offset), 0xa5, task.input.bytes);  // it is the worker's own to change
    if (made.way == Made::Way::kDies) return false;
    if (made.way == Made::Way::kHangs) return do_nothing(made.way);
    if (made.way == Made::Way::kClaims) {
      ring().replies.written += 1000;
      return do_nothing(Made::Way::kHangs);
    }
    if (made.way == Made::Way::kRings) {
      while (!ended_ && send(bell_.get(), "!", 1, MSG_NOSIGNAL) > 0) {
      }
      return false;
    }
    if (made.way == Made::Way::kSays) {
      if (made.reply.kind == proto::crew::ReplyKind::kNeedsRoom) liars_[task.number] = made.with_room;
      replies.put(made.reply);
      replies.tell();
    } else if (made.way == Made::Way::kBad) {
      std::memcpy(ring().texts[replies.place()], made.text.data(), made.text.size());
      proto::crew::Reply reply;
      reply.number = task.number, reply.kind = proto::crew::ReplyKind::kBad;
      reply.text_bytes = static_cast<uint32_t>(made.text.size());
      replies.put(reply);
      replies.tell();
    } else {
      give(task.number, task.room, std::move(made), replies);
    }
    return true;
  }

  static bool ask_again(const proto::crew::Task& task, proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    proto::crew::Reply reply;
    reply.number = task.number, reply.kind = proto::crew::ReplyKind::kNeedsRoom, reply.bytes = task.room.bytes + 1;
    replies.put(reply);
    replies.tell();
    return true;
  }

  // Until it is told to end, or, where the way is kDies, not even that.
  bool do_nothing(Made::Way way) {
    if (way == Made::Way::kHangs) ended_.wait(false);
    return false;
  }

  void give(uint64_t number, const proto::crew::Extent& room, Made made,
            proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    proto::crew::Reply reply;
    reply.number = number, reply.bytes = made.bytes.size(), reply.call_ns = 1000;
    reply.shape.dimensions = static_cast<uint32_t>(made.shape.size());
    std::copy(made.shape.begin(), made.shape.end(), reply.shape.sizes);
    if (made.bytes.size() <= room.bytes) {
      if (!made.bytes.empty()) std::memcpy(scratch_.at(room.offset), made.bytes.data(), made.bytes.size());
    } else {
      reply.kind = proto::crew::ReplyKind::kNeedsRoom;
      kept_[number] = std::move(made);
    }
    replies.put(reply);
    replies.tell();
  }

  Mapped scratch_;  // of its own, as a process has it
  Mapped ring_file_;
  UniqueFd bell_;
  const CrewFunction& function_;
  const std::function<void()> on_death_;
  const bool dies_at_start_;
  std::map<uint64_t, Made> kept_;
  std::map<uint64_t, Made::Way> liars_;  // calls for which it asked for room, and what it does with it
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Control thread, as the room that it stands for. `on_end` is called with the number of a worker that is gone, on any
// thread.
class CrewProcess final : public control::CrewReply {
 public:
  CrewProcess(CrewFunction function, std::function<void(uint32_t)> on_end)
      : function_(std::move(function)), on_end_(std::move(on_end)) {}

  void joined(const control::CrewWork& work) override {
    errands = work.errands;
    scratch_fd_.reset(dup(work.scratch_fd));
  }
  void start_worker(uint32_t worker, std::vector<UniqueFd> descriptors) override {
    started++;
    workers_.emplace(worker, std::make_unique<WorkerThread>(
                                 scratch_fd_.get(), std::move(descriptors), function_,
                                 [this, worker] { on_end_(worker); }, dies_at_start));
  }
  void end_worker(uint32_t worker) override {
    if (clings) return;
    workers_.erase(worker);
    on_end_(worker);
  }
  void end(std::string_view why) override {
    ended = why;
    if (!clings) workers_.clear();
  }
  // All workers end, as when the process is killed.
  void die() { workers_.clear(); }

  std::string errands, ended;
  size_t started = 0;          // workers
  bool clings = false;         // its workers do not end when they are told to
  bool dies_at_start = false;  // each worker that is started from now on

 private:
  const CrewFunction function_;
  const std::function<void(uint32_t)> on_end_;
  UniqueFd scratch_fd_;
  std::map<uint32_t, std::unique_ptr<WorkerThread>> workers_;
};

}  // namespace spdld::test
