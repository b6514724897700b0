#include "daemon/store/unpack/unpacked_view.h"

#include <algorithm>
#include <cstring>

namespace spdld::store::unpack {
namespace {

constexpr uint64_t kPassedBytes = 256 << 10;

}  // namespace

Result<uint64_t> UnpackedView::read_on(std::span<uint8_t> to) {
  if (stop_.stop_requested()) return Error{Trouble::kStopping, "the listing was stopped."};
  auto got = reader_.read(to);
  const uint64_t now = reader_.packed_position();
  done_.fetch_add(now - told_, std::memory_order_relaxed);
  told_ = now;
  return got;
}

Status UnpackedView::pass_over(uint64_t bytes) {
  uint8_t* const to = passed_.resize(kPassedBytes);
  while (bytes > 0 && !reader_.is_at_end()) {
    const auto got = read_on({to, std::min(bytes, kPassedBytes)});
    if (!got) return got.error();
    bytes -= *got;
  }
  return Done{};
}

Result<uint64_t> UnpackedView::read(uint64_t offset, std::span<uint8_t> to) {
  const uint64_t start = reader_.position() - last_.size();
  if (offset < start) return Error{Trouble::kInternal, "a compressed archive is read backwards."};
  uint64_t done = 0;
  ByteBuffer now;
  uint8_t* const bytes = now.resize(to.size());
  if (offset < reader_.position()) {
    done = std::min<uint64_t>(to.size(), reader_.position() - offset);
    std::memcpy(bytes, last_.data() + (offset - start), done);
    // Bytes behind these, which were read already, would be lost.
    if (done == to.size() && offset + done < reader_.position()) {
      std::memcpy(to.data(), bytes, done);
      return done;
    }
  } else if (Status passed = pass_over(offset - reader_.position()); !passed) {
    return std::move(passed.error());
  }
  if (reader_.position() == offset + done) {
    const auto got = read_on({bytes + done, to.size() - done});
    if (!got) return got;
    done += *got;
  }
  now.resize(done);
  last_ = std::move(now);
  std::memcpy(to.data(), last_.data(), done);
  return done;
}

Result<std::string> UnpackedView::find_damage() {
  last_.resize(0);
  if (Status passed = pass_over(kTailMax); !passed) return std::move(passed.error());
  return reader_.damage();
}

}  // namespace spdld::store::unpack
