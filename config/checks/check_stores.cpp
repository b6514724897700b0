#include <filesystem>
#include <utility>

#include "config/checks/check.h"
#include "config/daemon_settings.h"
#include "config/text/remote_uri.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

Parameter number_key(std::string_view name, std::string_view help, uint64_t fallback, double min, double max) {
  return {.name = name,
          .type = Type::kInteger,
          .help = help,
          .fallback = Value(static_cast<int64_t>(fallback)),
          .min = min,
          .max = max};
}

Parameter flag_key(std::string_view name, std::string_view help) {
  return {.name = name, .type = Type::kFlag, .help = help, .fallback = Value(false)};
}

Parameter words_key(std::string_view name, std::string_view help, const std::string& fallback = "") {
  return {.name = name, .type = Type::kText, .help = help, .fallback = Value(fallback)};
}

std::vector<Parameter> make_keys() {
  const StoreSettings defaults;
  constexpr double kDayMs = 86'400'000, kMany = 1e6;
  return {
      {.name = "uri", .type = Type::kText, .help = "the beginning of its objects' uris: s3://bucket or https://server"},
      {.name = "users", .type = Type::kTexts, .help = "who may send specs over it"},
      {.name = "groups", .type = Type::kTexts, .help = "who may send specs over it"},
      words_key("endpoint", "of an S3 service, with http:// or https://; empty: the environment's, or Amazon's"),
      words_key("region", "of an S3 service; empty: the environment's, or us-east-1"),
      flag_key("path_style", "whether the bucket's name stands in the path of an S3 address"),
      words_key("credentials",
                "auto, anonymous, environment, profile, profile:NAME, web-identity, container or instance",
                defaults.credentials),
      words_key("ca_file", "certificates of the authorities that it is checked by; empty: the system's"),
      number_key("connections_max", "requests at once to its server, whose buckets share them",
                 defaults.limits.connections_max, 1, 1024),
      number_key("requests_per_s_max", "begun in a second; 0: no limit", defaults.limits.requests_per_s_max, 0, kMany),
      {.name = "bytes_per_s_max",
       .type = Type::kSize,
       .help = "received in a second; 0: no limit",
       .fallback = Value(static_cast<int64_t>(defaults.limits.bytes_per_s_max)),
       .min = 0,
       .max = 0x1p50},
      number_key("connect_ms_max", "for a connection", defaults.limits.connect_ms_max, 1, kDayMs),
      number_key("attempt_ms_max", "for one attempt, to its last byte", defaults.limits.attempt_ms_max, 1, kDayMs),
      number_key("total_ms_max", "in which attempts of a request may begin", defaults.limits.total_ms_max, 1, kDayMs),
      number_key("floor_bytes_per_s", "a reply that comes more slowly for ten seconds is a fault; 0: never",
                 defaults.limits.floor_bytes_per_s, 0, 1e9),
      number_key("attempts_max", "of a request, before its sample waits for the store", defaults.limits.attempts_max, 1,
                 100),
      {.name = "hedge_percent",
       .type = Type::kNumber,
       .help = "the share of reads, the slowest, that is asked for a second time; 0: none",
       .fallback = Value(defaults.limits.hedge_percent),
       .min = 0,
       .max = 50},
      words_key(
          "proxy",
          "http:// or https:// and a server that all requests go through; empty: none, whatever the environment says"),
      flag_key("follows_redirects", "whether a web server may send elsewhere"),
      flag_key("link_local", "whether its address may be link-local (169.254.0.0/16, fe80::/10)"),
  };
}

bool is_credentials(std::string_view name) {
  for (const std::string_view known :
       {"auto", "anonymous", "environment", "profile", "web-identity", "container", "instance"})
    if (name == known) return true;
  return name.starts_with("profile:") && name.size() > 8;
}

std::string server_of(const TableReader& reader, std::string_view key) {
  std::string server = reader.text(key);
  const bool is_web = server.starts_with("http://") || server.starts_with("https://");
  const bool is_sound =
      is_web && remote_uri_fault(server).empty() && split_remote_uri(server).object.empty() && !server.ends_with('/');
  if (!server.empty() && !is_sound)
    reader.complain(key, "must be http:// or https:// and a server, without a path, not " + in_quotes(server));
  return server;
}

void check_s3(const TableReader& reader, StoreSettings& store) {
  store.endpoint = server_of(reader, "endpoint");
  store.region = reader.text("region");
  store.path_style = reader.flag("path_style");
  store.credentials = reader.text("credentials");
  if (!is_credentials(store.credentials))
    reader.complain("credentials",
                    "must be auto, anonymous, environment, profile, profile:NAME, web-identity, container or "
                    "instance, not " +
                        in_quotes(store.credentials));
  if (store.uri.starts_with("s3://")) {
    // A request to S3 carries what opens the bucket, and nobody else may see it.
    if (reader.flag("follows_redirects"))
      reader.complain("follows_redirects", "is for a uri that begins with http:// or https://");
    return;
  }
  for (const std::string_view key : {"endpoint", "region", "path_style", "credentials"})
    if (reader.find(key) != nullptr) reader.complain(key, "is for a uri that begins with s3://");
}

}  // namespace

const std::vector<Parameter>& store_keys() {
  static const std::vector<Parameter> keys = make_keys();
  return keys;
}

StoreSettings check_store(const Node& node, const std::string& key, Complaints& complaints) {
  const TableReader reader(node, key, store_keys(), complaints);
  reader.refuse_unknown();
  StoreSettings store{.uri = {}, .senders = check_allowed(reader)};
  if (const auto uri = reader.given_text("uri")) {
    store.uri = *uri;
    std::string fault = is_remote(*uri) ? remote_uri_fault(*uri) : "must begin with s3://, http:// or https://";
    if (*uri == "s3://") fault.clear();  // all buckets
    if (!fault.empty()) reader.complain("uri", fault);
    const bool is_opened = !store.senders.users.empty() || !store.senders.groups.empty();
    if (*uri == "s3://" && is_opened) {
      reader.complain("uri",
                      "must not be \"s3://\" beside users or groups, who could then read whatever the daemon can read: "
                      "name the buckets with data");
    }
  }
  check_s3(reader, store);
  store.ca_file = reader.text("ca_file");
  if (!store.ca_file.empty() && !store.ca_file.is_absolute()) reader.complain("ca_file", "must be an absolute path");
  const auto count = [&](std::string_view name) { return static_cast<uint32_t>(reader.integer(name)); };
  store.limits.connections_max = count("connections_max");
  store.limits.requests_per_s_max = count("requests_per_s_max");
  store.limits.bytes_per_s_max = static_cast<uint64_t>(reader.integer("bytes_per_s_max"));
  store.limits.connect_ms_max = count("connect_ms_max");
  store.limits.attempt_ms_max = count("attempt_ms_max");
  store.limits.total_ms_max = count("total_ms_max");
  store.limits.floor_bytes_per_s = static_cast<uint64_t>(reader.integer("floor_bytes_per_s"));
  store.limits.attempts_max = count("attempts_max");
  store.limits.hedge_percent = reader.number("hedge_percent");
  store.proxy = server_of(reader, "proxy");
  store.follows_redirects = reader.flag("follows_redirects");
  // The daemon sees the proxy's address, and not where a redirect leads.
  if (!store.proxy.empty() && store.follows_redirects)
    reader.complain("follows_redirects", "must not be true beside a proxy, behind which a server may send anywhere");
  store.link_local = reader.flag("link_local");
  return store;
}

}  // namespace spdld::config
