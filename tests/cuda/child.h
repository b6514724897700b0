// A case that looks at the driver runs in a child of the test, forked before any driver is loaded: so each has a driver
// of its own, and the fake one that the case asks for.
#pragma once

#include <sys/types.h>

#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "proto/cuda/fault.h"
#include "proto/seqpacket.h"
#include "proto/unique_fd.h"
#include "tests/support/fake_cuda/fake_cuda.h"

namespace spdld::test {

// In a child, where Catch2's checks would not be seen.
#define EXPECT(condition)                                                                               \
  do {                                                                                                  \
    if (!(condition))                                                                                   \
      throw std::runtime_error(std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition); \
  } while (false)

// What `work` throws; kFailed with a text of its own where it throws no Fault.
cuda::Fault fault_of(const std::function<void()>& work);

class Child {
 public:
  // Forks; `work` runs in the child with the environment of `fake`, and what it throws is its outcome.
  Child(const FakeCuda& fake, const std::function<void()>& work);
  ~Child();  // kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Waits for its end, a bounded time. "": all went well.
  std::string outcome();

 private:
  pid_t pid_ = -1;
  UniqueFd result_;
};

// The outcome of a child that does `work`.
std::string in_child(const FakeCuda& fake, const std::function<void()>& work);

// Two ends between two children; made before both are forked. Waits a bounded time, then throws.
struct Link {
  UniqueFd end;
  void send(std::span<const uint8_t> bytes, std::span<const int> fds = {}) const;
  proto::Received receive() const;

  template <class Value>
  void send_value(const Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    send({reinterpret_cast<const uint8_t*>(&value), sizeof value});
  }
  template <class Value>
  Value receive_value() const {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    const proto::Received received = receive();
    if (received.bytes.size() != sizeof value) throw std::runtime_error("a message of another size came");
    std::memcpy(&value, received.bytes.data(), sizeof value);
    return value;
  }
};
struct Links {
  Link one, other;
  Links();
};

}  // namespace spdld::test
