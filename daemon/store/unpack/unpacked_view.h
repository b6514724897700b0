// A view of the bytes that a compressed object holds, for who reads it once, from its beginning to its end.
#pragma once

#include <atomic>
#include <stop_token>
#include <string>
#include <utility>

#include "daemon/store/unpack/unpacked_reader.h"

namespace spdld::store::unpack {

// Borrows the view and `done`. A read may begin anywhere behind the beginning of the read before.
class UnpackedView final : public View {
 public:
  // Bytes behind the end mark of an archive are read up to this length, for the checksum.
  static constexpr uint64_t kTailMax = 64 << 20;

  // Adds the compressed bytes that it has gone through to `done`.
  UnpackedView(View& packed, Compression compression, std::atomic<uint64_t>& done, std::stop_token stop)
      : reader_(packed, compression), done_(done), stop_(std::move(stop)) {}

  uint64_t size() const override { return reader_.is_at_end() ? reader_.position() : kSizeUnknown; }
  Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) override;
  Result<std::string> find_damage() override;
  uint64_t memory_bytes() const { return reader_.memory_bytes(); }
  uint64_t packed_position() const { return told_; }

 private:
  Result<uint64_t> read_on(std::span<uint8_t> to);
  Status pass_over(uint64_t bytes);

  UnpackedReader reader_;
  std::atomic<uint64_t>& done_;
  const std::stop_token stop_;
  uint64_t told_ = 0;  // of the compressed bytes
  ByteBuffer last_;    // what was read last
  ByteBuffer passed_;
};

}  // namespace spdld::store::unpack
