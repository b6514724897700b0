#include "daemon/source/opening/opening.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/catalogue.h"
#include "config/text/local_path.h"
#include "config/text/remote_uri.h"
#include "daemon/base/result.h"
#include "daemon/source/alternatives.h"
#include "daemon/source/joined.h"
#include "daemon/source/listings.h"

namespace spdld::source {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw SetupError(Trouble::kUsage, message); }

bool is_remote_source(const config::SourceSpec& spec) {
  const auto remote = std::count_if(spec.uris.begin(), spec.uris.end(), config::is_remote);
  if (remote == 0) return false;
  if (static_cast<size_t>(remote) != spec.uris.size())
    refuse("source.uri names local paths and remote ones: write them as two tables of [[sources]].");
  return true;
}

std::string local_path(const std::string& uri) {
  auto [path, fault] = config::local_path_of(uri, "");
  if (!fault.empty()) refuse("source.uri \"" + uri + "\": " + fault + ".");
  return std::move(path);
}

using OpenFiles = std::unique_ptr<Listing> (*)(const SourceOpening&);

// One kind of listing for each type of the catalogue, in the order of the table, as config::sources().
constexpr OpenFiles kOpen[] = {
#define SOURCE(name, room) &open_##name,
#include "config/sources.inc"
#undef SOURCE
};

std::unique_ptr<Listing> open_any(const config::SourceSpec& spec, const Progress& progress, const std::stop_token& stop,
                                  const std::filesystem::path& kept, KeptUse& used, const Places& places,
                                  std::span<const std::string> wanted) {
  const config::SourceType* const type = config::find_source(spec.type);
  if (spec.uris.empty() && (type == nullptr || type->has_uri)) refuse("source.uri is missing.");
  const bool is_remote = is_remote_source(spec);
  if (is_remote && !places.stores) refuse("source.uri \"" + spec.uris.front() + "\": there are no remote stores here.");
  std::vector<std::string> uris = spec.uris;
  if (!is_remote) std::transform(uris.begin(), uris.end(), uris.begin(), local_path);
  const SourceOpening opening{spec, uris, progress, stop, kept, used, places, wanted};
  if (type != nullptr) return kOpen[type - config::sources().data()](opening);
  refuse("source.type \"" + spec.type + "\" is not known: the types are " +
         config::sources_that([](const config::SourceType&) { return true; }) + ".");
}

std::unique_ptr<Listing> open_part(const config::SourceSpec& spec, const Progress& progress,
                                   const std::stop_token& stop, const std::filesystem::path& kept, KeptUse& use,
                                   const Places& places, std::span<const std::string> wanted) try {
  return open_listing(spec, progress, stop, kept, &use, places, wanted);
} catch (const SetupError& e) {
  throw SetupError(e.error().trouble, "source '" + spec.name + "': " + e.error().message);
}

}  // namespace

std::unique_ptr<Listing> open_listing(const config::SourceSpec& spec, const Progress& progress, std::stop_token stop,
                                      const std::filesystem::path& kept, KeptUse* use, const Places& places,
                                      std::span<const std::string> wanted) {
  KeptUse unwanted;
  KeptUse& used = use == nullptr ? unwanted : *use;
  used = {};
  std::unique_ptr<Listing> listing = open_any(spec, progress, stop, kept, used, places, wanted);
  listing->set_bounds(places.bounds);
  check_missing(spec, listing->said().missing());
  return listing;
}

std::unique_ptr<Listing> open_listings(std::span<const config::SourceSpec> specs, const Progress& progress,
                                       const std::stop_token& stop, const std::filesystem::path& kept, KeptUse* use,
                                       std::span<const std::string> wanted, const Places& places,
                                       const Cutter& cutter) {
  const auto finish = [&](const config::SourceSpec& spec, std::unique_ptr<Listing> listing) {
    listing = with_alternatives(std::move(listing), wanted);
    listing->set_bounds(places.bounds);
    return cutter ? cutter(spec, std::move(listing)) : std::move(listing);
  };
  if (specs.size() == 1)
    return finish(specs.front(), open_listing(specs.front(), progress, stop, kept, use, places, wanted));
  KeptUse sum;
  std::vector<NamedListing> parts;
  for (const auto& spec : specs) {
    KeptUse one;
    parts.push_back({spec.name, finish(spec, open_part(spec, progress, stop, kept, one, places, wanted))});
    sum.add(one);
  }
  if (use != nullptr) *use = sum;
  auto listing = join_listings(std::move(parts));
  listing->set_bounds(places.bounds);
  return listing;
}

}  // namespace spdld::source
