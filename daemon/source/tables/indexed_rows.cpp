#include "daemon/source/tables/indexed_rows.h"

#include "config/catalogue.h"
#include "config/npy_values.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"

namespace spdld::source {

IndexedRows::IndexedRows(DataFiles files, std::vector<TableIndex> indexes, std::vector<Field> fields,
                         std::unique_ptr<const store::Packing> packing, std::string_view type, const std::string& what,
                         const Remarks& remarks, const ArchiveAccess& access)
    : TableListing(std::move(files)), packing_(std::move(packing)) {
  fields_ = std::move(fields);
  Fingerprint fingerprint;
  fingerprint.add_text(type);
  for (const Field& field : fields_) {
    fingerprint.add_text(field.name);
    fingerprint.add_number(field.raw && field.raw->dtype ? uint64_t{static_cast<uint8_t>(*field.raw->dtype)} : 255);
    if (field.raw && config::are_npy(*field.raw)) fingerprint.add_text("npy");
  }
  fields_.push_back({std::string(config::kTableNameField), FieldKind::kText});
  remarks_.add_all(remarks);
  for (TableIndex& index : indexes) {
    add_file(index, fingerprint);
    rows_.push_back(std::move(index.places));
  }
  fingerprint_ = fingerprint.digits();
  open_streams(access);
  if (size() != 0) return;
  const auto& said = remarks_.all().first;
  throw SetupError(Trouble::kUsage, what + " has no row" + (said.empty() ? "" : " (" + said.front() + ")") + ".");
}

Locator IndexedRows::locate(uint64_t sample, FieldId field) const {
  if (field + size_t{1} >= fields_.size()) return {};  // the last one is the name
  const size_t number = file_of(sample);
  const uint64_t row = sample - first_of(number);
  const auto [offset, length] = rows_[number][row];
  Locator locator = place_in(number, offset, length);
  locator.packing = packing_.get();
  locator.packed = field;
  return locator;
}

uint64_t IndexedRows::memory_bytes() const {
  uint64_t bytes = rows_.capacity() * sizeof(RowPlaces);
  for (const RowPlaces& rows : rows_) bytes += rows.memory_bytes();
  return bytes;
}

}  // namespace spdld::source
