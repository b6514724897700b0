// Who is who: entries by name, processes by number and start time, devices by UUID.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "proto/unique_fd.h"
#include "tests/support/fake_cuda/ledger.h"

namespace spdld::test::fake {

namespace abi = cuda::abi;

namespace {

constexpr std::string_view kNames[] = {
#define SPDLD_FAKE_NAME(symbol, version, parameters) #symbol,
    SPDLD_CUDA_ENTRIES(SPDLD_FAKE_NAME)
#undef SPDLD_FAKE_NAME
#define SPDLD_FAKE_NAME(symbol) #symbol,
        SPDLD_FAKE_NVML_ENTRIES(SPDLD_FAKE_NAME)
#undef SPDLD_FAKE_NAME
};

// proc(5): state and start time of a process, fields 3 and 22 of its stat. Its name may hold anything, ')' too.
struct Stat {
  char state;
  uint64_t start;
};
std::optional<Stat> stat_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (got <= 0) return std::nullopt;
  text[got] = 0;
  const char* after = std::strrchr(text, ')');
  Stat stat = {};
  unsigned long long start = 0;
  if (!after ||
      std::sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &stat.state, &start) != 2)
    return std::nullopt;
  stat.start = start;
  return stat;
}

}  // namespace

std::string_view name_of(Symbol symbol) { return kNames[static_cast<size_t>(symbol)]; }

std::optional<Symbol> symbol_of(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Symbol>(found - std::begin(kNames));
}

ProcessKey own_key() {
  const pid_t pid = ::getpid();
  const auto stat = stat_of(pid);
  return {pid, stat ? stat->start : 0};
}

bool is_alive(const ProcessKey& key) {
  if (key.pid == 0 || (::kill(key.pid, 0) != 0 && errno == ESRCH)) return false;
  const auto stat = stat_of(key.pid);
  return stat && stat->start == key.start && stat->state != 'Z' && stat->state != 'X';
}

abi::Uuid uuid_of(int device) {
  abi::Uuid uuid = {};
  uuid.bytes[0] = static_cast<char>(0x10 + device);
  uuid.bytes[2] = static_cast<char>(0xfa);
  uuid.bytes[3] = static_cast<char>(0xce);
  uuid.bytes[15] = static_cast<char>(device);
  return uuid;
}

std::string uuid_text(int device) {
  char text[40];
  std::snprintf(text, sizeof text, "%02x00face-0000-0000-0000-%012x", 0x10 + device, static_cast<unsigned>(device));
  return text;
}

std::string device_name(int device, const FakeCudaOptions& options) {
  return "Fake GPU " + std::to_string(device) + (options.mig ? " MIG 1g.5gb" : "");
}

}  // namespace spdld::test::fake
