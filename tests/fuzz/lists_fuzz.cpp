// Lists of numbers, shapes and arrays out of archives: a text, lists in JSON, and a .npy file. The first byte chooses
// the reader and the second one the dtype and the width, or the size of the shapes' picture. What is read must have the
// promised size, no byte behind the room may be written, and an error must say something.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/formats/npy.h"
#include "daemon/media/image/operations/views/object_mask.h"
#include "daemon/media/text/json/json_reader.h"
#include "daemon/media/text/list_text.h"

namespace {

using namespace spdld;
using config::DType;

constexpr uint8_t kUntouched = 0xA5;
constexpr size_t kRoomNumbers = 16;

void require(bool holds) {
  if (!holds) std::abort();
}

// Reads a list into some room, twice as much room, and checks one reading against the other.
template <typename Read>
void read_list(uint8_t choice, Read&& read) {
  constexpr std::array kTypes = {DType::kUint8, DType::kInt16, DType::kUint32,  DType::kInt64,  DType::kUint64,
                                 DType::kInt8,  DType::kInt32, DType::kFloat32, DType::kFloat64};
  const DType dtype = kTypes[choice % kTypes.size()];
  const uint64_t width = choice / kTypes.size() % 5;
  const size_t bytes = config::dtype_bytes(dtype);
  std::vector<uint8_t> less(kRoomNumbers * bytes, kUntouched), more(2 * kRoomNumbers * bytes, kUntouched);
  text::NumberList some{dtype, less.data(), kRoomNumbers / 2, width}, all{dtype, more.data(), kRoomNumbers, width};
  const Status status = read(some), again = read(all);
  require(bool(status) == bool(again));
  for (size_t i = kRoomNumbers / 2 * bytes; i < less.size(); ++i) require(less[i] == kUntouched);
  for (size_t i = kRoomNumbers * bytes; i < more.size(); ++i) require(more[i] == kUntouched);
  if (!status) {
    require(status.error().trouble == Trouble::kContent && !status.error().message.empty());
    require(status.error().message == again.error().message);
    return;
  }
  require(some.count == all.count && some.count % some.numbers_of_row() == 0);
  const size_t common = std::min<size_t>(some.count, kRoomNumbers / 2) * bytes;
  require(std::equal(less.begin(), less.begin() + static_cast<ptrdiff_t>(common), more.begin()));
}

void read_text(uint8_t choice, std::string_view text) {
  const std::vector<char> copy(text.begin(), text.end());  // so that reading behind its end shows
  read_list(choice, [&](text::NumberList& list) { return text::read_list({copy.data(), copy.size()}, list); });
}

void read_json(uint8_t choice, std::string_view text) {
  static text::JsonReader reader;
  const std::vector<uint8_t> copy(text.begin(), text.end());
  if (!reader.read(copy)) return;
  for (const char* path : {"json:a", "json:[0]"}) {
    const auto steps = config::parse_field_path(path).steps;
    read_list(choice, [&](text::NumberList& list) { return reader.read_list(steps, list); });
  }
}

// Shapes are drawn in a small picture. Each pixel of the rows that a mask has is 0 or 1. Longer sides of polygons say
// nothing new, slowly.
void draw_shapes(uint8_t choice, std::string_view text) {
  static text::JsonReader reader;
  const std::vector<uint8_t> copy(text.begin(), text.end());
  if (!reader.read(copy)) return;
  text::ShapeList list;
  const Status read = reader.read_shapes({}, list);
  if (!read) return require(read.error().trouble == Trouble::kContent && !read.error().message.empty());
  const Size picture{1 + choice % 16, 1 + choice / 16};
  const auto is_near = [](double place) { return std::abs(place) < 1000; };
  image::ObjectMask mask;
  mask.open(picture);
  for (const auto& shape : list.shapes) {
    mask.begin();
    Status drawn = Done{};
    if (shape.kind == text::ShapeKind::kRuns) drawn = mask.add_runs(list.runs_of(shape));
    if (shape.kind == text::ShapeKind::kPackedRuns) drawn = mask.add_packed_runs(list.packed_of(shape));
    if (shape.kind == text::ShapeKind::kPolygons)
      for (const auto& polygon : list.polygons_of(shape))
        if (const auto numbers = list.numbers_of(polygon);
            drawn && std::all_of(numbers.begin(), numbers.end(), is_near))
          drawn = mask.add_polygon(numbers);
    if (!drawn) require(drawn.error().trouble == Trouble::kContent && !drawn.error().message.empty());
    for (int y = 0; y < picture.height; ++y)
      if (const uint8_t* row = mask.row(y))
        require(std::all_of(row, row + picture.width, [](uint8_t pixel) { return pixel <= 1; }));
  }
}

void read_npy(std::string_view text) {
  const std::vector<uint8_t> copy(text.begin(), text.end());
  const auto npy = array::read_npy(copy);
  if (!npy) {
    require(npy.error().trouble == Trouble::kContent && !npy.error().message.empty());
    return;
  }
  uint64_t count = 1;
  for (const uint64_t size : npy->shape) count *= size;
  const bool is_empty = std::find(npy->shape.begin(), npy->shape.end(), uint64_t{0}) != npy->shape.end();
  require(npy->data.size() == (is_empty ? 0 : count * config::dtype_bytes(npy->dtype)));
  require(npy->shape.size() <= array::kNpyRankMax);
  std::vector<uint8_t> elements(npy->data.size());
  array::copy_elements(*npy, is_empty ? 0 : count, elements.data());
  if (!npy->is_big_endian) require(std::equal(elements.begin(), elements.end(), npy->data.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  constexpr size_t kChoice = 2;
  if (size < kChoice) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + kChoice, size - kChoice);
  switch (bytes[0] % 5) {
    case 0:
      read_text(bytes[1], text);
      break;
    case 1:
      read_json(bytes[1], text);
      break;
    case 2:
      (void)array::read_npy_header(text);
      break;
    case 4:
      draw_shapes(bytes[1], text);
      break;
    default:
      read_npy(text);
      break;
  }
  return 0;
}
