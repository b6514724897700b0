// What says where a label lies and what it is: a uri's braces and an output's `from`, which clients write, and the JSON
// that lies in archives. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/text/field_path.h"
#include "config/uri_pattern.h"
#include "daemon/media/text/json/json_reader.h"

namespace {

using namespace spdld;

void require(bool holds) {
  if (!holds) std::abort();
}

void expand(std::string_view text) {
  const std::string pattern(text);
  const std::string fixed = config::fixed_folder("/" + pattern);
  if (!config::pattern_error(pattern).empty()) return;
  const config::Expansion all = config::expansion_of(pattern);
  require(all.paths <= config::kUriPathsMax && all.bytes <= config::kUriPathBytesMax);
  if (all.paths > 10'000) return;  // made, but not here each time
  const auto paths = config::expand_braces(pattern);
  require(paths.size() == all.paths);
  uint64_t bytes = 0;
  for (const auto& path : paths) {
    bytes += path.size();
    require(!config::has_braces(path));
    require(("/" + path).compare(0, fixed.size(), fixed) == 0);
  }
  require(bytes <= all.bytes);
}

void parse(std::string_view text) {
  const config::FieldPath path = config::parse_field_path(text);
  if (!path.error.empty()) return;
  const std::string tidy = path.field() + (path.is_json() ? ":" + config::steps_text(path.steps) : "");
  if (tidy.size() > config::kFieldPathBytesMax) return;
  const config::FieldPath again = config::parse_field_path(tidy);
  require(again.error.empty() && again.alternatives == path.alternatives && again.steps == path.steps);
}

// "steps NUL text"
void pick(std::string_view text) {
  const size_t end = text.find('\0');
  if (end == std::string_view::npos) return;
  const config::FieldPath path = config::parse_field_path("json:" + std::string(text.substr(0, end)));
  if (!path.error.empty()) return;
  text.remove_prefix(end + 1);
  static text::JsonReader reader;
  const std::string copy(text);  // so that reading behind its end shows
  if (!reader.read({reinterpret_cast<const uint8_t*>(copy.data()), copy.size()})) return;
  const auto value = reader.at(path.steps);
  require(value ? value->size() <= copy.size() + 32 : !value.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0] % 3) {
    case 0:
      expand(text);
      break;
    case 1:
      parse(text);
      break;
    default:
      pick(text);
      break;
  }
  return 0;
}
