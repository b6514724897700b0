#include "daemon/pipeline/order/part_choice.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "config/text/words.h"
#include "daemon/base/result.h"
#include "daemon/sampler/part.h"
#include "daemon/source/lists/group_list.h"
#include "daemon/source/lists/list_file.h"
#include "daemon/source/parts.h"

namespace spdld::pipeline {
namespace {

using Places = std::vector<uint64_t>;  // by record
using sampler::DatasetPart;

// "train-007.tar" of "train-007.tar:000123", and "ann/scans" of "ann/scans/3.jpg".
std::string_view folder_of(std::string_view name) {
  const size_t end = name.find_last_of("/:");
  return name.substr(0, end == std::string_view::npos ? 0 : end);
}

// Of each record, by a text of its name.
template <typename TextOf>
Places places_of(const DatasetPart& part, const source::Listing& records, const std::stop_token& stop,
                 const TextOf& text_of) {
  Places places;
  places.reserve(records.size());
  source::for_each_id(records, stop, [&](uint64_t id) {
    const std::string name = records.name(id);
    places.push_back(part.place_of(text_of(name)));
  });
  return places;
}

struct Placed {
  uint64_t place, id;
  friend auto operator<=>(const Placed&, const Placed&) = default;
};

// The name, not the number: another class that is added may change the numbers.
std::string class_name(const source::Listing& records, int64_t number) {
  const auto names = records.classes();
  const bool has_name = number >= 0 && static_cast<uint64_t>(number) < names.size();
  return has_name ? names[static_cast<size_t>(number)] : std::to_string(number);
}

Places places_in_classes(const DatasetPart& part, const std::string& key, const source::Listing& records,
                         const std::stop_token& stop) {
  source::FieldId field = 0;
  const source::Field* const classes = records.find_field("class", &field);
  if (classes == nullptr || classes->kind != source::FieldKind::kInteger)
    throw SetupError(Trouble::kUsage, key + ".stratify is \"class\", and this data set has no classes: leave it out.");
  std::map<int64_t, std::vector<Placed>> by_class;
  source::for_each_id(records, stop, [&](uint64_t id) {
    by_class[records.integer(id, field)].push_back({part.place_of(records.name(id)), id});
  });
  Places places(records.size());
  for (auto& [number, members] : by_class) {
    std::sort(members.begin(), members.end());
    const std::string name = class_name(records, number);
    for (uint64_t i = 0; i < members.size(); ++i) places[members[i].id] = part.even_place(i, members.size(), name);
  }
  return places;
}

// Rows that the source's condition leaves out may have no group.
Places places_by_column(const std::string& column, const std::string& key, const source::Listing& records,
                        const std::stop_token& stop, const DatasetPart& part) {
  Places places;
  places.reserve(records.size());
  uint64_t missing = 0, first_missing = 0;
  source::for_each_id(records, stop, [&](uint64_t id) {
    const std::string group = records.group(id);
    places.push_back(part.place_of(group));
    if (group.empty() && !records.is_untaken(id) && missing++ == 0) first_missing = id;
  });
  if (missing > 0)
    throw SetupError(Trouble::kUsage, key + ".groups: the column \"" + config::printable(column) +
                                          "\" has no text for " + std::to_string(missing) + " of " +
                                          std::to_string(records.size()) + " rows, the first of them " +
                                          source::shown(records.name(first_missing)) +
                                          ": give each row a group, or leave these rows out by the source's where.");
  return places;
}

Places places_of_groups(const config::PartSpec& wanted, const DatasetPart& part, const std::string& key,
                        const source::Listing& records, source::Stamps& lists, const std::stop_token& stop) {
  const auto place_of = [&part](std::string_view group) { return part.place_of(group); };
  const bool by_column = wanted.groups == config::kGroupsByColumn;
  Places places = wanted.has_groups_file()
                      ? source::read_sample_groups(wanted.groups, key + ".groups", records, lists, stop, place_of)
                  : by_column ? places_by_column(wanted.groups_column, key, records, stop, part)
                              : places_of(part, records, stop, folder_of);
  if (std::adjacent_find(places.begin(), places.end(), std::not_equal_to<>()) == places.end())
    throw SetupError(Trouble::kUsage, key + ".groups: all samples are in one group, which can't be divided: " +
                                          (wanted.has_groups_file() ? "name several groups in the file."
                                           : by_column              ? "name another column in groups_column."
                                                                    : "leave groups out, or give a file of groups."));
  return places;
}

}  // namespace

std::vector<uint64_t> outside_of(const config::PartSpec& wanted, const std::string& key, const source::Listing& listing,
                                 source::Stamps& lists, const std::stop_token& stop) {
  const source::Listing& records = listing.records() ? *listing.records() : listing;
  const DatasetPart part(wanted);
  const Places places = !wanted.groups.empty() ? places_of_groups(wanted, part, key, records, lists, stop)
                        : wanted.by_class      ? places_in_classes(part, key, records, stop)
                                          : places_of(part, records, stop, [](std::string_view name) { return name; });
  std::vector<uint64_t> outside;
  for (uint64_t record = 0; record < places.size(); ++record) {
    if (part.takes(places[record])) continue;
    for (uint64_t row = listing.first_row(record); row < listing.first_row(record + 1); ++row) outside.push_back(row);
  }
  return outside;
}

}  // namespace spdld::pipeline
