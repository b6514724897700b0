// The tables of the codes that were used last: most pictures of a data set have the same few. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/media/image/codecs/baseline/frame.h"

namespace spdld::image::baseline {

// make_table(const CodeLengths&, Table&) makes one, and is false where the lengths are of no code.
template <class Table>
class KeptTables {
 public:
  static constexpr size_t kKept = 8;  // more than a scan needs

  // Borrowed until kKept other codes were asked for; none: no code.
  const Table* find(const CodeLengths& lengths) {
    kept_.reserve(kKept);
    auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.lengths == lengths; });
    if (at == kept_.end()) {
      at = place_for_another();
      at->lengths.reset();
      if (!make_table(lengths, at->table)) return nullptr;
      at->lengths = lengths;
    }
    at->used = ++now_;
    return &at->table;
  }

 private:
  struct Kept {
    std::optional<CodeLengths> lengths;  // none: the table was begun for a code that is none
    uint64_t used = 0;                   // number of the search
    Table table;
  };

  typename std::vector<Kept>::iterator place_for_another() {
    if (kept_.size() < kKept) return kept_.emplace(kept_.end());
    return std::min_element(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  }

  uint64_t now_ = 0;
  std::vector<Kept> kept_;
};

}  // namespace spdld::image::baseline
