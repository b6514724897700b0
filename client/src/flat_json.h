// JSON objects (RFC 8259) whose values are texts and whole numbers alone; a loader's state is written like this. The
// reader is strict and bounds all input; it takes no value within a value, and so needs no recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::client {

inline constexpr size_t kFlatBytesMax = 64 << 10;
inline constexpr size_t kFlatTextBytesMax = 4096;  // of a name or a text
inline constexpr size_t kFlatMembersMax = 32;

struct FlatMember {
  std::string name;
  bool is_text = false;
  std::string text;  // UTF-8 if the JSON is, without NUL
  uint64_t number = 0;
};

// Empty: all of `json` is one object. Else says what is wrong and where, as the end of a sentence; `members` then holds
// the members read before. Names may come twice.
std::string read_flat_object(std::string_view json, std::vector<FlatMember>& members);

// Adds `text` as a JSON text, in its quotes.
void append_json_text(std::string& json, std::string_view text);

}  // namespace spdld::client
