#include "daemon/store/credentials/refresh_policy.h"

#include <algorithm>
#include <chrono>

namespace spdld::store {

Moment moment_now() {
  namespace chrono = std::chrono;
  return {chrono::duration_cast<chrono::seconds>(chrono::system_clock::now().time_since_epoch()).count(),
          chrono::duration_cast<chrono::milliseconds>(chrono::steady_clock::now().time_since_epoch()).count()};
}

void RefreshPolicy::fetched(const Moment& now, int64_t expires_at_s) {
  has_credentials_ = true;
  is_asked_ = false;
  failures_ = 0;
  ended_ms_ = now.steady_ms;
  due_.reset();
  if (expires_at_s == 0) return;
  const int64_t life_s = std::max<int64_t>(expires_at_s - now.unix_s, 0);
  const int64_t wait_s = life_s - std::min(kMarginS, life_s / 2);
  due_ = Due{now.unix_s + wait_s, now.steady_ms + wait_s * 1000};
}

void RefreshPolicy::failed(const Moment& now) {
  constexpr int kDoublingsMax = 6;
  ended_ms_ = now.steady_ms;
  retry_ms_ = now.steady_ms + std::min(kRetryMsMin << std::min(failures_, kDoublingsMax), kRetryMsMax);
  failures_ = std::min(failures_ + 1, kDoublingsMax + 1);
}

int64_t RefreshPolicy::wait_ms(const Moment& now) const {
  const auto bounded = [](int64_t wait) { return std::clamp<int64_t>(wait, 0, kLookMs); };
  if (failures_ > 0) return bounded(retry_ms_ - now.steady_ms);
  if (!has_credentials_) return 0;
  if (is_asked_) return bounded(ended_ms_ + kAskedGapMs - now.steady_ms);
  if (!due_) return kLookMs;
  const int64_t by_unix_ms = (due_->unix_s - now.unix_s) * 1000;
  const int64_t wait = std::min(by_unix_ms, due_->steady_ms - now.steady_ms);
  return bounded(std::max(wait, ended_ms_ + kGapMs - now.steady_ms));
}

}  // namespace spdld::store
