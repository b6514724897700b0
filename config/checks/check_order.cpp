// [order]: which samples come, and in which order.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "config/checks/check.h"
#include "config/text/local_path.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kWeightMax = 1e15;  // of the default
constexpr int64_t kWindow = 10'000;  // where none is given: some ten archives of a usual data set

const std::vector<Parameter>& own_order_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "shuffle",
       .type = Type::kFlag,
       .help = "another order in each epoch; \"client\": as the trainer says (spdld_push, or a sampler of torch's)",
       .fallback = Value(true),
       .choices = {"global", "window", "off", "client"}},
      {.name = "window",
       .type = Type::kInteger,
       .help = "samples that are shuffled at a time; archives come in random order",
       .fallback = Value(kWindow),
       .min = 1,
       .max = 1e12},
      {.name = "epochs",
       .type = Type::kInteger,
       .help = "how many epochs; 0: endless, which is also the default beside shuffle = \"client\"",
       .fallback = Value(int64_t{1}),
       .min = 0,
       .max = 1e9},
      {.name = "repeats",
       .type = Type::kInteger,
       .help = "how often each sample comes in an epoch, one row after another, with other random numbers each time",
       .fallback = Value(int64_t{1}),
       .min = 1,
       .max = 64},
      {.name = "mix",
       .type = Type::kChoice,
       .help = "of several sources: any weights, or exact proportions in whole numbers",
       .fallback = Value(std::string("random")),
       .choices = {"random", "exact"}},
      {.name = "weights",
       .type = Type::kText,
       .help = "how often samples come: a file of names or ids and weights, one a line, with a TAB or comma between; "
               "\"column\": as a column of the manifest says; or \"class\": all classes equally often",
       .fallback = Value(std::string())},
      {.name = "weights_column",
       .type = Type::kText,
       .help =
           "the column of weights, as the first line of the file names it, where the names are in the first column; "
           "or as the manifest names it",
       .fallback = Value(std::string())},
      {.name = "weights_default",
       .type = Type::kNumber,
       .help = "the weight of samples to which the file or column gives none; without it, all must have one",
       .fallback = Value(0.0),
       .min = 0,
       .max = kWeightMax},
      {.name = "replacement",
       .type = Type::kFlag,
       .help = "of weighted draws: a sample may come more than once in an epoch",
       .fallback = Value(true)},
      {.name = "epoch_samples",
       .type = Type::kInteger,
       .help = "samples of an epoch; by default all that are taken, or have a weight above 0. The rest of a pass "
               "through a source comes in the next epoch",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = 1e15},
  };
  return keys;
}

}  // namespace

const std::vector<Parameter>& order_keys() {
  static const std::vector<Parameter> keys = [] {
    std::vector<Parameter> all = own_order_keys();
    all.insert(all.end(), selection_keys().begin(), selection_keys().end());
    return all;
  }();
  return keys;
}

std::string list_of(const TableReader& reader, std::string_view key, const std::filesystem::path& folder,
                    std::initializer_list<std::string_view> words) {
  const auto given = reader.given_text(key);
  if (!given || std::find(words.begin(), words.end(), *given) != words.end()) return given.value_or("");
  auto [path, error] = local_path_of(*given, folder);
  if (!error.empty()) reader.complain(key, error);
  return path;
}

namespace {

Shuffle shuffle_of(const TableReader& reader) {
  const Value value = reader.value("shuffle");
  if (const auto* word = std::get_if<std::string>(&value)) return shuffle_named(*word);
  return std::get<bool>(value) ? Shuffle::kGlobal : Shuffle::kOff;
}

// A list of samples that stands in the pipeline itself, as Selection has it: texts, and numbers of samples.
std::string inline_list(const TableReader& reader, std::string_view key, const std::vector<Node>& list) {
  std::string all;
  for (const Node& node : list) {
    const auto* number = std::get_if<int64_t>(&node.value);
    const bool is_sound = (number != nullptr && *number >= 0) ||
                          (node.text() != nullptr && !node.text()->empty() && is_plain(*node.text()));
    if (!is_sound) {
      const std::string_view what = number != nullptr        ? "a number below 0"
                                    : node.text() != nullptr ? "a text that is empty or has control characters"
                                                             : kind_of(node);
      reader.complain(key, "must hold samples' names or numbers alone, not " + std::string(what));
      return all;
    }
    all.append(1, '\n').append(number != nullptr ? std::to_string(*number) : *node.text());
  }
  if (all.empty()) reader.complain(key, "must name at least one sample");
  return all;
}

// A list of samples, as Selection has it: a path, a list, or a text of several lines.
std::string samples_of(const TableReader& reader, std::string_view key, const std::filesystem::path& folder) {
  const Node* const node = reader.find(key);
  if (node == nullptr) return "";
  if (const auto* list = node->list()) return inline_list(reader, key, *list);
  const std::string* const text = node->text();
  if (text == nullptr || text->find('\n') == std::string::npos) return list_of(reader, key, folder);
  if (text->find_first_not_of("\r\n") == std::string::npos) reader.complain(key, "must name at least one sample");
  return text->front() == '\n' ? *text : '\n' + *text;
}

void check_weights(const TableReader& reader, const std::filesystem::path& folder, OrderSpec& order) {
  if (reader.find("weights") == nullptr) {
    for (const auto* key : {"weights_column", "weights_default", "replacement"})
      if (reader.find(key) != nullptr) reader.complain(key, "may only stand beside weights");
    return;
  }
  order.weights = list_of(reader, "weights", folder, {kWeightsByClass, kWeightsByColumn});
  if (order.weights == kWeightsByClass) {
    for (const auto* key : {"weights_column", "weights_default"})
      if (reader.find(key) != nullptr) reader.complain(key, "may only stand beside a file or column of weights");
  }
  if (const auto column = reader.given_text("weights_column")) {
    order.weights_column = *column;
    if (column->empty()) reader.complain("weights_column", "must name a column");
  } else if (order.weights == kWeightsByColumn) {
    reader.complain("weights", "needs weights_column, which names the column");
  }
  if (reader.find("weights_default") != nullptr)
    order.weights_default = std::get<double>(reader.value("weights_default"));
  order.replacement = reader.flag("replacement");
  if (reader.find("repeats") != nullptr) reader.complain("repeats", "may not stand beside weights");
  if (order.shuffle != Shuffle::kGlobal)
    reader.complain("shuffle", "must be left out beside weights, whose draws are the order");
}

}  // namespace

const std::vector<Parameter>& selection_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "include",
       .type = Type::kText,
       .help = "a file with the names or ids of the samples to take, one a line; or a list of them",
       .fallback = Value(std::string())},
      {.name = "exclude",
       .type = Type::kText,
       .help = "a file with the names or ids of the samples to leave out, one a line; or a list of them",
       .fallback = Value(std::string())},
      {.name = "first",
       .type = Type::kInteger,
       .help = "only so many samples: the first ones in the listing's order, by class and name, so that they are no "
               "random choice",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = 1e15},
      {.name = "part",
       .type = Type::kTable,
       .help = "only a part of the samples, drawn by their names: { of = 5, index = 0 } or { fraction = 0.9 }; with "
               "rest = true all others",
       .fallback = Value(std::string())},
  };
  return keys;
}

Selection check_selection(const TableReader& reader, const std::filesystem::path& folder) {
  return {samples_of(reader, "include", folder), samples_of(reader, "exclude", folder),
          static_cast<uint64_t>(reader.integer("first")), check_part(reader, folder)};
}

OrderSpec check_order(const Node& node, const std::filesystem::path& folder, Complaints& complaints) {
  TableReader reader(node, "order", order_keys(), complaints);
  reader.refuse_unknown();
  OrderSpec order;
  order.shuffle = shuffle_of(reader);
  const auto window = static_cast<uint64_t>(reader.integer("window"));
  if (order.shuffle == Shuffle::kWindow) {
    order.window = window;
  } else if (reader.find("window") != nullptr) {
    reader.complain("window", "may only stand beside shuffle = \"window\"");
  }
  order.epochs = static_cast<uint64_t>(reader.integer("epochs"));
  if (order.shuffle == Shuffle::kClient) {
    if (reader.find("epochs") == nullptr) order.epochs = 0;  // its trainer counts them
    for (const std::string_view key : {"include", "exclude", "part", "first", "repeats", "epoch_samples"}) {
      if (reader.find(key) == nullptr) continue;
      reader.complain(key, "may not stand beside shuffle = \"client\": the trainer says which samples come");
    }
  }
  static_cast<Selection&>(order) = check_selection(reader, folder);
  order.mix = reader.text("mix") == "exact" ? MixRule::kExact : MixRule::kRandom;
  order.repeats = static_cast<uint64_t>(reader.integer("repeats"));
  order.epoch_samples = static_cast<uint64_t>(reader.integer("epoch_samples"));
  check_weights(reader, folder, order);
  return order;
}

void check_order_of(bool several, const Node& node, Complaints& complaints) {
  const auto refuse = [&](std::string_view key, std::string_view why) {
    if (const Node* found = node.find(key)) complaints.add(found->line, "order." + std::string(key), std::string(why));
  };
  if (!several) return refuse("mix", "may only stand beside [[sources]], for two or more sources");
  for (const std::string_view key : {"include", "exclude", "part", "first"})
    refuse(key, "must not stand beside [[sources]]: write it in the table of the source that it is meant for");
  for (const std::string_view key : {"weights", "weights_column", "weights_default", "replacement"})
    refuse(
        key,
        "must not stand beside [[sources]], where each source has a weight: samples are weighted only in a [source]");
  const Node* shuffle = node.find("shuffle");
  if (shuffle != nullptr && shuffle->text() != nullptr && *shuffle->text() == "client")
    refuse("shuffle", "must not be \"client\" beside [[sources]]: the trainer's order needs a single [source]");
}

}  // namespace spdld::config
