// Inflates a whole zlib stream at once, by the library that the build has: libdeflate, or else zlib. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace spdld::image {

class Inflater {
 public:
  Inflater();
  ~Inflater();
  // True: `coded` is one sound stream that makes exactly out.size() bytes, and these lie there. Else `out` is
  // undefined.
  bool run(std::span<const uint8_t> coded, std::span<uint8_t> out);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::image
