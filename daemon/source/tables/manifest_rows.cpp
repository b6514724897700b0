#include "daemon/source/tables/manifest_rows.h"

#include <algorithm>
#include <cstring>

#include "daemon/base/formats/base64.h"

namespace spdld::source {
namespace {

using Piece = store::Packing::Piece;

// Notes of a Piece.
constexpr uint32_t kDoubledQuotes = 1, kEscapes = 2, kBase64 = 4;

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

Error replaced() { return bad("there is no such row as when it was listed: was the file replaced?"); }

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Piece piece_of(std::string_view text, uint32_t form) {
  const uint64_t most =
      (form & kBase64) != 0 ? std::max<uint64_t>(text.size(), base64_bytes_max(text.size())) : text.size();
  return {{reinterpret_cast<const uint8_t*>(text.data()), text.size()}, most, form};
}

// `size`: of the text at `to`, if it was written there already.
Result<uint64_t> decode(const Piece& piece, std::optional<uint64_t> size, uint8_t* to) {
  if ((piece.form & kBase64) == 0) return *size;
  const auto bytes = read_base64(size ? std::span<const uint8_t>(to, *size) : piece.bytes, to);
  if (!bytes) return bad("its value is no base64");
  return *bytes;
}

}  // namespace

Result<Piece> CsvRows::find(std::span<const uint8_t> holder, uint32_t packed) const {
  CsvRow row;
  read_csv_row(text_of(holder), separator_, true, row);
  if (row.state != CsvRow::State::kWhole || row.bytes != holder.size() || row.values.size() != columns_)
    return replaced();
  const ManifestField& field = fields_[packed];
  const CsvValue& value = row.values[*field.column];
  return piece_of(value.text, (value.has_doubled_quotes ? kDoubledQuotes : 0) | (field.is_base64 ? kBase64 : 0));
}

Result<uint64_t> CsvRows::unpack(const Piece& piece, uint8_t* to) const {
  const bool is_plain = (piece.form & kDoubledQuotes) == 0;
  if (is_plain && (piece.form & kBase64) != 0) return decode(piece, std::nullopt, to);
  return decode(piece, plain_csv({text_of(piece.bytes), !is_plain}, to), to);
}

Result<Piece> JsonRows::find(std::span<const uint8_t> holder, uint32_t packed) const {
  const ManifestField& field = fields_[packed];
  std::optional<JsonValue> found;
  const bool is_sound = for_each_entry_of(text_of(holder), [&](const JsonValue& key, const JsonValue& value) {
    if (key.has_escapes ? plain_text(key) == field.name : key.text == field.name) found = value;
    return true;
  });
  if (!is_sound) return replaced();
  if (!found || found->kind == JsonKind::kNull) return replaced();
  if (field.is_base64 && found->kind != JsonKind::kText) return bad("its value is no text in base64");
  return piece_of(found->text, (found->has_escapes ? kEscapes : 0) | (field.is_base64 ? kBase64 : 0));
}

Result<uint64_t> JsonRows::unpack(const Piece& piece, uint8_t* to) const {
  if ((piece.form & kEscapes) != 0) {
    const auto size = plain_json(text_of(piece.bytes), to);
    if (!size) return bad("its value has an escape that JSON has not, or half of a pair of surrogates");
    return decode(piece, size, to);
  }
  if ((piece.form & kBase64) != 0) return decode(piece, std::nullopt, to);
  return Packing::unpack(piece, to);
}

}  // namespace spdld::source
