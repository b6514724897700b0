// zstd by libzstd.
#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <string>
#include <string_view>

#include "daemon/store/unpack/unpacker.h"

namespace spdld::store::unpack {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class Zstd final : public Unpacker {
 public:
  Zstd() : context_(ZSTD_createDCtx()) {
    if (!context_ || ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLogMax)))
      throw std::bad_alloc();
  }

  Result<Step> step(std::span<const uint8_t> from, std::span<uint8_t> to) override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size) {
      const size_t taken = in.pos, given = out.pos;
      if (is_before_frame_) {
        while (magic_.size() < kMagic && in.pos < in.size) magic_ += static_cast<char>(from[in.pos++]);
        if (magic_.size() < kMagic) break;
        if (!is_known(magic_)) return Error{Trouble::kContent, "something else than a frame follows"};
        ZSTD_inBuffer magic{magic_.data(), magic_.size(), 0};
        if (const auto code = go_on(out, magic); code != ZSTD_error_no_error) return fault(code);
        magic_.clear();
        is_before_frame_ = false;
      }
      if (const auto code = go_on(out, in); code != ZSTD_error_no_error) return fault(code);
      is_before_frame_ = left_ == 0;
      if (in.pos == taken && out.pos == given) break;
    }
    return Step{in.pos, out.pos};
  }

  bool is_whole() const override { return left_ == 0 && magic_.empty(); }
  uint64_t memory_bytes() const override { return ZSTD_sizeof_DCtx(context_.get()); }

 private:
  static constexpr size_t kMagic = 4;
  // Frames of today's format, and frames to be skipped. The library may know formats from before RFC 8878, too.
  static bool is_known(std::string_view magic) {
    return compression_of({reinterpret_cast<const uint8_t*>(magic.data()), magic.size()}) == Compression::kZstd;
  }

  ZSTD_ErrorCode go_on(ZSTD_outBuffer& out, ZSTD_inBuffer& in) {
    left_ = ZSTD_decompressStream(context_.get(), &out, &in);
    return ZSTD_getErrorCode(left_);
  }

  static Error fault(ZSTD_ErrorCode code) {
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_frameParameter_windowTooLarge)
      return {Trouble::kContent, "a frame needs a window of more than " + std::to_string(1 << (kWindowLogMax - 20)) +
                                     " MiB: compress it again without --long"};
    return {Trouble::kContent, std::string("the library says: ") + ZSTD_getErrorString(code)};
  }

  const std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  size_t left_ = 1;  // 0: behind a frame
  bool is_before_frame_ = true;
  std::string magic_;  // of the frame that begins, as far as it has come
};

}  // namespace

std::unique_ptr<Unpacker> make_zstd() { return std::make_unique<Zstd>(); }

}  // namespace spdld::store::unpack
