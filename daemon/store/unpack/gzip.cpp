// gzip by igzip, the inflater of Intel's storage library. The library checks each member's trailer.
#include <isa-l/igzip_lib.h>

#include <algorithm>

#include "daemon/store/unpack/unpacker.h"

namespace spdld::store::unpack {
namespace {

constexpr uint64_t kPieceMax = 1 << 30;  // the library counts in 32 bits

// RFC 1952, 2.3.1.2: a reader must refuse a member whose header sets one of these flags, since the member may have a
// field that the reader does not know. The library does not look at them.
constexpr uint32_t kReservedFlags = 0xe0;

std::string_view words_of_inflate(int code) {
  switch (code) {
    case ISAL_INCORRECT_CHECKSUM:
      return "a checksum or a size is wrong";
    case ISAL_INVALID_WRAPPER:
      return "a member's header is wrong";
    case ISAL_UNSUPPORTED_METHOD:
      return "a member is compressed by another method";
    case ISAL_INVALID_LOOKBACK:
      return "a block looks back before the beginning";
    default:
      return "a block is malformed";
  }
}

class Gzip final : public Unpacker {
 public:
  Gzip() { begin_member(); }

  Result<Step> step(std::span<const uint8_t> from, std::span<uint8_t> to) override {
    Step all;
    for (;;) {
      auto one = is_between_ ? pass_between(from) : go_on(from, to);
      if (!one) return one;
      all.taken += one->taken;
      all.given += one->given;
      from = from.subspan(one->taken);
      to = to.subspan(one->given);
      if ((one->taken == 0 && one->given == 0) || to.empty()) return all;
    }
  }

  bool is_whole() const override { return is_between_; }
  uint64_t memory_bytes() const override { return sizeof(*this); }

 private:
  void begin_member() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;  // the header is read here, since it may come in pieces
    isal_gzip_header_init(&header_);
    is_in_header_ = true;
    is_between_ = false;
  }

  Result<Step> pass_between(std::span<const uint8_t> from) {
    const auto end = std::find_if(from.begin(), from.end(), [](uint8_t byte) { return byte != 0; });
    const auto zeros = static_cast<uint64_t>(end - from.begin());
    has_padding_ = has_padding_ || zeros > 0;
    if (end == from.end()) return Step{zeros, 0};
    if (has_padding_) return Error{Trouble::kContent, "something follows the padding behind its last member"};
    begin_member();
    return go_on(from, {});
  }

  Result<Step> go_on(std::span<const uint8_t> from, std::span<uint8_t> to) {
    from = from.first(std::min<uint64_t>(from.size(), kPieceMax));
    to = to.first(std::min<uint64_t>(to.size(), kPieceMax));
    state_.next_in = const_cast<uint8_t*>(from.data());  // which the library only reads
    state_.avail_in = static_cast<uint32_t>(from.size());
    state_.next_out = to.data();
    state_.avail_out = static_cast<uint32_t>(to.size());
    const int code = is_in_header_ ? isal_read_gzip_header(&state_, &header_) : isal_inflate(&state_);
    if (code < 0) return Error{Trouble::kContent, std::string(words_of_inflate(code))};
    if (is_in_header_) {
      is_in_header_ = code != ISAL_DECOMP_OK;
      if (!is_in_header_ && (header_.flags & kReservedFlags) != 0)
        return Error{Trouble::kContent, "a member's header sets flags that the format reserves"};
    } else {
      is_between_ = state_.block_state == ISAL_BLOCK_FINISH;
    }
    return Step{from.size() - state_.avail_in, to.size() - state_.avail_out};
  }

  inflate_state state_;
  isal_gzip_header header_;
  bool is_in_header_ = true;
  bool is_between_ = false;  // behind a member
  bool has_padding_ = false;
};

}  // namespace

std::unique_ptr<Unpacker> make_gzip() { return std::make_unique<Gzip>(); }

}  // namespace spdld::store::unpack
