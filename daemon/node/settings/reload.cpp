#include "daemon/node/settings/reload.h"

#include <algorithm>
#include <array>
#include <utility>

namespace spdld::node {
namespace {

using Settings = config::DaemonSettings;

struct Fixed {
  const char* key;
  bool (*differs)(const Settings&, const Settings&);
  void (*keep)(const Settings& from, Settings& in);
};

template <auto kMember>
constexpr Fixed fixed(const char* key) {
  return {key, [](const Settings& a, const Settings& b) { return a.*kMember != b.*kMember; },
          [](const Settings& from, Settings& in) { in.*kMember = from.*kMember; }};
}

constexpr std::array kFixed = {
    fixed<&Settings::socket_path>("socket.path"),
    fixed<&Settings::socket_mode>("socket.mode"),
    fixed<&Settings::socket_group>("socket.group"),
    fixed<&Settings::cpu_budget>("limits.cpu_budget"),
    fixed<&Settings::fetch_concurrency>("limits.fetch_concurrency"),
    fixed<&Settings::spare_slot_bytes_max>("limits.spare_slot_bytes_max"),
    fixed<&Settings::sample_ms_max>("limits.sample_ms_max"),
    fixed<&Settings::sample_bytes_max>("limits.sample_bytes_max"),
    fixed<&Settings::jpeg_by_libjpeg>("decode.jpeg"),
    fixed<&Settings::cache_ram_bytes_max>("cache.ram_bytes_max"),
    fixed<&Settings::cache_folder>("cache.folder"),
    fixed<&Settings::cache_disk_bytes_max>("cache.disk_bytes_max"),
    fixed<&Settings::state_kept>("state.folder"),
    fixed<&Settings::state_folder>("state.folder"),
    fixed<&Settings::http_listen>("http.listen"),
    fixed<&Settings::http_socket_mode>("http.socket_mode"),
    fixed<&Settings::http_token_file>("http.token_file"),
    fixed<&Settings::http_page>("http.page"),
    fixed<&Settings::gpu_enabled>("gpu.enabled"),
    fixed<&Settings::gpu_slot_bytes_max>("gpu.slot_bytes_max"),
    fixed<&Settings::gpu_staging_bytes_max>("gpu.staging_bytes_max"),
};

}  // namespace

config::DaemonSettings reloaded(const config::DaemonSettings& running, config::DaemonSettings read) {
  for (const Fixed& one : kFixed) one.keep(running, read);
  return read;
}

std::vector<std::string> keys_that_wait(const config::DaemonSettings& started, const config::DaemonSettings& read) {
  std::vector<std::string> keys;
  for (const Fixed& one : kFixed)
    if (one.differs(started, read)) keys.emplace_back(one.key);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace spdld::node
