// Closes descriptors that came from clients, on threads of its own: such a close may take as long as a client likes (a
// socket with SO_LINGER and unsent data, or an unread message that carries one). A close that takes long is interrupted
// by a signal. The descriptors of a user wait in a lane that one thread at a time serves, so that no user keeps the
// threads from another user's descriptors. All functions may be called on any thread, and none blocks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "proto/unique_fd.h"

namespace spdld {

class Closer {
 public:
  // Each class has a lane of its own: nobody's sockets stand behind the descriptors that were sent over them.
  enum class DescriptorClass : uint8_t {
    kReceived,  // a descriptor that a message carried
    kSocket     // a client's socket, whose unread messages may carry descriptors
  };
  struct Limits {
    unsigned threads_max = 8;
    size_t lane_max = 64;                    // descriptors of one user and class; more make full() true
    size_t all_max = 512;                    // descriptors of one class
    std::chrono::milliseconds patience{20};  // a close that takes longer is interrupted
    std::chrono::milliseconds end{2000};     // the end of the closer takes no longer
  };

  // Throws std::system_error where no thread can begin.
  explicit Closer(const Limits& limits);
  Closer() : Closer(Limits()) {}
  // Closes what waits, within the limit; a close that can't be interrupted is left to the end of the process.
  ~Closer();
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  void close(uid_t user, DescriptorClass descriptor_class, UniqueFd fd);
  // Whether so many descriptors wait that the caller should take no more of this class from this user, or from anybody.
  // Nothing is refused where a caller goes on.
  bool full(uid_t user, DescriptorClass descriptor_class) const;
  bool full(DescriptorClass descriptor_class) const;
  size_t waiting() const;        // descriptors that are not closed yet
  uint64_t interrupted() const;  // closes that took longer than the patience

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;  // shared with the threads, which a close that hangs may keep for longer
};

}  // namespace spdld
