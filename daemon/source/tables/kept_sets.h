// How a set of rows is kept with a listing: the number of its words, and the words; and a column of texts: all texts,
// each ended by NUL. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/formats/kept_bytes.h"
#include "daemon/source/tables/columns.h"

namespace spdld::source {

inline void write_set(KeptWriter& writer, const RowSet& set) {
  writer.number(set.words().size());
  for (const uint64_t word : set.words()) writer.number(word);
}

// False: the bytes are no set of `rows` rows.
inline bool read_set(KeptReader& reader, uint64_t rows, RowSet& set) {
  const uint64_t count = reader.number();
  if (count > rows / 64 + 1) return false;
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < count; ++i) words.push_back(reader.number());
  set = RowSet::of(std::move(words));
  return reader.ok();
}

// False: the bytes, as TextColumn::texts() gives them, are damaged.
inline bool read_column(KeptReader& reader, TextColumn& column) {
  for (std::string_view rest = reader.text(); !rest.empty();) {
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return false;
    column.add(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return reader.ok();
}

}  // namespace spdld::source
