// Takes single values, lists of numbers and lists of shapes out of a text of JSON (RFC 8259), such as a label or boxes
// out of a webdataset's json member. The whole text must be sound, but NaN, Infinity and -Infinity may stand for
// values, as Python's json writes them: such a value is its word. The text is not trusted: its size is bounded, and so
// is its depth (1024, the library's own bound), nothing recurses, and no exception leaves but std::bad_alloc. Where a
// key comes twice, the last value counts, as in Python's json. The text is read by simdjson, which was measured beside
// nlohmann-json's events: 1 microsecond of CPU against 12 for 640 bytes, 20 against 144 for 5,600, where a picture
// takes 700.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/text/field_path.h"
#include "daemon/base/result.h"
#include "daemon/media/text/json/number_list.h"
#include "daemon/media/text/json/shape_list.h"

namespace spdld::text {

inline constexpr size_t kJsonBytesMax = 16u << 20;
// The most that a JsonReader takes for a byte of text: its numbers and texts, and a copy, of a text that quotes around
// such words make half as long again.
inline constexpr uint64_t kJsonBytesPerByte = 24;

// One thread.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;

  // Reads a text; its values are available until the next read(). An error (kContent) is a clause: the text is no JSON,
  // or too large.
  Status read(std::span<const uint8_t> bytes);

  // The text of the value at the end of the steps: a number's digits, a text without its quotes, "1" of true and "0" of
  // false. The view lives until the next call. An error (kContent) is a clause that says why: a key is missing, or the
  // value is a list, a table or null.
  Result<std::string_view> at(const std::vector<config::JsonStep>& steps);

  // Reads the value at the end of the steps as a list of numbers, or of lists of list.width numbers. An error
  // (kContent) is a clause that says which element does not fit; the content of list.memory is undefined then.
  Status read_list(const std::vector<config::JsonStep>& steps, NumberList& list);

  // Reads the value at the end of the steps as a list of shapes: each a list of polygons, null (a shape without
  // polygons), or a table with `size` and `counts`. An error (kContent) is a clause that says which shape does not fit.
  Status read_shapes(const std::vector<config::JsonStep>& steps, ShapeList& list);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// A value in a text that was read: at the end of the steps. The caller keeps both alive.
struct JsonPlace {
  JsonReader& reader;
  const std::vector<config::JsonStep>& steps;
};

}  // namespace spdld::text
