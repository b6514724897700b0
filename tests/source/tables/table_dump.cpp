// Prints what a table's listing and its fetcher give, for a comparison with other readers:
//
//   table_dump TYPE PARAMETERS URI...     PARAMETERS: a JSON table; [source]'s own parameters of this type, and order
//
// The first line is a JSON table with size, fields, classes, fingerprint, remarks, the samples that are left out
// (untaken), and each sample's group. Each other line is one sample: a table with its name and its fields, bytes as
// hexadecimal digits, and null for a field that it lacks.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "config/catalogue.h"
#include "config/checks/load.h"
#include "daemon/source/fetching/fetch_router.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/opening/opening.h"
#include "tests/source/fetch_once.h"

namespace {

using namespace spdld;

// A pipeline with this source, so that its parameters are checked and have their defaults.
config::SourceSpec source_of(const std::string& type, nlohmann::json source, const std::vector<std::string>& uris) {
  source["type"] = type;
  if (uris.size() == 1) {
    source["uri"] = uris.front();
  } else {
    source["uri"] = uris;
  }
  source["on_missing"] = "warn";
  const config::SourceType* const known = config::find_source(type);
  const std::string from(known != nullptr && !known->fields.empty() ? known->fields.front() : "x");
  nlohmann::json order = nlohmann::json::object();
  if (const auto given = source.find("order"); given != source.end()) order = *given, source.erase("order");
  const nlohmann::json pipeline = {
      {"name", "dump"},
      {"order", order},
      {"source", source},
      {"output", {{{"name", "x"}, {"from", from}, {"length_max", 1}, {"ragged", true}, {"ops", {{{"op", "bytes"}}}}}}},
      {"batch", {{"size", 1}}}};
  auto loaded = config::load_pipeline_json(pipeline.dump(), "dump");
  if (!loaded) throw SetupError(Trouble::kUsage, loaded.sentences());
  return loaded.value->sources.front();
}

std::string digits_of(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  return text;
}

nlohmann::json value_of(source::Fetcher& fetcher, const source::Listing& listing, uint64_t sample,
                        source::FieldId field) {
  switch (listing.fields()[field].kind) {
    case source::FieldKind::kInteger:
      return listing.integer(sample, field);
    case source::FieldKind::kText:
      return listing.name(sample);
    case source::FieldKind::kFetched:
      break;
  }
  if (listing.lacks(sample, field)) return nullptr;
  source::FetchRequest request;
  request.listing = &listing;
  request.sample = sample;
  request.fields.resize(1);
  request.fields[0].field = field;
  test::fetch_once(fetcher, request);
  if (!request.ok) return "bad: " + request.error.message;
  return digits_of(request.bytes[0].bytes());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return 2;
  const config::SourceSpec spec =
      source_of(argv[1], nlohmann::json::parse(argv[2]), std::vector<std::string>(argv + 3, argv + argc));
  const auto listing = source::open_listing(spec, {}, {});
  nlohmann::json head = {
      {"size", listing->size()},          {"classes", listing->classes()}, {"fingerprint", listing->fingerprint()},
      {"bytes", listing->memory_bytes()}, {"remarks", listing->remarks()}, {"fields", nlohmann::json::array()}};
  for (const auto& field : listing->fields()) head["fields"].push_back(field.name);
  head["untaken"] = nlohmann::json::array();
  head["groups"] = nlohmann::json::array();
  for (uint64_t sample = 0; sample < listing->size(); ++sample) {
    if (listing->is_untaken(sample)) head["untaken"].push_back(sample);
    head["groups"].push_back(listing->group(sample));
  }
  std::printf("%s\n", head.dump().c_str());
  source::LocalFetcher local(1);
  source::FetchRouter fetcher(local);
  for (uint64_t sample = 0; sample < listing->size(); ++sample) {
    nlohmann::json line = nlohmann::json::object();
    for (size_t i = 0; i < listing->fields().size(); ++i)
      line[listing->fields()[i].name] = value_of(fetcher, *listing, sample, static_cast<source::FieldId>(i));
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
} catch (const std::exception& error) {
  std::printf("refused: %s\n", error.what());
  return 1;
}
