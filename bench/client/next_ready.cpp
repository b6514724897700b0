// A trainer in C++ that uses the public library alone. bench/handover.py starts it beside a daemon:
//
//   next_ready SOCKET PIPELINE.toml CALLS
//
// Before each call the trainer waits until the daemon shows a full ring, so that next() never waits for a picture. It
// prints one JSON line: the microseconds of next() alone (median, p99); the process's CPU time for next(), looking up a
// tensor and releasing; the bytes by which the process grew since attach, without slots; and whether the tensors lay in
// the mapped slots themselves.
#include <poll.h>
#include <spdld.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr const char* kSlotName = "memfd:spdld-slot";
constexpr int kLooksMax = 20'000, kWarmUp = 20;

int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void pause_us(long us) {
  timespec rest{0, us * 1000};
  nanosleep(&rest, nullptr);
}

struct Mappings {
  int64_t resident_bytes = 0;  // without slots
  std::vector<std::pair<uintptr_t, uintptr_t>> slots;
};

Mappings look() {
  Mappings found;
  std::ifstream in("/proc/self/smaps");
  bool of_slot = false;
  for (std::string line; std::getline(in, line);) {
    unsigned long from = 0, to = 0;
    long kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      of_slot = line.find(kSlotName) != std::string::npos;
      if (of_slot) found.slots.emplace_back(from, to);
    } else if (!of_slot && std::sscanf(line.c_str(), "Rss: %ld kB", &kib) == 1) {
      found.resident_bytes += kib * 1024;
    }
  }
  return found;
}

uint64_t count_of(const std::string& json, const char* key) {
  const size_t at = json.find(key);
  if (at == std::string::npos) throw std::runtime_error("the daemon describes no ring");
  return std::strtoull(json.c_str() + at + std::char_traits<char>::length(key), nullptr, 10);
}

// Full is a ring that has batches ready and fills no more of them: how many that are, the daemon's tuning decides.
void wait_until_full(const char* socket, const spdld::Loader& loader) {
  for (int look = 0; look < kLooksMax; ++look) {
    const std::string json = spdld::query("describe", "handover", socket);
    pollfd readable{spdld_poll_fd(loader.get()), POLLIN, 0};
    if (count_of(json, "\"filling\":") == 0 && count_of(json, "\"ready\":") > 0 && poll(&readable, 1, 0) == 1) return;
    pause_us(500);
  }
  throw std::runtime_error("the ring was not full within 10 s");
}

struct Figures {
  std::vector<int64_t> next_ns, cpu_ns;
  uint64_t in_slots = 0;
};

// One batch taken and given back. False at the end of the last epoch.
bool take(spdld::Loader& loader, const Mappings& mapped, Figures& figures) {
  const int64_t cpu0 = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), began = nanoseconds(CLOCK_MONOTONIC);
  auto [result, batch] = loader.next(10'000);
  const int64_t ended = nanoseconds(CLOCK_MONOTONIC);
  if (!batch) return result != SPDLD_END;
  const auto address = reinterpret_cast<uintptr_t>(batch["image"].address);
  batch.release();
  const int64_t cpu1 = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  figures.next_ns.push_back(ended - began);
  figures.cpu_ns.push_back(cpu1 - cpu0);
  figures.in_slots += std::any_of(mapped.slots.begin(), mapped.slots.end(),
                                  [&](const auto& slot) { return address >= slot.first && address < slot.second; });
  return true;
}

double quantile_us(std::vector<int64_t> ns, double share) {
  std::sort(ns.begin(), ns.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(ns.size()));
  return static_cast<double>(ns[std::min(at, ns.size() - 1)]) * 1e-3;
}

void run(const char* socket, const char* pipeline, size_t calls) {
  const int64_t before = look().resident_bytes;
  spdld::AttachOptions options;
  options.socket = socket;
  options.pipeline = pipeline;
  options.no_private_daemon = 1;
  spdld::Loader loader(options);
  Figures warm_up, figures;
  for (int i = 0; i < kWarmUp && take(loader, {}, warm_up); ++i) wait_until_full(socket, loader);
  const Mappings mapped = look();
  while (figures.next_ns.size() < calls) {
    wait_until_full(socket, loader);
    if (!take(loader, mapped, figures)) break;
  }
  if (figures.next_ns.empty()) throw std::runtime_error("no batch came");
  std::printf(
      "{\"calls\": %zu, \"next_us\": %.2f, \"next_p99_us\": %.2f, \"cpu_us\": %.2f, \"grown_bytes\": %lld, "
      "\"in_slots\": "
      "%llu, \"slots\": %zu}\n",
      figures.next_ns.size(), quantile_us(figures.next_ns, 0.5), quantile_us(figures.next_ns, 0.99),
      quantile_us(figures.cpu_ns, 0.5), static_cast<long long>(look().resident_bytes - before),
      static_cast<unsigned long long>(figures.in_slots), mapped.slots.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: next_ready SOCKET PIPELINE.toml CALLS\n");
    return 2;
  }
  try {
    run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "next_ready: %s\n", error.what());
    return 1;
  }
  return 0;
}
