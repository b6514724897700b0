// Result values for hot paths and answers; exceptions (SetupError) for set-up. Any thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace spdld {

// The kind of trouble decides who is told, and whether a sample may be substituted.
enum class Trouble : uint8_t {
  kContent,    // bytes that can't be decoded: counted, substituted, masked or fatal as the user chose
  kTooLong,    // content that is longer than its output takes, and is to be left out for that
  kDropped,    // user code leaves the sample out
  kTransient,  // a store that is down, EIO: never substituted
  kUsage,      // the request or the spec is wrong
  kNotFound,
  kDenied,
  kLimit,     // a quota or a bound is reached
  kMemory,    // the node is short of memory: tried again for a while, never substituted
  kConflict,  // held by somebody else
  kChanged,   // the position belongs to another data set or spec
  kStopping,
  kLagged,       // a job of a shared stream held the others back
  kUnsupported,  // a valid request that is not possible on this machine
  kUnread,       // within the daemon: parts of the content are needed that have not been read
  kInternal,
};

struct Error {
  Trouble trouble = Trouble::kInternal;
  std::string message;  // one sentence for the user: what, where, what to do
};

class SetupError : public std::runtime_error {
 public:
  SetupError(Trouble trouble, const std::string& message) : std::runtime_error(message), trouble_(trouble) {}
  Trouble trouble() const { return trouble_; }
  Error error() const { return {trouble_, what()}; }

 private:
  Trouble trouble_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return held_.index() == 0; }
  T& value() { return std::get<0>(held_); }
  const T& value() const { return std::get<0>(held_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return std::get<1>(held_); }
  const Error& error() const { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace spdld
