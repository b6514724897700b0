#include "daemon/http/health.h"

#include <utility>

namespace spdld::http {

void Health::set_refusal(std::string why) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(why);
}

Answer Health::live(uint64_t now_ns) const {
  const uint64_t seen_ns = seen_ns_.load(std::memory_order_relaxed);
  if (now_ns <= seen_ns || now_ns - seen_ns <= kStuckNs) return sentence(200, "spdld lives");
  return sentence(503,
                  "the control thread has been busy for " + std::to_string((now_ns - seen_ns) / 1'000'000'000) + " s");
}

Answer Health::ready(uint64_t now_ns) const {
  if (Answer life = live(now_ns); life.status != 200) return life;
  const std::lock_guard lock(mutex_);
  return refusal_.empty() ? sentence(200, "spdld takes trainers") : sentence(503, refusal_);
}

}  // namespace spdld::http
