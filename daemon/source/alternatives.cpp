#include "daemon/source/alternatives.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/field_path.h"

namespace spdld::source {
namespace {

class WithAlternatives final : public Listing {
 public:
  explicit WithAlternatives(std::unique_ptr<Listing> inside)
      : inside_(std::move(inside)), fields_(inside_->fields().begin(), inside_->fields().end()) {}

  // False: none of these is a fetched field, or it is there already.
  bool add(const std::string& name) {
    if (find_field(name, nullptr) != nullptr) return false;
    std::vector<FieldId> ids;
    for (const std::string& alternative : config::parse_field_path(name).alternatives) {
      FieldId id = 0;
      const Field* field = inside_->find_field(alternative, &id);
      if (field != nullptr && field->kind == FieldKind::kFetched) ids.push_back(id);
    }
    if (ids.empty()) return false;
    fields_.push_back({name, FieldKind::kFetched});
    ids_.push_back(std::move(ids));
    return true;
  }
  std::unique_ptr<Listing> take_inside() { return std::move(inside_); }

  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    const size_t own = inside_->fields().size();
    if (field < own) return inside_->locate(sample, field);
    for (const FieldId id : ids_[field - own]) {
      const Locator locator = inside_->locate(sample, id);
      if (!locator.path.empty()) return locator;
    }
    return {};
  }

  bool may_lack(uint64_t sample, FieldId field) const override {
    const size_t own = inside_->fields().size();
    if (field < own) return inside_->may_lack(sample, field);
    const auto& ids = ids_[field - own];
    return std::all_of(ids.begin(), ids.end(), [&](FieldId id) { return inside_->may_lack(sample, id); });
  }

  bool lacks(uint64_t sample, FieldId field) const override {
    const size_t own = inside_->fields().size();
    if (field < own) return inside_->lacks(sample, field);
    const auto& ids = ids_[field - own];
    return std::all_of(ids.begin(), ids.end(), [&](FieldId id) { return inside_->lacks(sample, id); });
  }

  uint64_t size() const override { return inside_->size(); }
  int64_t integer(uint64_t sample, FieldId field) const override { return inside_->integer(sample, field); }
  std::string name(uint64_t sample) const override { return inside_->name(sample); }
  const std::string& fingerprint() const override { return inside_->fingerprint(); }
  std::string owner() const override { return inside_->owner(); }
  uint64_t memory_bytes() const override { return inside_->memory_bytes(); }
  std::span<const std::string> classes() const override { return inside_->classes(); }
  bool has_weights() const override { return inside_->has_weights(); }
  double weight(uint64_t sample) const override { return inside_->weight(sample); }
  bool is_untaken(uint64_t sample) const override { return inside_->is_untaken(sample); }
  uint64_t untaken_count() const override { return inside_->untaken_count(); }
  const Remarks& said() const override { return inside_->said(); }
  unsigned store_concurrency() const override { return inside_->store_concurrency(); }
  bool is_at_hand() const override { return inside_->is_at_hand(); }
  bool is_remote() const override { return inside_->is_remote(); }
  bool unchanged() const override { return inside_->unchanged(); }
  std::span<const uint64_t> archive_starts() const override { return inside_->archive_starts(); }
  const Streaming* streaming() const override { return inside_->streaming(); }
  void expect(uint64_t sample, uint64_t place, uint64_t horizon) const override {
    inside_->expect(sample, place, horizon);
  }
  std::span<const JoinedPart> parts() const override { return inside_->parts(); }

 private:
  std::unique_ptr<Listing> inside_;
  std::vector<Field> fields_;              // its own fields, then the chosen ones
  std::vector<std::vector<FieldId>> ids_;  // of each chosen field, in order of preference
};

}  // namespace

std::unique_ptr<Listing> with_alternatives(std::unique_ptr<Listing> listing, std::span<const std::string> wanted) {
  auto chosen = std::make_unique<WithAlternatives>(std::move(listing));
  bool any = false;
  for (const std::string& name : wanted) any |= name.find(';') != std::string::npos && chosen->add(name);
  if (!any) return chosen->take_inside();
  return chosen;
}

bool is_among(std::string_view wanted, const std::string& field) {
  return (';' + std::string(wanted) + ';').find(';' + field + ';') != std::string::npos;
}

}  // namespace spdld::source
