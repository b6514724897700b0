#include <libdeflate.h>

#include "daemon/media/image/codecs/png/inflater.h"

namespace spdld::image {

struct Inflater::Inside {
  struct Free {
    void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
  };
  std::unique_ptr<libdeflate_decompressor, Free> decompressor{libdeflate_alloc_decompressor()};
};

Inflater::Inflater() : inside_(std::make_unique<Inside>()) {}
Inflater::~Inflater() = default;

bool Inflater::run(std::span<const uint8_t> coded, std::span<uint8_t> out) {
  if (!inside_->decompressor) return false;  // there was no memory
  size_t taken = 0;
  // Without a place for the number of bytes that were made, fewer than wanted are an error, too.
  return libdeflate_zlib_decompress_ex(inside_->decompressor.get(), coded.data(), coded.size(), out.data(), out.size(),
                                       &taken, nullptr) == LIBDEFLATE_SUCCESS &&
         taken == coded.size();
}

}  // namespace spdld::image
