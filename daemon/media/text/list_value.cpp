#include "daemon/media/text/list_value.h"

#include <algorithm>
#include <string>

#include "daemon/media/text/json/json_reader.h"
#include "daemon/media/text/list_text.h"

namespace spdld::text {

Status read_list_value(const media::Value& value, bool reads_json, NumberList& list, media::WorkGuard* guard) {
  return reads_json ? value.json->reader.read_list(value.json->steps, list) : read_list(value.text(), list, guard);
}

Result<uint64_t> read_list_value(const media::Value& value, const ListKind& kind, ListWork& work) {
  const uint64_t numbers_max = kListElementsMax * std::max<uint64_t>(kind.width, 1);
  NumberList list{kind.dtype, work.memory.resize(numbers_max * config::dtype_bytes(kind.dtype)), numbers_max,
                  kind.width};
  const Status read = read_list_value(value, kind.reads_json, list);
  if (!read) return read.error();
  if (list.rows() > kListElementsMax)
    return Error{Trouble::kContent, "the list has " + std::to_string(list.rows()) + " elements; at most " +
                                        std::to_string(kListElementsMax) + " are allowed"};
  return list.rows();
}

}  // namespace spdld::text
