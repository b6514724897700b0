#include <algorithm>
#include <array>
#include <utility>

#include "config/checks/check.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kSizeMin = 1u << 20;
constexpr double kSizeMax = 0x1p50;
constexpr double kDecodeBytesMin = 64u << 20;
constexpr double kDecodeMax = 1024, kFetchMax = 64, kAheadMax = 16;  // threads, reads, batches
constexpr size_t kSocketPathMax = 107;                               // sockaddr_un::sun_path less its terminating zero

Parameter text_key(std::string_view name, std::string_view help, const std::string& fallback = "") {
  return {.name = name, .type = Type::kText, .help = help, .fallback = Value(fallback)};
}

Parameter count_key(std::string_view name, std::string_view help, uint32_t fallback, double min, double max) {
  return {
      .name = name, .type = Type::kInteger, .help = help, .fallback = Value(int64_t{fallback}), .min = min, .max = max};
}

Parameter size_key(std::string_view name, std::string_view help, uint64_t fallback) {
  return {.name = name,
          .type = Type::kSize,
          .help = help,
          .fallback = Value(static_cast<int64_t>(fallback)),
          .min = kSizeMin,
          .max = kSizeMax};
}

// Without a number the memory that the daemon may use decides.
Parameter share_key(std::string_view name, std::string_view help, double min) {
  return {.name = name,
          .type = Type::kSize,
          .help = help,
          .fallback = Value(std::string("auto")),
          .min = min,
          .max = kSizeMax,
          .word = "auto"};
}

// Without a number what is measured decides.
Parameter pin_key(std::string_view name, std::string_view help, double max) {
  return {.name = name,
          .type = Type::kInteger,
          .help = help,
          .fallback = Value(std::string("auto")),
          .min = 1,
          .max = max,
          .word = "auto"};
}

Parameter texts_key(std::string_view name, std::string_view help) {
  return {.name = name, .type = Type::kTexts, .help = help};
}

}  // namespace

// In the order of the file. The defaults are DaemonSettings' own.
std::span<const DaemonSection> daemon_sections() {
  static const DaemonSettings defaults;
  static const std::array<DaemonSection, 15> table = {{
      {"socket",
       {text_key("path", "where clients connect", defaults.socket_path.string()),
        text_key("mode", "who may connect, in octal", "0660"),
        text_key("group", "the socket's group", defaults.socket_group)}},
      {"limits",
       {count_key("cpu_budget", "decode threads; 0: the cores this process may use", defaults.cpu_budget, 0,
                  kDecodeMax),
        count_key("fetch_concurrency", "the most local reads at once", defaults.fetch_concurrency, 1, kFetchMax),
        size_key("slot_bytes_max", "of all rings together", defaults.slot_bytes_max),
        size_key("slot_bytes_per_user_max", "of one user's rings", defaults.slot_bytes_per_user_max),
        size_key("spare_slot_bytes_max", "kept for the next ring of the same user", defaults.spare_slot_bytes_max),
        count_key("pipelines_per_user_max", "open at once", defaults.pipelines_per_user_max, 1, 1024),
        count_key("sessions_max", "connected clients", defaults.sessions_max, 1, 65536),
        count_key("sessions_per_user_max", "connected clients of one user", defaults.sessions_per_user_max, 1, 65536),
        count_key("sessions_reserve", "more clients, for root and the daemon's user", defaults.sessions_reserve, 0,
                  1024),
        count_key("rings_per_user_max", "rings of one user", defaults.rings_per_user_max, 1, 65536),
        count_key("slots_per_user_max", "slots of one user's rings", defaults.slots_per_user_max, 1, 1 << 20),
        share_key("inflight_bytes_max", "of all samples, read and not decoded yet", kSizeMin),
        share_key("inflight_bytes_per_pipeline_max", "of one pipeline's samples", kSizeMin),
        size_key("inflight_bytes_per_user_max", "of one user's samples, read and not decoded yet",
                 defaults.inflight_bytes_per_user_max),
        share_key("decode_bytes_max", "memory of decoding and operations, of all samples at once", kDecodeBytesMin),
        share_key("decode_bytes_per_pipeline_max", "of one pipeline's samples", kSizeMin),
        share_key("decode_bytes_per_user_max", "of one user's samples", kSizeMin),
        size_key("side_bytes_per_user_max",
                 "of one user's recordings that operations keep in memory, and samples for functions",
                 defaults.side_bytes_per_user_max),
        count_key("listings_per_user_max", "of one user, at the same time", defaults.listings_per_user_max, 1, 16),
        share_key("listing_bytes_max", "memory of all listings", kSizeMin),
        share_key("listing_bytes_per_user_max", "memory of the listings of what one user sent", kSizeMin),
        count_key("listing_s_max", "to list what a user sent; 0: any", defaults.listing_s_max, 0, 86'400),
        count_key("queries_per_user_s_max", "of one user in a second", defaults.queries_per_user_s_max, 1, 1'000'000),
        count_key("silent_ms_max", "of a trainer that holds batches; 0: no limit", defaults.silent_ms_max, 0,
                  86'400'000),
        count_key("share_lag_ms_max", "how long a job may hold back the other jobs on its stream",
                  defaults.share_lag_ms_max, 1, 86'400'000),
        count_key("share_jobs_max", "jobs on one stream", defaults.share_jobs_max, 1, 60),
        count_key("sample_ms_max", "CPU time to decode a sample, and of its operations; 0: any", defaults.sample_ms_max,
                  0, 86'400'000),
        {.name = "sample_bytes_max",
         .type = Type::kSize,
         .help = "memory to decode one picture; 0: any",
         .fallback = Value(static_cast<int64_t>(defaults.sample_bytes_max)),
         .min = 0,
         .max = kSizeMax}}},
      {"decode", {text_key("jpeg", "\"auto\", or \"libjpeg-turbo\" for it alone", "auto")}},
      {"cache",
       {share_key("ram_bytes_max", "memory for samples that were read; 0 turns it off", 0),
        text_key("folder", "on a local disk, for what memory has no room for"),
        size_key("disk_bytes_max", "of that folder", defaults.cache_disk_bytes_max)}},
      {"state", {text_key("folder", "where listings are kept over restarts", "auto")}},
      {"tuning",
       {{.name = "enabled",
         .type = Type::kFlag,
         .help = "whether measurements choose the numbers below",
         .fallback = Value(defaults.tuning_enabled)},
        pin_key("decode", "decode threads", kDecodeMax),
        pin_key("fetch", "local reads at once", kFetchMax),
        pin_key("depth", "batches ahead of a trainer", kAheadMax)}},
      {"gpu",
       {{.name = "enabled",
         .type = Type::kFlag,
         .help = "whether batches may be handed over on GPUs",
         .fallback = Value(defaults.gpu_enabled)},
        size_key("slot_bytes_max", "of one GPU's memory", defaults.gpu_slot_bytes_max),
        size_key("staging_bytes_max", "pinned memory for copies to one GPU", defaults.gpu_staging_bytes_max)}},
      {"data",
       {texts_key("roots", "folders a source must lie in"), texts_key("stores", "remote stores a source may lie in")}},
      {"data.roots",
       {{.name = "path", .type = Type::kText, .help = "of the folder"},
        texts_key("users", "who may send specs over it"),
        texts_key("groups", "who may send specs over it"),
        {.name = "follow_links",
         .type = Type::kFlag,
         .help = "whether symlinks below it may lead out of the roots",
         .fallback = Value(false)}}},
      {"data.stores", store_keys()},
      {"pipelines", {text_key("dir", "folder of the named pipelines")}},
      {"pipelines.cpu_weight",
       {{.name = "NAME",
         .type = Type::kNumber,
         .help = "in place of NAME's own cpu_weight",
         .fallback = Value(1.0),
         .min = kCpuWeightMin,
         .max = kCpuWeightMax}}},
      {"pipelines.access.NAME", {texts_key("users", "who may use NAME"), texts_key("groups", "who may use NAME")}},
      {"http", http_keys()},
      {"log",
       {{.name = "level",
         .type = Type::kChoice,
         .help = "the lowest level that is logged",
         .fallback = Value(defaults.log_level),
         .choices = {"trace", "debug", "info", "warn", "error"}}}},
  }};
  return table;
}

namespace {

const std::vector<Parameter>& keys_of(std::string_view section) {
  const auto all = daemon_sections();
  return std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == section; })->keys;
}

bool is_absolute_path(const std::string& text) { return std::filesystem::path(text).is_absolute(); }

// A missing table is read as an empty one: all defaults.
const Node& section_node(const Node& root, std::string_view name) {
  static const Node none{.line = 0, .octal = false, .value = std::vector<Entry>()};
  const Node* found = root.find(name);
  return found == nullptr ? none : *found;
}

void check_socket(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "socket", keys_of("socket"), complaints);
  reader.refuse_unknown();
  settings.socket_path = reader.text("path");
  if (!settings.socket_path.is_absolute()) {
    reader.complain("path", "must be an absolute path");
  } else if (settings.socket_path.native().size() > kSocketPathMax) {
    reader.complain("path",
                    "must have at most " + std::to_string(kSocketPathMax) + " bytes: a socket's name is no longer");
  }
  settings.socket_mode = check_mode(reader, "mode", settings.socket_mode);
  settings.socket_group = reader.text("group");
}

std::optional<uint64_t> bytes_or_auto(const TableReader& reader, std::string_view key) {
  const auto bytes = reader.integer_or_word(key);
  return bytes ? std::optional(static_cast<uint64_t>(*bytes)) : std::nullopt;
}

void check_limits(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "limits", keys_of("limits"), complaints);
  reader.refuse_unknown();
  settings.cpu_budget = static_cast<uint32_t>(reader.integer("cpu_budget"));
  settings.fetch_concurrency = static_cast<uint32_t>(reader.integer("fetch_concurrency"));
  settings.slot_bytes_max = static_cast<uint64_t>(reader.integer("slot_bytes_max"));
  settings.slot_bytes_per_user_max = static_cast<uint64_t>(reader.integer("slot_bytes_per_user_max"));
  settings.spare_slot_bytes_max = static_cast<uint64_t>(reader.integer("spare_slot_bytes_max"));
  settings.pipelines_per_user_max = static_cast<uint32_t>(reader.integer("pipelines_per_user_max"));
  settings.sessions_max = static_cast<uint32_t>(reader.integer("sessions_max"));
  settings.sessions_per_user_max = static_cast<uint32_t>(reader.integer("sessions_per_user_max"));
  settings.sessions_reserve = static_cast<uint32_t>(reader.integer("sessions_reserve"));
  settings.rings_per_user_max = static_cast<uint32_t>(reader.integer("rings_per_user_max"));
  settings.slots_per_user_max = static_cast<uint32_t>(reader.integer("slots_per_user_max"));
  settings.inflight_bytes_max = bytes_or_auto(reader, "inflight_bytes_max");
  settings.inflight_bytes_per_pipeline_max = bytes_or_auto(reader, "inflight_bytes_per_pipeline_max");
  settings.inflight_bytes_per_user_max = static_cast<uint64_t>(reader.integer("inflight_bytes_per_user_max"));
  settings.decode_bytes_max = bytes_or_auto(reader, "decode_bytes_max");
  settings.decode_bytes_per_pipeline_max = bytes_or_auto(reader, "decode_bytes_per_pipeline_max");
  settings.decode_bytes_per_user_max = bytes_or_auto(reader, "decode_bytes_per_user_max");
  settings.side_bytes_per_user_max = static_cast<uint64_t>(reader.integer("side_bytes_per_user_max"));
  settings.listings_per_user_max = static_cast<uint32_t>(reader.integer("listings_per_user_max"));
  settings.listing_bytes_max = bytes_or_auto(reader, "listing_bytes_max");
  settings.listing_bytes_per_user_max = bytes_or_auto(reader, "listing_bytes_per_user_max");
  settings.listing_s_max = static_cast<uint32_t>(reader.integer("listing_s_max"));
  settings.queries_per_user_s_max = static_cast<uint32_t>(reader.integer("queries_per_user_s_max"));
  settings.silent_ms_max = static_cast<uint32_t>(reader.integer("silent_ms_max"));
  settings.share_lag_ms_max = static_cast<uint32_t>(reader.integer("share_lag_ms_max"));
  settings.share_jobs_max = static_cast<uint32_t>(reader.integer("share_jobs_max"));
  settings.sample_ms_max = static_cast<uint32_t>(reader.integer("sample_ms_max"));
  settings.sample_bytes_max = static_cast<uint64_t>(reader.integer("sample_bytes_max"));
  if (settings.sample_bytes_max > 0 && static_cast<double>(settings.sample_bytes_max) < kSizeMin) {
    reader.complain("sample_bytes_max", "must be at least 1 MiB, or 0 for no limit");
  }
  if (settings.slot_bytes_per_user_max <= settings.slot_bytes_max) return;
  if (reader.find("slot_bytes_per_user_max") != nullptr) {
    reader.complain("slot_bytes_per_user_max", "must not be above slot_bytes_max, which all users share");
  }
  settings.slot_bytes_per_user_max = settings.slot_bytes_max;
}

void check_decode(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "decode", keys_of("decode"), complaints);
  reader.refuse_unknown();
  const std::string jpeg = reader.text("jpeg");
  settings.jpeg_by_libjpeg = jpeg == "libjpeg-turbo";
  if (!settings.jpeg_by_libjpeg && jpeg != "auto")
    reader.complain("jpeg", "must be \"auto\" or \"libjpeg-turbo\", not " + in_quotes(jpeg));
}

void check_cache(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "cache", keys_of("cache"), complaints);
  reader.refuse_unknown();
  settings.cache_ram_bytes_max = bytes_or_auto(reader, "ram_bytes_max");
  settings.cache_folder = reader.text("folder");
  if (!settings.cache_folder.empty() && !settings.cache_folder.is_absolute()) {
    reader.complain("folder", "must be an absolute path, or left out: then nothing is kept on disk");
  }
  settings.cache_disk_bytes_max = static_cast<uint64_t>(reader.integer("disk_bytes_max"));
}

void check_state(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "state", keys_of("state"), complaints);
  reader.refuse_unknown();
  const std::string folder = reader.text("folder");
  settings.state_kept = folder != "off";
  if (folder == "auto" || folder == "off") return;
  settings.state_folder = folder;
  if (!settings.state_folder.is_absolute()) {
    reader.complain("folder", "must be an absolute path, \"auto\" or \"off\", not " + in_quotes(folder));
  }
}

// After [limits]: what is pinned must be within them.
void check_tuning(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "tuning", keys_of("tuning"), complaints);
  reader.refuse_unknown();
  settings.tuning_enabled = reader.flag("enabled");
  const auto pinned = [&](std::string_view name, std::string_view limit, uint32_t max) {
    const auto count = static_cast<uint32_t>(reader.integer_or_word(name).value_or(0));
    if (max == 0 || count <= max) return count;
    reader.complain(name, "must not be above limits." + std::string(limit) + ", which is " + std::to_string(max));
    return max;
  };
  settings.tuning_decode = pinned("decode", "cpu_budget", settings.cpu_budget);
  settings.tuning_fetch = pinned("fetch", "fetch_concurrency", settings.fetch_concurrency);
  settings.tuning_depth = pinned("depth", "", 0);
}

void check_gpu(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "gpu", keys_of("gpu"), complaints);
  reader.refuse_unknown();
  settings.gpu_enabled = reader.flag("enabled");
  settings.gpu_slot_bytes_max = static_cast<uint64_t>(reader.integer("slot_bytes_max"));
  settings.gpu_staging_bytes_max = static_cast<uint64_t>(reader.integer("staging_bytes_max"));
}

}  // namespace

Allowed check_allowed(const TableReader& reader) {
  Allowed allowed{.users = reader.texts("users"), .groups = reader.texts("groups")};
  for (const auto& group : allowed.groups) {
    if (group == "*") reader.complain("groups", "must not hold \"*\": everybody is users = [\"*\"]");
  }
  return allowed;
}

namespace {

// A path, or a table of a path and of who may send specs over it.
DataRoot check_root(const Node& node, const std::string& key, Complaints& complaints) {
  if (const auto* text = node.text()) {
    if (!is_absolute_path(*text) || !is_plain(*text)) {
      complaints.add(node.line, key, "must be an absolute path without control characters, not " + in_quotes(*text));
    }
    return {.path = *text};
  }
  if (node.table() == nullptr) {
    complaints.add(node.line, key,
                   "must be a path, or a table with path, users and groups, not " + std::string(kind_of(node)));
    return {};
  }
  const TableReader reader(node, key, keys_of("data.roots"), complaints);
  reader.refuse_unknown();
  DataRoot root{.path = {}, .senders = check_allowed(reader), .follow_links = reader.flag("follow_links")};
  const auto path = reader.given_text("path");
  if (!path) return root;
  root.path = *path;
  const bool is_opened = !root.senders.users.empty() || !root.senders.groups.empty();
  if (!is_absolute_path(*path)) {
    reader.complain("path", "must be an absolute path, not " + in_quotes(*path));
  } else if (is_opened && root.path.lexically_normal() == "/") {
    reader.complain("path",
                    "must not be \"/\" beside users or groups, who could then read whatever the daemon can read: name "
                    "the folders with data");
  }
  return root;
}

void check_stores(const TableReader& reader, DaemonSettings& settings) {
  const Node* stores = reader.find("stores");
  if (stores == nullptr) return;
  const auto* list = stores->list();
  if (list == nullptr) {
    return reader.complain(
        "stores", "must be tables that are each written [[data.stores]], not " + std::string(kind_of(*stores)));
  }
  for (size_t i = 0; i < list->size(); ++i)
    settings.data_stores.push_back(
        check_store((*list)[i], "data.stores[" + std::to_string(i) + "]", reader.complaints()));
}

void check_data(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "data", keys_of("data"), complaints);
  reader.refuse_unknown();
  check_stores(reader, settings);
  const Node* roots = reader.find("roots");
  if (roots == nullptr) return;
  const auto* list = roots->list();
  if (list == nullptr) {
    reader.complain("roots", "must be a list of paths, or tables that are each written [[data.roots]], not " +
                                 std::string(kind_of(*roots)));
    return;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    settings.data_roots.push_back(check_root((*list)[i], "data.roots[" + std::to_string(i) + "]", complaints));
  }
}

Allowed check_access(const Node& node, const std::string& key, Complaints& complaints) {
  TableReader reader(node, key, keys_of("pipelines.access.NAME"), complaints);
  reader.refuse_unknown();
  return check_allowed(reader);
}

bool is_pipeline_name(const std::string& name) { return is_word(name, "_.-") && name.find_first_of("_.-") != 0; }

void check_cpu_weights(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  const std::string key = "pipelines.cpu_weight";
  std::vector<Parameter> known;  // a key for each name that is written
  const auto* entries = node.table();
  for (size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    known.push_back(keys_of(key).front());
    known.back().name = (*entries)[i].name;
  }
  const TableReader reader(node, key, known, complaints);
  for (const Parameter& weight : known) {
    const std::string name(weight.name);
    if (!is_pipeline_name(name)) {
      complaints.add(reader.line(name), key + "." + printable(name, 64),
                     "must be a pipeline's name (letters, digits, \"_\", \".\", \"-\")");
      continue;
    }
    settings.cpu_weights.emplace(name, reader.number(name));
  }
}

void check_pipelines(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  TableReader reader(node, "pipelines", keys_of("pipelines"), complaints);
  const std::array<std::string_view, 2> others = {"access", "cpu_weight"};
  reader.refuse_unknown(others);
  settings.pipelines_dir = reader.text("dir");
  if (!settings.pipelines_dir.empty() && !settings.pipelines_dir.is_absolute()) {
    reader.complain("dir", "must be an absolute path");
  }
  if (const Node* weights = reader.find("cpu_weight")) check_cpu_weights(*weights, settings, complaints);
  const Node* access = reader.find("access");
  if (access == nullptr) return;
  const auto* entries = access->table();
  if (entries == nullptr) {
    reader.complain("access", "must be tables, each written [pipelines.access.NAME]");
    return;
  }
  for (const auto& [name, entry] : *entries) {
    const std::string key = "pipelines.access." + printable(name, 64);
    if (name != "*" && !is_pipeline_name(name)) {
      complaints.add(entry.line, key, "must be a pipeline's name (letters, digits, \"_\", \".\", \"-\"), or \"*\"");
    }
    settings.access.emplace(name, check_access(entry, key, complaints));
  }
}

}  // namespace

std::vector<std::string> daemon_keys() {
  std::vector<std::string> all;
  for (const auto& section : daemon_sections()) {
    // Of tables in a list: "data.roots" itself stands for them.
    if (section.name == "data.roots" || section.name == "data.stores") continue;
    for (const auto& key : section.keys) all.push_back(std::string(section.name) + "." + std::string(key.name));
  }
  return all;
}

Loaded<DaemonSettings> check_daemon(const Node& root, const std::string& origin) {
  Complaints complaints(origin, daemon_places());
  TableReader reader(root, "", {}, complaints);
  const std::array<std::string_view, 11> tables = {"socket", "limits", "decode",    "cache", "state", "tuning",
                                                   "gpu",    "data",   "pipelines", "http",  "log"};
  reader.refuse_unknown(tables);
  DaemonSettings settings;
  check_socket(section_node(root, "socket"), settings, complaints);
  check_limits(section_node(root, "limits"), settings, complaints);
  check_decode(section_node(root, "decode"), settings, complaints);
  check_cache(section_node(root, "cache"), settings, complaints);
  check_state(section_node(root, "state"), settings, complaints);
  check_tuning(section_node(root, "tuning"), settings, complaints);
  check_gpu(section_node(root, "gpu"), settings, complaints);
  check_data(section_node(root, "data"), settings, complaints);
  check_pipelines(section_node(root, "pipelines"), settings, complaints);
  check_http(section_node(root, "http"), settings, complaints);
  TableReader log(section_node(root, "log"), "log", keys_of("log"), complaints);
  log.refuse_unknown();
  settings.log_level = log.text("level");
  if (complaints.empty()) return {std::move(settings), {}};
  return {std::nullopt, complaints.take()};
}

}  // namespace spdld::config
