// Which colour of a mask means which value: masks whose classes are painted in colours of their own. Constant after
// construction; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/picture.h"
#include "daemon/base/result.h"

namespace spdld::image {

class MaskColours {
 public:
  static constexpr uint32_t kValueMax = 65'535;

  // The colours of the values 0, 1 and so on, as texts with commas between them: "#000000,#800000". Other values than
  // colours throw SetupError.
  static MaskColours of_texts(std::string_view texts);
  // The colours in a file: one in each line, as three numbers, as four (the value and its colour), or as "#800000",
  // with blanks, commas or semicolons between them. Words, such as the names of classes, are passed over; so are
  // remarks, and lines without a colour before the first one. Other lines, and colours and values that are there twice,
  // throw SetupError.
  static MaskColours of_file(const std::string& path, std::span<const uint8_t> bytes);

  uint32_t largest() const { return largest_; }
  // Pixels of 8-bit RGB become their values at `out`. `other`: of colours that are not known; none: these are
  // kContent.
  template <typename T>
  Status convert(const PixelRows& rows, std::optional<uint32_t> other, T* out) const;

 private:
  // Sorts the colours, so that they are found. `where` begins the sentence if one is there twice.
  void finish(const std::string& where);
  std::optional<uint32_t> find(uint32_t colour) const;

  std::vector<std::pair<uint32_t, uint32_t>> values_;  // by colour
  uint32_t largest_ = 0;
};

}  // namespace spdld::image
