#include "daemon/source/listing.h"

#include <algorithm>

#include "daemon/base/result.h"
#include "daemon/source/listings.h"

namespace spdld::source {
namespace {

constexpr size_t kMissingShown = 5;  // sentences of a refusal

}  // namespace

const Remarks& Listing::said() const {
  static const Remarks kNothing;
  return kNothing;
}

const Field* Listing::find_field(std::string_view name, FieldId* id) const {
  const auto all = fields();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != name) continue;
    if (id != nullptr) *id = static_cast<FieldId>(i);
    return &all[i];
  }
  return nullptr;
}

void check_missing(const config::SourceSpec& spec, const Remarks::Sentences& missing) {
  if (missing.count == 0 || spec.on_missing == config::OnMissing::kWarn) return;
  const size_t shown = std::min(missing.first.size(), kMissingShown);
  std::string text = config::uris_text(spec) + " is not whole:";
  for (size_t i = 0; i < shown; ++i) text += "\n  " + missing.first[i];
  if (missing.count > shown) text += "\n  ... and " + std::to_string(missing.count - shown) + " more";
  throw SetupError(Trouble::kContent,
                   text +
                       "\nMend what is missing, or write on_missing = \"warn\" in its [source] to go "
                       "on with the rest.");
}

namespace {

// A parameter of this type; `fallback`: it is absent, or of another type.
template <typename T>
T parameter(const config::SourceSpec& spec, std::string_view name, T fallback) {
  const auto found = spec.parameters.find(name);
  const auto* value = found == spec.parameters.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? fallback : *value;
}

}  // namespace

std::string SourceOpening::text(std::string_view name) const { return parameter(spec, name, std::string()); }
int64_t SourceOpening::integer(std::string_view name, int64_t fallback) const {
  return parameter(spec, name, fallback);
}
double SourceOpening::number(std::string_view name, double fallback) const { return parameter(spec, name, fallback); }

}  // namespace spdld::source
