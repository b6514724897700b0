// Reads a chain's first value as a list of numbers, whether it is a text or lies inside of JSON. Any thread.
#pragma once

#include "daemon/media/node.h"
#include "daemon/media/text/json/json_reader.h"
#include "daemon/media/text/list_text.h"

namespace spdld::text {

// `reads_json`: as the chain's node says. Errors as read_list() has them.
inline Status read_list_value(const media::Value& value, bool reads_json, NumberList& list) {
  return reads_json ? value.json->reader.read_list(value.json->steps, list) : read_list(value.text(), list);
}

}  // namespace spdld::text
