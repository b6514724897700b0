// A request on its way through an endpoint: what it asks in each attempt, and what it makes of the replies. The
// endpoint decides when attempts begin and ends them. Network thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/store/http/dialect.h"
#include "daemon/store/http/transfer.h"
#include "daemon/store/store.h"

namespace spdld::store::http {

class Call;

class Endpoint;

struct Attempt final : Transfer::User {
  Take on_head(Transfer& transfer) override;
  bool on_body(Transfer& transfer, std::span<const uint8_t> bytes) override;

  Endpoint* endpoint = nullptr;
  Call* call = nullptr;
  uint64_t started_ns = 0;
  uint64_t at = 0;         // of a read: the next byte that it takes, in the object
  uint64_t skipped = 0;    // of a read: bytes that come before the range
  bool is_second = false;  // it runs beside another one
  Status so_far = Done{};  // an error where the call ends it: why
  bool may_pass = true;    // that error is worth another attempt
  std::unique_ptr<Transfer> transfer;
};

// The result of an attempt that came to its end.
struct Verdict {
  enum class Next : uint8_t { kDone, kAgain, kFailed } next = Next::kDone;
  Error error = {};
  std::string retry_after = {};  // the header of kAgain

  static Verdict failed(Error error) { return {Next::kFailed, std::move(error)}; }
  static Verdict again(Error error) { return {Next::kAgain, std::move(error)}; }
};

class Call {
 public:
  Call(Request& call_request, Dialect& dialect)
      : owner(call_request.owner), request_(call_request), dialect_(dialect) {}
  virtual ~Call() = default;

  // Writes the attempt's request. An error that is kTransient is tried again.
  virtual Status begin(Attempt& attempt, Outgoing& outgoing) = 0;
  virtual Take on_head(Attempt& attempt) = 0;
  virtual bool on_body(Attempt& attempt, std::span<const uint8_t> bytes) = 0;
  // `code`: as libcurl ended it.
  virtual Verdict on_end(Attempt& attempt, CURLcode code) = 0;
  virtual bool may_be_hedged() const { return false; }

  Request& request() const { return request_; }
  // For people: what is asked for.
  virtual std::string what() const = 0;

  const uint64_t owner;

  // The endpoint's.
  enum class State : uint8_t {
    kWaiting,  // for its turn
    kRunning,
    kResting  // until `resumes_ns`, after an attempt that failed
  };
  State state = State::kWaiting;
  std::vector<Attempt*> attempts;  // under way
  uint32_t failures = 0;
  uint64_t first_started_ns = 0, resumes_ns = 0;
  uint64_t is_slow_ns = UINT64_MAX;  // when the attempt under way counts as slow

 protected:
  // The verdict on an attempt that brought no reply, or a reply that is no success.
  Verdict without_success(Attempt& attempt, CURLcode code, std::string_view object) const;

  Request& request_;
  Dialect& dialect_;
};

// The request is the caller's, who keeps it until the call's end.
std::unique_ptr<Call> make_call(Read& read, Dialect& dialect);
std::unique_ptr<Call> make_call(Stat& stat, Dialect& dialect);
std::unique_ptr<Call> make_call(List& list, Dialect& dialect);

}  // namespace spdld::store::http
