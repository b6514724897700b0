// A listing of tables whose fields all lie packed in the rows of their files. An index says where the rows lie.
// Constant after construction; any thread.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/source/tables/table_index.h"
#include "daemon/source/tables/table_listing.h"
#include "daemon/store/packing.h"

namespace spdld::source {

class IndexedRows final : public TableListing {
 public:
  // `fields`: value number i of `packing` is the field i. Throws SetupError where there is no row at all; `what` is the
  // source, for the sentence.
  IndexedRows(DataFiles files, std::vector<TableIndex> indexes, std::vector<Field> fields,
              std::unique_ptr<const store::Packing> packing, std::string_view type, const std::string& what,
              const Remarks& remarks, const ArchiveAccess& access);

  Locator locate(uint64_t sample, FieldId field) const override;
  bool may_lack(uint64_t, FieldId) const override { return false; }
  bool lacks(uint64_t, FieldId) const override { return false; }  // fetching a row finds it out
  uint64_t memory_bytes() const override;

 private:
  RowPlaces::Place row_of(size_t number, uint64_t row) const override { return rows_[number][row]; }

  std::vector<RowPlaces> rows_;  // of each file
  std::unique_ptr<const store::Packing> packing_;
};

}  // namespace spdld::source
