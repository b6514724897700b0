// A view of bytes in memory, which it borrows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "daemon/store/view.h"

namespace spdld::test {

class BytesView final : public store::View {
 public:
  explicit BytesView(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  explicit BytesView(std::string_view text)
      : BytesView(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())) {}

  uint64_t size() const override { return bytes_.size(); }
  Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) override {
    const auto part = bytes_.subspan(std::min<uint64_t>(offset, bytes_.size()));
    const uint64_t count = std::min(part.size(), to.size());
    if (count > 0) std::memcpy(to.data(), part.data(), count);
    return count;
  }

 private:
  const std::span<const uint8_t> bytes_;
};

}  // namespace spdld::test
