// Whether the daemon lives and takes work, as a supervisor asks by /livez and /readyz.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "daemon/http/answer.h"

namespace spdld::http {

class Health {
 public:
  // The control thread comes round several times a second; after so long without it, the daemon counts as stuck.
  static constexpr uint64_t kStuckNs = 10ull * 1'000'000'000;

  explicit Health(uint64_t now_ns) : seen_ns_(now_ns) {}

  void note_life(uint64_t now_ns) { seen_ns_.store(now_ns, std::memory_order_relaxed); }  // control thread
  // From now on the daemon takes no work, and the sentence says why; empty: it takes work. Control thread.
  void set_refusal(std::string why);

  // Any thread. 200, or 503 with a sentence.
  Answer live(uint64_t now_ns) const;
  Answer ready(uint64_t now_ns) const;

 private:
  std::atomic<uint64_t> seen_ns_;
  mutable std::mutex mutex_;
  std::string refusal_ = "spdld is starting";
};

}  // namespace spdld::http
