// The daemon's end of the memory that a worker of a crew shares with it, for tests: a ring, its bell, and scratch
// memory.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "proto/crew/ring.h"
#include "proto/seqpacket.h"
#include "proto/unique_fd.h"

namespace spdld::test {

// Memory of other processes as well, sealed against changes of its size where `seals` says so.
class SharedMemory {
 public:
  explicit SharedMemory(uint64_t bytes, bool seals = true)
      : bytes_(bytes), fd_(::memfd_create("test-crew", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) throw std::runtime_error("ftruncate");
    if (seals) ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (start == MAP_FAILED) throw std::runtime_error("mmap");
    start_ = static_cast<uint8_t*>(start);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(start_, bytes_); }

  uint8_t* start() const { return start_; }
  uint64_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }

 private:
  const uint64_t bytes_;
  UniqueFd fd_;
  uint8_t* start_ = nullptr;
};

struct CrewReply {
  proto::crew::Reply reply;
  std::string text;
};

// One thread.
class CrewRing {
 public:
  // For the worker: the two descriptors of START_WORKER, in order. The bell is given away once.
  UniqueFd ring_fd() const { return UniqueFd(::dup(memory_.fd())); }
  UniqueFd bell_fd() { return std::move(bell_.second); }
  // As where the daemon wants nothing more of the worker.
  void hang_up() { bell_.first.reset(); }

  // The task's number is told.
  uint64_t put(proto::crew::Task task) {
    if (task.kind == proto::crew::TaskKind::kCall) task.number = ++number_;
    writer_.put(task);
    writer_.tell();
    return task.number;
  }
  // Several at once, so that a worker finds none without the others.
  std::vector<uint64_t> put_all(std::vector<proto::crew::Task> tasks) {
    std::vector<uint64_t> numbers;
    for (proto::crew::Task& task : tasks) {
      numbers.push_back(task.number = ++number_);
      writer_.write(task);
    }
    writer_.publish();
    writer_.tell();
    return numbers;
  }
  // A descriptor, with a ring of the bell.
  void send(int fd) {
    constexpr uint8_t kRing = 1;
    if (proto::send_message(bell_.first.get(), {&kRing, 1}, {&fd, 1}) != proto::IoStatus::kOk)
      throw std::runtime_error("sendmsg");
  }
  void announce_slot(uint32_t slot, uint64_t bytes) {
    proto::crew::Task task{};
    task.kind = proto::crew::TaskKind::kSlot, task.slot = slot, task.room.bytes = bytes;
    put(task);
  }
  // Waits for the next reply, at most so long.
  std::optional<CrewReply> take(int wait_ms) {
    CrewReply taken{};
    for (;;) {
      const uint32_t place = reader_.place();
      const proto::crew::Taken found = reader_.take(taken.reply);
      if (found == proto::crew::Taken::kLie) throw std::runtime_error("the worker lies");
      if (found == proto::crew::Taken::kEntry) {
        taken.text.assign(ring().texts[place], std::min(taken.reply.text_bytes, proto::crew::kTextBytesMax));
        return taken;
      }
      if (!reader_.begin_sleep()) continue;
      pollfd entry = {bell_.first.get(), POLLIN, 0};
      const bool is_told = ::poll(&entry, 1, wait_ms) > 0;
      reader_.end_sleep();
      std::array<char, 64> rings;
      if (!is_told || ::recv(bell_.first.get(), rings.data(), rings.size(), MSG_DONTWAIT) <= 0) return std::nullopt;
    }
  }
  proto::crew::Ring& ring() { return *reinterpret_cast<proto::crew::Ring*>(memory_.start()); }

 private:
  static std::pair<UniqueFd, UniqueFd> make_bell() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw std::runtime_error("socketpair");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }

  SharedMemory memory_{sizeof(proto::crew::Ring)};
  std::pair<UniqueFd, UniqueFd> bell_ = make_bell();
  uint64_t number_ = 0;
  proto::crew::LaneWriter<proto::crew::Task> writer_{ring().tasks, bell_.first.get()};
  proto::crew::LaneReader<proto::crew::Reply> reader_{ring().replies};
};

}  // namespace spdld::test
