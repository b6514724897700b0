// The indexes of archives as a kept listing has them: one record an archive, of its path, its state and its index.
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
  // What is not in the form of records ends them: those before are used.
  explicit KeptArchives(std::string_view payload);

  size_t size() const { return archives_.size(); }
  // The record of an archive that is in the state in which it was kept; empty: there is none.
  std::string_view find(const std::string& path, const KeptState& state) const;

  // The index in a record; none where it is damaged: every member lies in the archive.
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
