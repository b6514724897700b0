// The indexes of archives in a kept listing: one record for each archive, with its path, its state and its index.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/source/archive_index.h"
#include "daemon/source/kept_records.h"

namespace spdld::source {

// As KeptRecords, whose indexes are of archives.
class KeptArchives : public KeptRecords {
 public:
  using KeptRecords::KeptRecords;

  // The index in a record, whose members all lie in the archive; none where the record is damaged.
  static std::optional<ArchiveIndex> index_of(std::string_view record);
  static std::string record_of(const std::string& path, const KeptState& state, const ArchiveIndex& index);
};

}  // namespace spdld::source
