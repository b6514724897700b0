// The values in the rows of a manifest: how they are taken out of a row that was read for them. A row is read and
// parsed again for each value, so that a listing holds a row's place alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/tables/reading/csv.h"
#include "daemon/source/tables/reading/json_text.h"
#include "daemon/store/packing.h"

namespace spdld::source {

enum class ManifestFormat : uint8_t { kCsv, kTsv, kJsonLines };

constexpr char separator_of(ManifestFormat format) { return format == ManifestFormat::kTsv ? '\t' : ','; }

// A field's column in one file.
struct ManifestField {
  std::string name;
  bool is_base64 = false;
  std::optional<size_t> column = {};  // of CSV; none: the file has no such column
};

// Rows of CSV and TSV. `columns`: how many values each row has.
class CsvRows final : public store::Packing {
 public:
  CsvRows(char separator, size_t columns, std::vector<ManifestField> fields)
      : separator_(separator), columns_(columns), fields_(std::move(fields)) {}
  Result<Piece> find(std::span<const uint8_t> holder, uint32_t packed) const override;
  Result<uint64_t> unpack(const Piece& piece, uint8_t* to) const override;

 private:
  char separator_;
  size_t columns_;
  std::vector<ManifestField> fields_;
};

// Rows of JSON lines. Where a key stands twice in a row, the last value counts.
class JsonRows final : public store::Packing {
 public:
  explicit JsonRows(std::vector<ManifestField> fields) : fields_(std::move(fields)) {}
  Result<Piece> find(std::span<const uint8_t> holder, uint32_t packed) const override;
  Result<uint64_t> unpack(const Piece& piece, uint8_t* to) const override;

 private:
  std::vector<ManifestField> fields_;
};

}  // namespace spdld::source
