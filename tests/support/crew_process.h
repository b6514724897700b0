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
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/control/crew.h"
#include "proto/crew/record.h"
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
    kGives,    // bytes, with the shape that they have
    kBad,      // `text`
    kDies,     // the worker ends
    kHangs,    // until it is told to end
    kSays,     // `reply` as it is; where it asks for room, `with_room` is what it does with it
    kClaims,   // to have written more replies than there are places for
    kAgain,    // it is to be called again alone
    kNothing,  // and the worker goes on
    kRings,    // its bell, until it is told to end
    kTears     // half of the bytes, where the result is to lie, and then does as `with_room` says
  };
  Way way = Way::kGives;
  std::vector<uint8_t> bytes = {};
  std::vector<int64_t> shape = {};
  std::string text = {};
  proto::crew::Reply reply = {};
  Way with_room = Way::kHangs;                    // or kDies, or kSays: it asks again
  uint64_t call_ns = 1000;                        // of what it gives
  std::vector<std::vector<uint8_t>> values = {};  // of a record, which `bytes` are where all lie there
};
using CrewFunction = std::function<Made(const proto::crew::Task& task, std::vector<uint8_t> input)>;

// How a worker makes bunches of the tasks that it has in hand. All replies to a bunch come at once.
struct Bunches {
  size_t most = 0;         // tasks of a bunch; 0: it makes none
  uint32_t in_flight = 0;  // as it says of each call that it begins
  // The way of the whole bunch, before anything is made of it: kDies, kHangs, kAgain, or kGives, where its samples are
  // made one behind the other.
  std::function<Made::Way(const std::vector<proto::crew::Task>&)> begun = {};
};

inline std::vector<uint8_t> record_of(const std::vector<std::vector<uint8_t>>& values) {
  std::vector<uint64_t> sizes;
  for (const auto& value : values) sizes.push_back(value.size());
  const size_t rest = values.empty() ? 0 : values.size() - 1;
  std::vector<uint8_t> record(proto::crew::value_offset(std::span(sizes).first(rest), sizes.size()) +
                              (values.empty() ? 0 : sizes.back()));
  for (size_t i = 0; i < values.size(); i++) {
    std::memcpy(record.data() + i * sizeof(uint64_t), &sizes[i], sizeof(uint64_t));
    const uint64_t at = proto::crew::value_offset(std::span(sizes).first(i), sizes.size());
    if (sizes[i] > 0) std::memcpy(record.data() + at, values[i].data(), sizes[i]);
  }
  return record;
}

// What the workers of a crew do with slots, and what they have of them.
struct SlotUse {
  std::atomic<bool> refuses{false};  // to map them
  std::atomic<int> mapped{0}, given{0}, written{0};
};

class WorkerThread {
 public:
  // `on_death`: called on the worker's thread once it is gone by itself.
  WorkerThread(int scratch_fd, std::vector<UniqueFd> descriptors, const CrewFunction& function, const Bunches& bunches,
               std::function<void()> on_death, bool dies_at_start, SlotUse& use)
      : scratch_(scratch_fd),
        ring_file_(descriptors.at(0).get()),
        bell_(std::move(descriptors.at(1))),
        function_(function),
        bunches_(bunches),
        on_death_(std::move(on_death)),
        dies_at_start_(dies_at_start),
        use_(use),
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
      if (!next(tasks, task)) {
        if (!tasks.begin_sleep()) continue;
        if (!hear_bell(0)) break;
        tasks.end_sleep();
      } else if (!run_bunch(task, tasks, replies)) {
        break;
      }
    }
    use_.mapped -= static_cast<int>(slots_.size());
    slots_.clear();
    shutdown(bell_.get(), SHUT_RDWR);  // as if it were closed
    if (!ended_) on_death_();
  }

  bool next(proto::crew::LaneReader<proto::crew::Task>& tasks, proto::crew::Task& task) {
    if (apart_.empty()) return tasks.take(task) == proto::crew::Taken::kEntry;
    task = apart_.front();
    apart_.pop_front();
    return true;
  }

  // False: the worker ends.
  bool run_bunch(const proto::crew::Task& first, proto::crew::LaneReader<proto::crew::Task>& tasks,
                 proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    using proto::crew::TaskKind;
    if (bunches_.most == 0 || first.kind != TaskKind::kCall) {
      if (first.kind == TaskKind::kCall && !lacks_slot(first)) begin(first);
      const bool goes_on = run(first, replies);
      tell(replies);
      return goes_on;
    }
    std::vector<proto::crew::Task> bunch = {first};
    std::deque<proto::crew::Task> others;
    proto::crew::Task task;
    while (first.is_alone == 0 && bunch.size() < bunches_.most && next(tasks, task)) {
      const bool fits = task.kind == TaskKind::kCall && task.errand == first.errand && task.is_alone == 0;
      if (fits)
        bunch.push_back(task);
      else if (task.kind == TaskKind::kCall)
        others.push_back(task);
      else if (!run(task, replies))
        return false;
    }
    apart_.insert(apart_.begin(), others.begin(), others.end());
    for (const proto::crew::Task& one : bunch)
      if (lacks_slot(one)) run(one, replies);
    std::erase_if(bunch, [&](const proto::crew::Task& one) { return lacks_slot(one); });
    if (bunch.empty()) {
      tell(replies);
      return true;
    }
    for (const proto::crew::Task& one : bunch) begin(one);
    const Made::Way way = bunches_.begun ? bunches_.begun(bunch) : Made::Way::kGives;
    if (way == Made::Way::kHangs || way == Made::Way::kDies) return do_nothing(way);
    for (const proto::crew::Task& one : bunch) {
      if (way == Made::Way::kAgain)
        say_again(one.number, replies);
      else if (!run(one, replies))
        return false;
    }
    tell(replies);
    return true;
  }

  bool lacks_slot(const proto::crew::Task& task) const { return task.slot != 0 && !slots_.contains(task.slot); }
  void begin(const proto::crew::Task& task) {
    ring().begun[task.number % proto::crew::kPlaces] = proto::crew::begun_word(task.number, bunches_.in_flight);
  }
  static void tell(proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    replies.publish();
    replies.tell();
  }
  static void say_again(uint64_t number, proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    proto::crew::Reply reply;
    reply.number = number, reply.kind = proto::crew::ReplyKind::kAgain;
    replies.write(reply);
  }

  // False: there was nothing to hear.
  bool hear_bell(int flags) {
    std::array<char, 64> rings;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
    iovec data{rings.data(), rings.size()};
    msghdr message{};
    message.msg_iov = &data, message.msg_iovlen = 1;
    message.msg_control = control.data(), message.msg_controllen = control.size();
    if (recvmsg(bell_.get(), &message, flags | MSG_CMSG_CLOEXEC) <= 0) return false;
    if (const cmsghdr* const header = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      came_.emplace_back(fd);
    }
    return true;
  }

  bool take_slot(const proto::crew::Task& task) {
    while (came_.empty())
      if (!hear_bell(MSG_DONTWAIT)) std::abort();  // its descriptor comes first
    use_.given++;
    if (!use_.refuses) {
      slots_.emplace(task.slot, std::make_unique<Mapped>(came_.front().get()));
      use_.mapped++;
    }
    came_.pop_front();
    return true;
  }

  // False: the worker ends.
  bool run(const proto::crew::Task& task, proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    using proto::crew::TaskKind;
    if (task.kind == TaskKind::kRoom) {
      if (const auto at = liars_.find(task.number); at != liars_.end())
        return at->second == Made::Way::kSays ? ask_again(task, replies) : do_nothing(at->second);
      give(task.number, task.room, kept_.at(task.number), replies, scratch_.at(task.room.offset));
      kept_.erase(task.number);
      return true;
    }
    if (task.kind == TaskKind::kSlot) return take_slot(task);
    if (task.kind == TaskKind::kSlotGone) {
      if (slots_.erase(task.slot) != 1) std::abort();
      use_.mapped--;
      return true;
    }
    if (lacks_slot(task)) {
      proto::crew::Reply reply;
      reply.number = task.number, reply.kind = proto::crew::ReplyKind::kNoSlot;
      replies.write(reply);
      return true;
    }
    if (task.kind == TaskKind::kDrop) return kept_.erase(task.number) + liars_.erase(task.number) == 1;
    const uint8_t* const input = scratch_.at(task.input.offset);
    Made made = function_(task, {input, input + task.input.bytes});
    std::memset(scratch_.at(task.input.offset), 0xa5, task.input.bytes);  // it is the worker's own to change
    if (made.way == Made::Way::kDies) return false;
    if (made.way == Made::Way::kHangs) return do_nothing(made.way);
    if (made.way == Made::Way::kTears) {
      std::memcpy(room_of(task), made.bytes.data(), made.bytes.size() / 2);
      return do_nothing(made.with_room);
    }
    if (made.way == Made::Way::kNothing) return true;
    if (made.way == Made::Way::kAgain) {
      say_again(task.number, replies);
      return true;
    }
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
      replies.write(made.reply);
    } else if (made.way == Made::Way::kBad) {
      std::memcpy(ring().texts[replies.place()], made.text.data(), made.text.size());
      proto::crew::Reply reply;
      reply.number = task.number, reply.kind = proto::crew::ReplyKind::kBad;
      reply.text_bytes = static_cast<uint32_t>(made.text.size());
      replies.write(reply);
    } else {
      place_values(task, made);
      give(task.number, task.room, std::move(made), replies, room_of(task));
    }
    return true;
  }

  uint8_t* room_of(const proto::crew::Task& task) {
    const bool makes_item = task.value_at[proto::crew::kPlacedMax - 1] == proto::crew::kInRecord;
    if (task.slot == 0 || makes_item) return scratch_.at(task.room.offset);
    use_.written++;
    return slots_.at(task.slot)->at(task.room.offset);
  }

  void place_values(const proto::crew::Task& task, Made& made) {
    if (task.slot == 0 || made.values.empty()) return;
    for (size_t i = 0; i < made.values.size() && i < proto::crew::kPlacedMax; i++) {
      if (task.value_at[i] == proto::crew::kInRecord) continue;
      use_.written++;
      if (!made.values[i].empty())
        std::memcpy(slots_.at(task.slot)->at(task.value_at[i]), made.values[i].data(), made.values[i].size());
      made.values[i].clear();
    }
    made.bytes = record_of(made.values);
  }

  static bool ask_again(const proto::crew::Task& task, proto::crew::LaneWriter<proto::crew::Reply>& replies) {
    proto::crew::Reply reply;
    reply.number = task.number, reply.kind = proto::crew::ReplyKind::kNeedsRoom, reply.bytes = task.room.bytes + 1;
    replies.write(reply);
    return true;
  }

  // Until it is told to end, or, where the way is kDies, not even that.
  bool do_nothing(Made::Way way) {
    if (way == Made::Way::kHangs) ended_.wait(false);
    return false;
  }

  void give(uint64_t number, const proto::crew::Extent& room, Made made,
            proto::crew::LaneWriter<proto::crew::Reply>& replies, uint8_t* to) {
    proto::crew::Reply reply;
    reply.number = number, reply.bytes = made.bytes.size(), reply.call_ns = made.call_ns;
    reply.shape.dimensions = static_cast<uint32_t>(made.shape.size());
    std::copy(made.shape.begin(), made.shape.end(), reply.shape.sizes);
    if (made.bytes.size() <= room.bytes) {
      if (!made.bytes.empty()) std::memcpy(to, made.bytes.data(), made.bytes.size());
    } else {
      reply.kind = proto::crew::ReplyKind::kNeedsRoom;
      kept_[number] = std::move(made);
    }
    replies.write(reply);
  }

  Mapped scratch_;  // of its own, as a process has it
  Mapped ring_file_;
  UniqueFd bell_;
  const CrewFunction& function_;
  const Bunches& bunches_;
  const std::function<void()> on_death_;
  const bool dies_at_start_;
  std::deque<proto::crew::Task> apart_;  // that were taken, and are of no bunch yet
  SlotUse& use_;
  std::deque<UniqueFd> came_;                          // of slots that tasks will announce
  std::map<uint32_t, std::unique_ptr<Mapped>> slots_;  // by number
  std::map<uint64_t, Made> kept_;
  std::map<uint64_t, Made::Way> liars_;  // calls for which it asked for room, and what it does with it
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// Control thread, as the room that it stands for. `on_end` is called with the number of a worker that is gone, on any
// thread.
class CrewProcess final : public control::CrewReply {
 public:
  CrewProcess(CrewFunction function, std::function<void(uint32_t)> on_end, Bunches bunches = {})
      : function_(std::move(function)), bunches_(std::move(bunches)), on_end_(std::move(on_end)) {}

  void joined(const control::CrewWork& work) override {
    errands = work.errands;
    scratch_fd_.reset(dup(work.scratch_fd));
  }
  void start_worker(uint32_t worker, std::vector<UniqueFd> descriptors) override {
    started++;
    workers_.emplace(worker, std::make_unique<WorkerThread>(
                                 scratch_fd_.get(), std::move(descriptors), function_, bunches_,
                                 [this, worker] { on_end_(worker); }, dies_at_start, slots));
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
  SlotUse slots;
  size_t started = 0;          // workers
  bool clings = false;         // its workers do not end when they are told to
  bool dies_at_start = false;  // each worker that is started from now on

 private:
  const CrewFunction function_;
  const Bunches bunches_;
  const std::function<void(uint32_t)> on_end_;
  UniqueFd scratch_fd_;
  std::map<uint32_t, std::unique_ptr<WorkerThread>> workers_;
};

}  // namespace spdld::test
