// A data set in user code: its items are counted here, and made elsewhere.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/catalogue.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/listings.h"
#include "daemon/store/packing.h"
#include "proto/crew/record.h"

namespace spdld::source {
namespace {

class RecordValues final : public store::Packing {
 public:
  explicit RecordValues(size_t count) : count_(count) {}
  Result<Piece> find(std::span<const uint8_t> record, uint32_t number) const override {
    const auto value = proto::crew::value_in(record, count_, number);
    if (!value) return Error{Trouble::kContent, "has a record whose values do not lie in it"};
    return Piece{.bytes = *value, .bytes_max = value->size()};
  }

 private:
  const size_t count_;
};

class Items final : public Listing {
 public:
  Items(const SourceOpening& opening, const config::SourceSpec& spec)
      : call_(opening.text("call")),
        source_(spec.name),
        owner_("user " + std::to_string(opening.places.user)),
        size_(static_cast<uint64_t>(opening.integer("samples", 0))),
        values_(config::item_values(spec).size()) {
    Fingerprint fingerprint;
    fingerprint.add_text("python");
    fingerprint.add_text(call_);
    fingerprint.add_text(opening.text("code"));
    fingerprint.add_number(size_);
    for (const config::NamedValueType& value : config::item_values(spec)) {
      fields_.push_back({value.name, FieldKind::kFetched, config::raw_values(value.type)});
      fingerprint.add_text(value.name);
      fingerprint.add_text(config::value_type_text(value.type));
    }
    fields_.push_back({std::string(config::kTableNameField), FieldKind::kText});
    fingerprint_ = fingerprint.digits();
  }

  uint64_t size() const override { return size_; }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    if (fields_[field].kind != FieldKind::kFetched) return {};
    return {
        .path = {}, .offset = sample, .identity = kIdentity, .packing = &values_, .packed = field, .maker = &maker_};
  }
  bool may_lack(uint64_t, FieldId) const override { return false; }
  bool lacks(uint64_t, FieldId) const override { return false; }
  int64_t integer(uint64_t, FieldId) const override { return 0; }
  std::string name(uint64_t sample) const override { return call_ + '[' + std::to_string(sample) + ']'; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::string owner() const override { return owner_; }
  uint64_t memory_bytes() const override { return sizeof *this + fields_.capacity() * sizeof(Field); }
  std::span<const std::string> classes() const override { return {}; }
  bool unchanged() const override { return true; }  // another data set is another spec

 private:
  // A kept copy is of this item as long as the listing's fingerprint is the same.
  static constexpr store::Identity kIdentity{.size = 1};

  const std::string call_, source_, owner_;
  const store::Maker maker_{source_};
  const uint64_t size_;
  const RecordValues values_;
  std::vector<Field> fields_;
  std::string fingerprint_;
};

}  // namespace

std::unique_ptr<Listing> open_python(const SourceOpening& opening) {
  return std::make_unique<Items>(opening, opening.spec);
}

}  // namespace spdld::source
