// Reads a chain's first value as a list of numbers, whether it is a text or lies inside of JSON. Any thread, each with
// a workspace of its own.
#pragma once

#include <cstdint>

#include "config/text/dtype.h"
#include "daemon/base/byte_buffer.h"
#include "daemon/media/node.h"
#include "daemon/media/text/json/number_list.h"

namespace spdld::text {

// `reads_json`: as the chain's node says. Errors as read_list() has them.
Status read_list_value(const media::Value& value, bool reads_json, NumberList& list, media::WorkGuard* guard = nullptr);

inline constexpr uint64_t kListElementsMax = 65'536;  // of one sample's list; a longer list is bad content

// The list that a decode thread reads now.
struct ListWork {
  explicit ListWork(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max) { memory.shrink(bytes_max); }

  ByteBuffer memory;
};

// How a list is written and what it holds.
struct ListKind {
  config::DType dtype;
  uint64_t width;   // numbers of an element; 0: an element is one number
  bool reads_json;  // the value is one inside of JSON
};
// Reads the value into the thread's ListWork, and returns how many elements it has. kContent: it is no such list, or it
// has more than kListElementsMax.
Result<uint64_t> read_list_value(const media::Value& value, const ListKind& kind, ListWork& work);

}  // namespace spdld::text
