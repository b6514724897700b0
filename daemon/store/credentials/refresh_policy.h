// When credentials are fetched again, as a function of what happened and of the time: no clock and no thread of its
// own. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

namespace spdld::store {

// One point in time by both clocks. The clock of Unix seconds may be set back or forth; the steady clock is not.
struct Moment {
  int64_t unix_s = 0;
  int64_t steady_ms = 0;
};
Moment moment_now();

class RefreshPolicy {
 public:
  static constexpr int64_t kMarginS = 300;       // credentials are fetched so long before they expire
  static constexpr int64_t kRetryMsMin = 1000;   // after a failure, and twice as long after each further failure
  static constexpr int64_t kRetryMsMax = 60000;  // up to this
  static constexpr int64_t kGapMs = 1000;        // between two fetches, however short the credentials live
  static constexpr int64_t kAskedGapMs = 10000;  // between a fetch and the next fetch that a store's refusal asks for
  static constexpr int64_t kLookMs = 60000;      // the longest wait: a clock that was set is seen after it

  // A fetch has ended with credentials that expire then (Unix seconds; 0: never), or with an error.
  void fetched(const Moment& now, int64_t expires_at_s);
  void failed(const Moment& now);
  // A store has refused the credentials.
  void asked() { is_asked_ = true; }

  // How long to wait before the next look, at most kLookMs; 0: fetch now. Credentials are due kMarginS before they
  // expire, or after half of their life where that is sooner, by whichever clock says so first.
  int64_t wait_ms(const Moment& now) const;

 private:
  bool has_credentials_ = false, is_asked_ = false;
  int failures_ = 0;      // since the last success
  int64_t ended_ms_ = 0;  // of the last fetch, steady
  int64_t retry_ms_ = 0;  // steady, with failures
  struct Due {
    int64_t unix_s, steady_ms;
  };
  std::optional<Due> due_;  // nothing: the credentials never expire
};

}  // namespace spdld::store
