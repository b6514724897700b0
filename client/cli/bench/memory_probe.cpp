#include "client/cli/bench/memory_probe.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace spdld::cli {

double pss_bytes(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string word;
  while (rollup >> word) {
    double kib = 0;
    if (word == "Pss:" && rollup >> kib) return kib * 1024;
  }
  return -1;
}

void MemoryProbe::look(double daemon_bytes, const std::vector<pid_t>& clients) {
  const double daemon = std::max(daemon_bytes, 0.0);
  double all_clients = 0;
  for (const pid_t pid : clients) all_clients += std::max(pss_bytes(pid), 0.0);
  if (daemon + all_clients <= peak_) return;
  peak_ = daemon + all_clients;
  daemon_ = daemon;
  clients_ = all_clients;
}

}  // namespace spdld::cli
