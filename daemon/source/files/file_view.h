// A view of an open file. Borrows its descriptor.
#pragma once

#include <string>

#include "daemon/store/view.h"

namespace spdld::source {

class FileView final : public store::View {
 public:
  // `what` begins its errors: "the archive /a.tar". Throws SetupError where its size can't be read.
  FileView(int fd, std::string what);

  uint64_t size() const override { return size_; }
  Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) override;

 private:
  Error failed(int error_number) const;

  const int fd_;
  const std::string what_;
  uint64_t size_ = 0;
};

}  // namespace spdld::source
