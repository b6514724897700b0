// The indexes of archives in a kept listing: one record for each archive, with its path, its state and its index.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/source/archive_index.h"
#include "daemon/source/kept_file.h"

namespace spdld::source {

// Constant after construction: any thread reads it. Borrows the payload.
class KeptArchives {
 public:
  // Bytes that are no record end the records; the records before them are used.
  explicit KeptArchives(std::string_view payload);

  size_t size() const { return archives_.size(); }
  // The record of an archive whose state is the same as when it was kept; empty: there is no such record.
  std::string_view find(const std::string& path, const KeptState& state) const;

  // The index in a record, whose members all lie in the archive; none where the record is damaged.
  static std::optional<ArchiveIndex> index_of(std::string_view record);
  static std::string record_of(const std::string& path, const KeptState& state, const ArchiveIndex& index);

 private:
  struct Kept {
    KeptState state;
    std::string_view record;
  };
  std::unordered_map<std::string_view, Kept> archives_;  // by path
};

}  // namespace spdld::source
