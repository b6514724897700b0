#include "tests/support/fake_cuda/ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "proto/unique_fd.h"

namespace spdld::test::fake {

namespace abi = cuda::abi;

namespace {

constexpr uint64_t kMagic = 0x73706c6466616b31;

void check(bool good, const std::string& what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

Shared* map_shared(int fd) {
  void* mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check(mapped != MAP_FAILED, "mmap of the fake driver's ledger");
  return static_cast<Shared*>(mapped);
}

}  // namespace

class Ledger::Lock {
 public:
  explicit Lock(Shared& shared) : mutex_(shared.mutex) {
    // The last holder was killed. Rows are written so that each step leaves the table usable.
    if (::pthread_mutex_lock(&mutex_) == EOWNERDEAD) ::pthread_mutex_consistent(&mutex_);
  }
  ~Lock() { ::pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

std::unique_ptr<Ledger> Ledger::create(const std::filesystem::path& folder, const FakeCudaOptions& options) {
  if (options.devices < 0 || options.devices > static_cast<int>(kDevicesMax))
    throw std::invalid_argument("the fake driver has 0 to " + std::to_string(kDevicesMax) + " devices");
  const UniqueFd file(::open((folder / "ledger").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  check(file.get() >= 0 && ::ftruncate(file.get(), sizeof(Shared)) == 0, "making the fake driver's ledger");
  Shared* shared = map_shared(file.get());
  shared->options = options;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&shared->mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  shared->magic = kMagic;
  return std::make_unique<Ledger>(Key{}, folder, shared);
}

std::unique_ptr<Ledger> Ledger::open(const std::filesystem::path& folder) {
  const UniqueFd file(::open((folder / "ledger").c_str(), O_RDWR | O_CLOEXEC));
  check(file.get() >= 0, "opening the fake driver's ledger");
  Shared* shared = map_shared(file.get());
  if (shared->magic != kMagic) throw std::runtime_error("this is no ledger of the fake driver");
  return std::make_unique<Ledger>(Key{}, folder, shared);
}

std::unique_ptr<Ledger> Ledger::from_environment() {
  const char* folder = std::getenv(kFolderVariable);
  if (!folder || !*folder) return nullptr;
  try {
    return open(folder);
  } catch (const std::exception&) {
    return nullptr;  // a driver that finds no GPU
  }
}

Ledger::~Ledger() { ::munmap(shared_, sizeof(Shared)); }

void Ledger::breach(std::string_view entry, std::string_view sentence) {
  const std::string line =
      "pid " + std::to_string(::getpid()) + ": " + std::string(entry) + ": " + std::string(sentence) + "\n";
  const UniqueFd file(::open((folder_ / "violations").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file) std::ignore = ::write(file.get(), line.data(), line.size());
}

std::vector<std::string> Ledger::violations() const {
  std::vector<std::string> lines;
  std::ifstream file(folder_ / "violations");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void Ledger::inject(Symbol symbol, int code, uint64_t nth, bool ever_after, pid_t pid) {
  const Lock lock(*shared_);
  const uint32_t row = shared_->fault_rows.load();
  if (row == kFaultsMax) throw std::runtime_error("the fake driver's table of faults is full");
  FaultRow& fault = shared_->faults[row];
  fault.symbol.store(static_cast<int32_t>(symbol));
  fault.code.store(code);
  fault.pid.store(pid);
  fault.ever_after.store(ever_after);
  fault.left.store(static_cast<int64_t>(nth));
  shared_->fault_rows.store(row + 1);
}

std::optional<int> Ledger::strike(Symbol symbol) {
  const uint32_t rows = std::min<uint32_t>(shared_->fault_rows.load(), kFaultsMax);
  std::optional<int> code;
  for (uint32_t i = 0; i < rows; ++i) {
    FaultRow& fault = shared_->faults[i];
    const int32_t pid = fault.pid.load();
    if (fault.symbol.load() != static_cast<int32_t>(symbol) || (pid != 0 && pid != ::getpid())) continue;
    const int64_t left = fault.left.fetch_sub(1);
    if (!code && (left == 1 || (left < 1 && fault.ever_after.load()))) code = fault.code.load();
  }
  if (code) shared_->struck.fetch_add(1);
  return code;
}

ProcessRow* Ledger::join() {
  const ProcessKey key = own_key();
  const Lock lock(*shared_);
  reclaim();
  uint32_t row = 0;
  while (row < shared_->process_rows && shared_->processes[row].key.pid != 0) ++row;
  if (row == kProcessesMax) return nullptr;
  ProcessRow& process = shared_->processes[row];
  process.contexts = 0;
  process.streams = process.events = process.registrations = 0;
  process.key = key;
  shared_->process_rows = std::max(shared_->process_rows, row + 1);
  own_row_ = row;
  return &process;
}

abi::Result Ledger::add_context(int device) {
  const Lock lock(*shared_);
  const uint64_t used = used_locked(device);
  if (options().exclusive_process)
    for (uint32_t i = 0; i < shared_->process_rows; ++i)
      if (i != own_row_ && shared_->processes[i].key.pid != 0 && (shared_->processes[i].contexts.load() >> device & 1))
        return abi::kDeviceUnavailable;
  if (used + kContextBytes > options().device_bytes) return abi::kOutOfMemory;
  shared_->processes[own_row_].contexts.fetch_or(1u << device);
  return abi::kSuccess;
}

void Ledger::drop_context(int device) { shared_->processes[own_row_].contexts.fetch_and(~(1u << device)); }

bool Ledger::is_alive_row(const AllocationRow::Holder& holder) const {
  return holder.count > 0 && shared_->processes[holder.process].key == holder.key;
}

AllocationRow* Ledger::row_of(uint64_t id) {
  for (uint32_t i = 0; i < shared_->allocation_rows; ++i)
    if (shared_->allocations[i].id == id) return &shared_->allocations[i];
  return nullptr;
}

AllocationRow* Ledger::free_row() {
  AllocationRow* row = row_of(0);
  if (!row && shared_->allocation_rows < kAllocationsMax) row = &shared_->allocations[shared_->allocation_rows++];
  if (row) *row = {};
  return row;
}

void Ledger::reclaim() {
  for (uint32_t i = 0; i < shared_->process_rows; ++i) {
    ProcessRow& process = shared_->processes[i];
    if (process.key.pid != 0 && i != own_row_ && !is_alive(process.key)) process.key = {};
  }
  for (uint32_t i = 0; i < shared_->allocation_rows; ++i) {
    AllocationRow& row = shared_->allocations[i];
    if (row.id == 0) continue;
    bool held = is_alive_row(row.owner);
    if (!held) row.owner.count = 0;
    for (auto& importer : row.importers) {
      if (importer.count == 0) continue;
      if (!is_alive_row(importer)) importer.count = 0;
      held |= importer.count > 0;
    }
    if (!held) row.id = 0;
  }
}

uint64_t Ledger::used_locked(int device) {
  reclaim();
  uint64_t used = 0;
  for (uint32_t i = 0; i < shared_->process_rows; ++i)
    if (shared_->processes[i].key.pid != 0 && (shared_->processes[i].contexts.load() >> device & 1))
      used += kContextBytes;
  for (uint32_t i = 0; i < shared_->allocation_rows; ++i) {
    const AllocationRow& row = shared_->allocations[i];
    if (row.id == 0 || row.device != device) continue;
    // Handles keep nothing: what its owner freed is gone. File descriptors do.
    if (row.owner.count > 0 || row.transport == Transport::kFd) used += row.bytes;
  }
  return used;
}

uint64_t Ledger::used_bytes(int device) {
  const Lock lock(*shared_);
  return used_locked(device);
}

uint64_t Ledger::add_allocation(int device, uint64_t bytes, Transport transport) {
  const Lock lock(*shared_);
  if (used_locked(device) + bytes > options().device_bytes) return 0;
  AllocationRow* row = free_row();
  if (!row) return 0;
  row->device = device;
  row->transport = transport;
  row->bytes = bytes;
  row->owner = {shared_->processes[own_row_].key, own_row_, 1};
  row->id = ++shared_->last_id;
  return row->id;
}

Ledger::Held Ledger::hold(uint64_t id, int device, uint64_t bytes, Transport transport) {
  const Lock lock(*shared_);
  reclaim();
  AllocationRow* row = row_of(id);
  if (!row && transport == Transport::kFd) {
    row = free_row();
    if (!row) return Held::kFull;
    row->device = device;
    row->transport = transport;
    row->bytes = bytes;
    row->id = id;
  }
  if (!row || (transport == Transport::kHandle && row->owner.count == 0)) return Held::kGone;
  const ProcessKey key = shared_->processes[own_row_].key;
  if (row->owner.key == key && row->owner.count > 0) {
    ++row->owner.count;
    return Held::kYes;
  }
  AllocationRow::Holder* place = nullptr;
  for (auto& importer : row->importers) {
    if (importer.count > 0 && importer.key == key) {
      ++importer.count;
      return Held::kYes;
    }
    if (importer.count == 0 && !place) place = &importer;
  }
  if (!place) return Held::kFull;
  *place = {key, own_row_, 1};
  return Held::kYes;
}

std::vector<pid_t> Ledger::drop(uint64_t id) {
  const Lock lock(*shared_);
  std::vector<pid_t> importers;
  AllocationRow* row = row_of(id);
  if (!row) return importers;
  const ProcessKey key = shared_->processes[own_row_].key;
  const bool is_owner = row->owner.count > 0 && row->owner.key == key;
  if (is_owner) {
    --row->owner.count;
  } else {
    for (auto& importer : row->importers) {
      if (importer.count == 0 || importer.key != key) continue;
      --importer.count;
      break;
    }
  }
  reclaim();
  if (is_owner && row->owner.count == 0)
    for (const auto& importer : row->importers)
      if (importer.count > 0) importers.push_back(importer.key.pid);
  return importers;
}

uint64_t Ledger::used_bytes(int device, pid_t pid) {
  const Lock lock(*shared_);
  reclaim();
  uint64_t used = 0;
  for (uint32_t i = 0; i < shared_->process_rows; ++i)
    if (shared_->processes[i].key.pid == pid && (shared_->processes[i].contexts.load() >> device & 1))
      used += kContextBytes;
  for (uint32_t i = 0; i < shared_->allocation_rows; ++i) {
    const AllocationRow& row = shared_->allocations[i];
    if (row.id != 0 && row.device == device && row.owner.count > 0 && row.owner.key.pid == pid) used += row.bytes;
  }
  return used;
}

FakeCudaLive Ledger::live(pid_t pid) {
  const Lock lock(*shared_);
  reclaim();
  FakeCudaLive live;
  for (uint32_t i = 0; i < shared_->process_rows; ++i) {
    const ProcessRow& process = shared_->processes[i];
    if (process.key.pid == 0 || (pid != 0 && process.key.pid != pid)) continue;
    live.contexts += static_cast<uint64_t>(__builtin_popcount(process.contexts.load()));
    live.streams += static_cast<uint64_t>(process.streams.load());
    live.events += static_cast<uint64_t>(process.events.load());
    live.registrations += static_cast<uint64_t>(process.registrations.load());
  }
  for (uint32_t i = 0; i < shared_->allocation_rows; ++i) {
    const AllocationRow& row = shared_->allocations[i];
    if (row.id == 0) continue;
    bool held = row.owner.count > 0 && (pid == 0 || row.owner.key.pid == pid);
    live.allocations += held;
    for (const auto& importer : row.importers) {
      if (importer.count == 0 || (pid != 0 && importer.key.pid != pid)) continue;
      ++live.imports;
      held |= row.transport == Transport::kFd;
    }
    if (held) live.device_bytes += row.bytes;
  }
  return live;
}

std::vector<pid_t> Ledger::processes_on(int device) {
  const Lock lock(*shared_);
  reclaim();
  std::vector<pid_t> pids;
  for (uint32_t i = 0; i < shared_->process_rows; ++i)
    if (shared_->processes[i].key.pid != 0 && (shared_->processes[i].contexts.load() >> device & 1))
      pids.push_back(shared_->processes[i].key.pid);
  return pids;
}

}  // namespace spdld::test::fake
