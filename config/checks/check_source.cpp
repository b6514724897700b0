#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/checks/check.h"
#include "config/text/local_path.h"
#include "config/text/remote_uri.h"
#include "config/uri_pattern.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr size_t kFingerprintDigits = 32;
constexpr double kStreamBytesLeast = 64 << 20;

}  // namespace

const std::vector<Parameter>& source_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "type", .type = Type::kText, .help = "what the source is"},
      {.name = "uri", .type = Type::kText, .help = "where it is; of many types also a list of texts"},
      {.name = "fingerprint",
       .type = Type::kText,
       .help = "the fingerprint that the listing must have, as spdlctl export and describe show it",
       .fallback = Value(std::string())},
      {.name = "on_missing",
       .type = Type::kChoice,
       .help = "what happens where a folder can't be read, an archive was cut, or a sample lacks a member",
       .fallback = Value(std::string("refuse")),
       .choices = {"refuse", "warn"}},
      {.name = "classes",
       .type = Type::kText,
       .help =
           "of an image-folder, of a manifest with a column of classes, or of a voc: the classes in the order of their "
           "numbers. It is a list of names; or a file with a name a line; or a file in JSON, whose name ends in .json, "
           "with a list of names, or a table from names to numbers, from numbers to names, or from numbers to lists of "
           "a folder's name and a name for people",
       .fallback = Value(std::string())},
      {.name = "check_listing",
       .type = Type::kChoice,
       .help =
           "of a remote folder: whether its listing that was kept is checked as a whole, or by a sample of its pages",
       .fallback = Value(std::string("whole")),
       .choices = {"whole", "sample"}},
      {.name = "access",
       .type = Type::kChoice,
       .help = "of a webdataset: whether samples are read one by one, by ranges, or archives of remote stores in large "
               "blocks, which takes far fewer requests where members are small; order.shuffle should be \"window\" or "
               "\"off\" then; auto streams compressed archives, which can't be read by ranges",
       .fallback = Value(std::string("auto")),
       .choices = {"auto", "ranges", "stream"}},
      {.name = "stream_bytes_max",
       .type = Type::kSize,
       .help = "the memory for archives that are streamed, or for columns of Parquet's row groups; twice the bytes of "
               "order.window are enough",
       .fallback = Value(static_cast<int64_t>(kStreamBytes)),
       .min = kStreamBytesLeast,
       .max = 0x1p44}};
  return keys;
}

namespace {

// Lower case, without blanks; empty: something in it is no extension.
std::string extensions_of(const std::string& text) {
  std::string result, word;
  for (const char c : text + ",") {
    if (c == ' ') continue;
    if (c != ',') {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    if (!is_word(word, "")) return "";
    result += (result.empty() ? "" : ",") + word;
    word.clear();
  }
  return result;
}

}  // namespace

namespace {

// The keys that a table of [[sources]] has beside the keys of [source].
std::vector<Parameter> make_own_keys() {
  std::vector<Parameter> keys = {
      {.name = "name", .type = Type::kText, .help = "of the source"},
      {.name = "weight",
       .type = Type::kNumber,
       .help = "how often its samples come, beside the other sources' weights",
       .fallback = Value(0.0),
       .min = 0,
       .max = 1e9,
       .above_min = true},
  };
  keys.insert(keys.end(), selection_keys().begin(), selection_keys().end());
  return keys;
}

}  // namespace

const std::vector<Parameter>& named_source_keys() {
  static const std::vector<Parameter> keys = make_own_keys();
  return keys;
}

namespace {

std::vector<std::string_view> names_of(std::span<const Parameter> keys) {
  std::vector<std::string_view> names;
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

// The path that a text of `uri` stands for, with its braces and wildcards where the type knows them. `key` and `line`
// are for complaints.
std::string check_uri(const std::string& uri, bool takes_patterns, const std::filesystem::path& folder,
                      const std::string& key, int line, Complaints& complaints) {
  auto [path, error] = is_remote(uri) ? LocalPath{uri, remote_uri_fault(uri)} : local_path_of(uri, folder);
  if (error.empty() && takes_patterns) error = pattern_error(path);
  if (!error.empty()) complaints.add(line, key, std::move(error));
  return std::move(path);
}

// `uri`: a text, or a list of texts in the order in which they are read.
std::vector<std::string> check_uris(const TableReader& reader, const SourceType* type,
                                    const std::filesystem::path& folder) {
  const bool takes_patterns = type != nullptr && type->takes_patterns;
  const Node* node = reader.find("uri");
  if (type != nullptr && !type->has_uri) {
    if (node != nullptr)
      reader.complain("uri", "may not stand beside type = " + in_quotes(type->name) + ", whose samples lie nowhere");
    return {};
  }
  const auto* list = node == nullptr ? nullptr : node->list();
  Complaints& complaints = reader.complaints();
  if (list == nullptr) {
    const auto uri = reader.given_text("uri");
    if (!uri) return {};
    return {check_uri(*uri, takes_patterns, folder, reader.key("uri"), reader.line("uri"), complaints)};
  }
  if (!takes_patterns || list->empty()) {
    reader.complain("uri", list->empty() ? "must name a folder or a file"
                                         : "must be one text here: several uris in a list are for a webdataset, say");
    return {};
  }
  std::vector<std::string> paths;
  const std::vector<std::string> texts = reader.texts("uri");
  if (texts.size() != list->size()) return {};  // complained about
  Expansion all;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string key = reader.key("uri") + "[" + std::to_string(i) + "]";
    paths.push_back(check_uri(texts[i], takes_patterns, folder, key, (*list)[i].line, complaints));
    const Expansion one = expansion_of(paths.back());
    all = {std::min(all.paths + std::min(one.paths, kUriPathsMax + 1), kUriPathsMax + 1),
           std::min(all.bytes + std::min(one.bytes, kUriPathBytesMax + 1), kUriPathBytesMax + 1)};
  }
  if (all.paths > kUriPathsMax || all.bytes > kUriPathBytesMax) {
    reader.complain("uri", "names more than " + std::to_string(kUriPathsMax) + " archives, or more than " +
                               std::to_string(kUriPathBytesMax >> 20) + " MiB of paths");
  }
  return paths;
}

// `classes`, as SourceSpec has it.
std::string check_classes(const TableReader& reader, const SourceType* type, const std::filesystem::path& folder) {
  const Node* const node = reader.find("classes");
  if (node == nullptr) return "";
  if (type != nullptr && !type->takes_classes)
    reader.complain("classes", "may only stand beside a type whose labels are names: " +
                                   sources_that([](const SourceType& other) { return other.takes_classes; }));
  if (node->list() == nullptr) return list_of(reader, "classes", folder);
  if (node->list()->empty()) reader.complain("classes", "must name at least one class");
  std::string all;
  for (const std::string& name : reader.texts("classes")) {
    if (name.find('\n') != std::string::npos) reader.complain("classes", "must have no name of several lines");
    all.append(1, '\n').append(name);
  }
  return all;
}

// `others`: the keys that the table may have beside the keys of [source].
SourceSpec check_table(const Node& node, const std::string& table, std::span<const std::string_view> others,
                       const std::filesystem::path& folder, Complaints& complaints) {
  SourceSpec spec;
  spec.where = {complaints.file(), node.line};
  TableReader reader(node, table, source_keys(), complaints);
  const auto given_type = reader.given_text("type");
  const auto* type = given_type ? find_source(*given_type) : nullptr;
  if (type != nullptr) {
    spec.type = *given_type;
  } else if (given_type) {
    std::vector<std::string_view> names;
    for (const auto& source : sources()) names.push_back(source.name);
    reader.complain("type", "must be one of " + joined(names) + ", not " + in_quotes(*given_type) +
                                did_you_mean(*given_type, names));
  }
  spec.uris = check_uris(reader, type, folder);
  if (const auto fingerprint = reader.given_text("fingerprint")) {
    spec.fingerprint = *fingerprint;
    const bool digits = fingerprint->find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!digits || fingerprint->size() != kFingerprintDigits) {
      reader.complain("fingerprint",
                      "must be the 32 hexadecimal digits, in lower case, that spdlctl describe or the head of "
                      "an exported listing shows, not " +
                          in_quotes(*fingerprint));
    }
  }
  spec.classes = check_classes(reader, type, folder);
  if (reader.text("on_missing") == "warn") spec.on_missing = OnMissing::kWarn;
  spec.samples_listing = reader.text("check_listing") == "sample";
  const std::string access = reader.text("access");
  spec.access = access == "auto" ? Access::kAuto : access == "stream" ? Access::kStream : Access::kRanges;
  spec.stream_bytes_max = static_cast<uint64_t>(reader.integer("stream_bytes_max"));
  if (type != nullptr && !type->takes_access && reader.find("access") != nullptr)
    reader.complain("access", "may only stand beside type = " +
                                  in_quotes(sources_that([](const SourceType& other) { return other.takes_access; })));
  if (type != nullptr && !type->takes_stream_bytes && reader.find("stream_bytes_max") != nullptr)
    reader.complain("stream_bytes_max",
                    "may only stand beside a type whose files are read as streams: " +
                        sources_that([](const SourceType& other) { return other.takes_stream_bytes; }));
  if (type == nullptr || node.table() == nullptr) return spec;
  std::vector<std::string_view> always = names_of(source_keys());
  always.insert(always.end(), others.begin(), others.end());
  TableReader own(node, table, type->parameters, complaints);
  own.refuse_unknown(always);
  spec.parameters = own.values();
  if (const auto found = spec.parameters.find("extensions"); found != spec.parameters.end()) {
    found->second = extensions_of(std::get<std::string>(found->second));
    if (std::get<std::string>(found->second).empty()) {
      own.complain("extensions", "must be extensions of letters and digits without dots, such as \"jpg,jpeg\"");
    }
  }
  if (type->check != nullptr)
    type->check(spec, [&](std::string_view name, std::string text) { own.complain(name, std::move(text)); });
  return spec;
}

SourceSpec check_named(const Node& node, const std::string& table, const std::filesystem::path& folder,
                       Complaints& complaints) {
  const std::vector<std::string_view> names = names_of(named_source_keys());
  SourceSpec spec = check_table(node, table, names, folder, complaints);
  if (node.table() == nullptr) return spec;
  TableReader reader(node, table, named_source_keys(), complaints);
  if (const auto name = reader.given_text("name")) {
    spec.name = *name;
    const bool sound = is_word(*name, "_-") && !is_digits(name->substr(0, 1)) && name->front() != '-';
    if (!sound)
      reader.complain("name", "must be 1 to 64 letters, digits, \"_\" or \"-\" and begin with a letter or \"_\", not " +
                                  in_quotes(*name));
  }
  spec.weight = reader.number("weight");
  static_cast<Selection&>(spec) = check_selection(reader, folder);
  return spec;
}

// `given`: of those sources that have a weight.
void check_weight(const SourceSpec& spec, const Node& node, const std::string& table, size_t given, MixRule mix,
                  Complaints& complaints) {
  const Node* weight = node.find("weight");
  if (weight == nullptr && given > 0) {
    complaints.add(node.line, table + ".weight",
                   "is missing: give every source a weight, or none, so that each counts as its number of samples");
  }
  if (weight != nullptr && mix == MixRule::kExact && spec.weight != std::floor(spec.weight)) {
    complaints.add(weight->line, table + ".weight",
                   "must be a whole number beside mix = \"exact\": with weights of 7 and 3, say, 7 of every 10 samples "
                   "are of the one source and 3 of the other");
  }
}

}  // namespace

SourceSpec check_source(const Node& node, const std::filesystem::path& folder, Complaints& complaints) {
  return check_table(node, "source", {}, folder, complaints);
}

std::vector<SourceSpec> check_sources(const Node& node, MixRule mix, const std::filesystem::path& folder,
                                      Complaints& complaints) {
  std::vector<SourceSpec> specs;
  const auto* list = node.list();
  if (list == nullptr || list->size() < 2 || list->size() > kSourcesMax) {
    complaints.add(node.line, "sources",
                   list == nullptr    ? "must be a list of two or more tables, each written [[sources]]"
                   : list->size() < 2 ? "must be two or more: write a single one as [source]"
                                      : "may be written at most " + std::to_string(kSourcesMax) + " times");
    return specs;
  }
  size_t given = 0;
  for (const auto& table : *list) given += table.find("weight") != nullptr ? 1 : 0;
  for (size_t i = 0; i < list->size(); ++i) {
    const Node& table = (*list)[i];
    const std::string key = "sources[" + std::to_string(i) + "]";
    SourceSpec spec = check_named(table, key, folder, complaints);
    check_weight(spec, table, key, given, mix, complaints);
    const auto same = [&](const SourceSpec& other) { return !spec.name.empty() && other.name == spec.name; };
    if (const auto found = std::find_if(specs.begin(), specs.end(), same); found != specs.end()) {
      complaints.add(
          table.find("name")->line, key + ".name",
          in_quotes(spec.name) + " is the name of sources[" + std::to_string(found - specs.begin()) + "] already");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace spdld::config
