// A column of texts that is held in memory, as fields: a locator means no byte of its file, and its packing has the
// value, which is the text of the row `packed`. Constant; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "daemon/source/tables/columns.h"
#include "daemon/store/packing.h"

namespace spdld::source {

class HeldColumn final : public store::Packing {
 public:
  explicit HeldColumn(TextColumn texts) : texts_(std::move(texts)) {}
  Result<Piece> find(std::span<const uint8_t>, uint32_t row) const override {
    const std::string_view text = texts_[row];
    return Piece{{reinterpret_cast<const uint8_t*>(text.data()), text.size()}, text.size()};
  }
  uint64_t memory_bytes() const { return texts_.memory_bytes(); }

 private:
  const TextColumn texts_;
};

}  // namespace spdld::source
