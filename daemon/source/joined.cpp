#include "daemon/source/joined.h"

#include <algorithm>
#include <utility>

#include "config/catalogue.h"
#include "config/npy_values.h"
#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/remarks.h"

namespace spdld::source {
namespace {

constexpr uint64_t kSamplesMax = uint64_t{1} << 62;
constexpr std::string_view kClassField = "class";

std::string_view kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::kFetched:
      return "bytes";
    case FieldKind::kInteger:
      return "a number";
    case FieldKind::kText:
      return "a name";
  }
  return "";
}

class JoinedListing final : public Listing {
 public:
  explicit JoinedListing(std::vector<NamedListing> parts) : listings_(std::move(parts)) {
    Fingerprint fingerprint;
    fingerprint.add_text("mix");
    fingerprint.add_number(listings_.size());
    for (const auto& [name, listing] : listings_) {
      if (listing->size() > kSamplesMax - size_)
        throw SetupError(Trouble::kLimit, "the sources have too many samples together.");
      parts_.push_back({name, listing.get(), size_});
      for (const uint64_t start : listing->archive_starts()) starts_.push_back(size_ + start);
      if (listing->archive_starts().empty()) starts_.push_back(size_);
      size_ += listing->size();
      records_.push_back(records_.back() + listing->record_count());
      fingerprint.add_text(name);
      fingerprint.add_text(listing->fingerprint());
      remarks_.add_all(listing->said(), name + ": ");
    }
    fingerprint_ = fingerprint.digits();
    join_fields();
    if (find_field(kClassField, nullptr) != nullptr) unite_classes();
  }

  uint64_t size() const override { return size_; }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t sample, FieldId field) const override {
    const size_t part = part_of_sample(sample);
    return field == source_field() ? Locator{} : parts_[part].listing->locate(local(sample, part), ids_[part][field]);
  }
  int64_t integer(uint64_t sample, FieldId field) const override {
    const size_t part = part_of_sample(sample);
    if (field == source_field()) return static_cast<int64_t>(part);
    const int64_t value = parts_[part].listing->integer(local(sample, part), ids_[part][field]);
    if (classes_.empty() || fields_[field].name != kClassField) return value;
    return class_numbers_[part][static_cast<size_t>(value)];
  }
  std::string name(uint64_t sample) const override {
    const size_t part = part_of_sample(sample);
    return parts_[part].name + '/' + parts_[part].listing->name(local(sample, part));
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::string owner() const override {
    for (const auto& part : parts_)
      if (std::string owner = part.listing->owner(); !owner.empty()) return owner;
    return {};
  }
  uint64_t memory_bytes() const override {
    uint64_t bytes = starts_.capacity() * sizeof(starts_[0]);
    for (const auto& part : parts_) bytes += part.listing->memory_bytes();
    return bytes;
  }
  std::span<const std::string> classes() const override { return classes_; }
  const Remarks& said() const override { return remarks_; }
  bool may_lack(uint64_t sample, FieldId field) const override {
    const size_t part = part_of_sample(sample);
    return field != source_field() && parts_[part].listing->may_lack(local(sample, part), ids_[part][field]);
  }
  bool lacks(uint64_t sample, FieldId field) const override {
    const size_t part = part_of_sample(sample);
    return field != source_field() && parts_[part].listing->lacks(local(sample, part), ids_[part][field]);
  }
  bool is_remote() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.listing->is_remote(); });
  }
  unsigned store_concurrency() const override {
    unsigned most = 0;
    for (const auto& part : parts_) most = std::max(most, part.listing->store_concurrency());
    return most;
  }
  bool unchanged() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const JoinedPart& part) { return part.listing->unchanged(); });
  }
  std::span<const uint64_t> archive_starts() const override { return starts_; }
  bool has_rows() const override { return parts_.front().listing->has_rows(); }
  uint64_t record_count() const override { return records_.back(); }
  uint64_t record_of(uint64_t sample) const override {
    const size_t part = part_of_sample(sample);
    return records_[part] + parts_[part].listing->record_of(local(sample, part));
  }
  RowPart part_of(uint64_t sample) const override {
    const size_t part = part_of_sample(sample);
    return parts_[part].listing->part_of(local(sample, part));
  }
  bool cuts(FieldId field) const override {
    return field != source_field() && parts_.front().listing->cuts(ids_.front()[field]);
  }
  bool gather(uint64_t sample, FieldId field, std::vector<Locator>& pieces) const override {
    const size_t part = part_of_sample(sample);
    return field != source_field() && parts_[part].listing->gather(local(sample, part), ids_[part][field], pieces);
  }
  std::span<const JoinedPart> parts() const override { return parts_; }

 private:
  // In the order of the first part; `source` is the last one, and hides members that are called so.
  void join_fields() {
    ids_.resize(parts_.size());
    for (const Field& field : parts_.front().listing->fields()) {
      std::vector<FieldId> ids;
      Field joined = field;
      for (const JoinedPart& part : parts_) {
        FieldId id = 0;
        const Field* found = part.listing->find_field(field.name, &id);
        if (found == nullptr || found->kind != field.kind) break;
        ids.push_back(id);
        if (found->raw != joined.raw) {
          const auto is_npy = [](const auto& raw) { return raw && config::are_npy(*raw); };
          joined.raw = is_npy(found->raw) || is_npy(joined.raw) ? std::optional(config::npy_values({})) : std::nullopt;
        }
      }
      if (ids.size() != parts_.size() || field.name == config::kSourceField) continue;
      fields_.push_back(std::move(joined));
      for (size_t i = 0; i < ids.size(); ++i) ids_[i].push_back(ids[i]);
    }
    fields_.push_back({std::string(config::kSourceField), FieldKind::kInteger});
  }

  void unite_classes() {
    for (const JoinedPart& part : parts_) {
      const auto classes = part.listing->classes();
      classes_.insert(classes_.end(), classes.begin(), classes.end());
    }
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    for (const JoinedPart& part : parts_) {
      std::vector<int64_t> numbers;
      for (const auto& name : part.listing->classes())
        numbers.push_back(std::lower_bound(classes_.begin(), classes_.end(), name) - classes_.begin());
      class_numbers_.push_back(std::move(numbers));
    }
  }

  FieldId source_field() const { return static_cast<FieldId>(fields_.size() - 1); }
  size_t part_of_sample(uint64_t sample) const {
    const auto after = std::upper_bound(parts_.begin(), parts_.end(), sample,
                                        [](uint64_t wanted, const JoinedPart& part) { return wanted < part.first; });
    return static_cast<size_t>(after - parts_.begin()) - 1;
  }
  uint64_t local(uint64_t sample, size_t part) const { return sample - parts_[part].first; }

  std::vector<NamedListing> listings_;
  std::vector<JoinedPart> parts_;
  uint64_t size_ = 0;
  std::vector<uint64_t> records_ = {0};  // sums over the parts before
  std::vector<Field> fields_;
  std::vector<std::vector<FieldId>> ids_;  // by part, then field: the part's own
  std::vector<std::string> classes_;
  std::vector<std::vector<int64_t>> class_numbers_;  // by part, then the part's own number
  std::vector<uint64_t> starts_;
  std::string fingerprint_;
  Remarks remarks_;
};

}  // namespace

std::unique_ptr<Listing> join_listings(std::vector<NamedListing> parts) {
  return std::make_unique<JoinedListing>(std::move(parts));
}

std::string why_no_field(const Listing& listing, std::string_view name) {
  const Field* first = nullptr;
  std::string_view first_part;
  for (const auto& part : listing.parts()) {
    const Field* found = part.listing->find_field(name, nullptr);
    if (found == nullptr) {
      std::string has;
      for (const auto& field : part.listing->fields()) has += (has.empty() ? "" : ", ") + field.name;
      return "source '" + part.name + "' has none (it has " + has + ")";
    }
    if (first != nullptr && found->kind != first->kind) {
      return "it is " + std::string(kind_name(first->kind)) + " in source '" + std::string(first_part) + "' and " +
             std::string(kind_name(found->kind)) + " in source '" + part.name + "'";
    }
    if (first == nullptr) {
      first = found;
      first_part = part.name;
    }
  }
  return "";
}

}  // namespace spdld::source
