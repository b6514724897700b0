// Pictures that releases of libavif get wrong, mostly without a word: they are refused by name, where the release that
// is linked is one of these. The file's boxes tell the kind (ISO/IEC 14496-12, and 23008-12 for items).
// Pure functions; any thread. The bytes are not trusted.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld::image {

struct AvifRelease {
  int major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const AvifRelease&, const AvifRelease&) = default;
  std::string text() const;  // "0.11.1"
};
// Of avifVersion(): "0.11.1".
AvifRelease avif_release_of(std::string_view version);

// Why this release can't be asked for the picture. None: nothing is known against it. `wants_alpha`: alpha that is
// wrong is a fault, too.
std::optional<Error> avif_fault(std::span<const uint8_t> avif, bool wants_alpha, const AvifRelease& release);

}  // namespace spdld::image
