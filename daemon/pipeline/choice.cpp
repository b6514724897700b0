#include "daemon/pipeline/choice.h"

#include <optional>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/sample_list.h"

namespace spdld::pipeline {
namespace {

std::string fingerprint_of(const source::Listing& listing, const sampler::Subset& subset) {
  if (subset.is_whole()) return listing.fingerprint();
  source::Fingerprint fingerprint;
  fingerprint.add_text(listing.fingerprint());
  for (const auto& run : subset.runs()) {
    fingerprint.add_number(run.first);
    fingerprint.add_number(run.before);
  }
  fingerprint.add_number(subset.size());
  return fingerprint.digits();
}

}  // namespace

Choice choose(const config::OrderSpec& spec, const source::Listing& listing, const std::stop_token& stop) {
  source::Stamps lists;
  std::optional<sampler::Subset::Ids> include;
  sampler::Subset::Ids exclude;
  if (!spec.include.empty()) include = source::read_sample_list(spec.include, "order.include", listing, lists, stop);
  if (!spec.exclude.empty()) exclude = source::read_sample_list(spec.exclude, "order.exclude", listing, lists, stop);
  sampler::Subset subset(listing.size(), include, std::move(exclude), spec.first);
  if (include && include->empty())
    throw SetupError(Trouble::kUsage,
                     "order.include: " + spec.include + " is empty: it must name at least one sample.");
  if (subset.size() == 0)
    throw SetupError(Trouble::kUsage, "order.exclude: " + spec.exclude + " leaves no sample" +
                                          (include ? " of those that order.include names" : "") + ": take some out.");
  std::string fingerprint = fingerprint_of(listing, subset);
  return {std::move(subset), std::move(lists), std::move(fingerprint)};
}

}  // namespace spdld::pipeline
