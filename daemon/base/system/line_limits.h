// Bounds how many lines of one kind the log has: a burst, and then a line every few seconds. Lines that are left out
// are counted, and the count is told. Lines are of one kind where they have one sentence about one pipeline. Times are
// the caller's, monotonic. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/system/allowance.h"

namespace spdld {

class LineLimits {
 public:
  static constexpr double kBurst = 20, kPerS = 0.2;
  // Kinds that are known at a time. Beyond, kinds that nobody writes any more are forgotten, and the others share one.
  static constexpr size_t kKindsMax = 512;

  // How many lines of this kind were left out since the last one that was written. Nothing: this line is left out, and
  // counted.
  std::optional<uint64_t> take(std::string_view sentence, std::string_view pipeline, uint64_t now_ns);

  struct LeftOut {
    std::string sentence, pipeline;  // empty: of several kinds
    uint64_t lines = 0;
  };
  // The kinds with lines that were left out and not told yet, if a kind may have a line now. The lines count as told.
  // `all`: also kinds that may have no line yet.
  std::vector<LeftOut> take_left_out(uint64_t now_ns, bool all = false);

 private:
  struct LineLimit {
    Allowance allowance{kPerS, kBurst};
    uint64_t left_out = 0;
  };
  using Key = std::pair<std::string, std::string>;
  using View = std::pair<std::string_view, std::string_view>;
  struct Less {
    using is_transparent = void;
    static View view(const Key& key) { return {key.first, key.second}; }
    static View view(const View& key) { return key; }
    bool operator()(const auto& a, const auto& b) const { return view(a) < view(b); }
  };

  LineLimit& limit_of(std::string_view sentence, std::string_view pipeline, uint64_t now_ns);

  std::mutex mutex_;
  std::map<Key, LineLimit, Less> limits_;
};

}  // namespace spdld
