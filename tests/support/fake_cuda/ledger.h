// The state that all processes with the fake driver share: one mapped file of fixed size in the folder that
// SPDLD_FAKE_CUDA names, and beside it `violations`, a line each. Any thread and process. A process that is killed
// while it holds the lock holds nobody up, and its rows are reclaimed.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/cuda/abi.h"
#include "tests/support/fake_cuda/fake_cuda.h"

namespace spdld::test::fake {

inline constexpr const char* kFolderVariable = "SPDLD_FAKE_CUDA";
inline constexpr unsigned kDevicesMax = 8, kProcessesMax = 512, kAllocationsMax = 8192, kImportersMax = 32,
                          kFaultsMax = 64;
inline constexpr uint64_t kContextBytes = 64u << 20;  // what a context itself takes of the device

#define SPDLD_FAKE_NVML_ENTRIES(X) \
  X(nvmlInit_v2)                   \
  X(nvmlShutdown)                  \
  X(nvmlDeviceGetHandleByUUID)     \
  X(nvmlDeviceGetName)             \
  X(nvmlDeviceGetMemoryInfo)       \
  X(nvmlDeviceGetComputeRunningProcesses_v3)

// Every entry of both libraries.
enum class Symbol : int32_t {
#define SPDLD_FAKE_SYMBOL(symbol, version, parameters) symbol,
  SPDLD_CUDA_ENTRIES(SPDLD_FAKE_SYMBOL)
#undef SPDLD_FAKE_SYMBOL
#define SPDLD_FAKE_SYMBOL(symbol) symbol,
      SPDLD_FAKE_NVML_ENTRIES(SPDLD_FAKE_SYMBOL)
#undef SPDLD_FAKE_SYMBOL
          kCount
};
inline constexpr size_t kSymbols = static_cast<size_t>(Symbol::kCount);
std::string_view name_of(Symbol symbol);
std::optional<Symbol> symbol_of(std::string_view name);

// A process for as long as it lives: numbers come again, start times do not.
struct ProcessKey {
  int32_t pid = 0;  // 0: none
  uint64_t start = 0;
  bool operator==(const ProcessKey&) const = default;
};
ProcessKey own_key();
bool is_alive(const ProcessKey& key);  // a zombie is not

cuda::abi::Uuid uuid_of(int device);
std::string uuid_text(int device);  // "1000face-0000-0000-0000-000000000000"
std::string device_name(int device, const FakeCudaOptions& options);

enum class Transport : int32_t { kHandle, kFd };

struct ProcessRow {
  ProcessKey key;
  std::atomic<uint32_t> contexts;  // a bit a device
  std::atomic<int64_t> streams, events, registrations;
};

struct AllocationRow {
  uint64_t id;  // 0: the row is free
  int32_t device;
  Transport transport;
  uint64_t bytes;
  struct Holder {
    ProcessKey key;
    uint32_t process;  // its row
    uint32_t count;    // 0: nobody
  };
  Holder owner;  // the maker; with the fd transport it may let go before its importers
  Holder importers[kImportersMax];
};

struct FaultRow {
  std::atomic<int32_t> symbol, code, pid, ever_after;
  std::atomic<int64_t> left;  // calls until the failing call, counting it
};

struct Shared {
  uint64_t magic;
  FakeCudaOptions options;
  pthread_mutex_t mutex;
  uint64_t last_id;
  uint32_t process_rows, allocation_rows;  // later rows have never been used
  std::atomic<uint32_t> fault_rows;
  std::atomic<uint64_t> struck, rdma_allocations;
  std::atomic<uint64_t> calls[kSymbols];
  FaultRow faults[kFaultsMax];
  ProcessRow processes[kProcessesMax];
  AllocationRow allocations[kAllocationsMax];
};

class Ledger {
 public:
  static std::unique_ptr<Ledger> create(const std::filesystem::path& folder, const FakeCudaOptions& options);
  static std::unique_ptr<Ledger> open(const std::filesystem::path& folder);  // throws std::system_error
  // The ledger of the folder that the environment names; nullptr: it names no usable folder.
  static std::unique_ptr<Ledger> from_environment();
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  const FakeCudaOptions& options() const { return shared_->options; }
  void breach(std::string_view entry, std::string_view sentence);
  std::vector<std::string> violations() const;

  void count(Symbol symbol) { shared_->calls[static_cast<size_t>(symbol)].fetch_add(1); }
  uint64_t calls(Symbol symbol) const { return shared_->calls[static_cast<size_t>(symbol)].load(); }
  void inject(Symbol symbol, int code, uint64_t nth, bool ever_after, pid_t pid);
  void clear_faults() { shared_->fault_rows.store(0); }
  std::optional<int> strike(Symbol symbol);  // the code that this call fails with
  uint64_t struck() const { return shared_->struck.load(); }

  void count_rdma() { shared_->rdma_allocations.fetch_add(1); }
  uint64_t rdma_allocations() const { return shared_->rdma_allocations.load(); }

  // This process's row, from its cuInit() on; nullptr: the table is full.
  ProcessRow* join();
  // Adds this process's context on `device`: kSuccess, kOutOfMemory, kDeviceUnavailable (another process has the device
  // alone).
  cuda::abi::Result add_context(int device);
  void drop_context(int device);

  // Returns the allocation's id; 0: there is not enough memory left. The caller holds the allocation once.
  uint64_t add_allocation(int device, uint64_t bytes, Transport transport);
  // Holds the allocation once more for this process. With the fd transport a row that went with its last holder comes
  // again: the file descriptor kept the memory.
  enum class Held { kYes, kGone, kFull };
  Held hold(uint64_t id, int device, uint64_t bytes, Transport transport);
  // Holds the allocation once less. When its owner lets go of it, returns the pids of living importers that still have
  // it.
  std::vector<pid_t> drop(uint64_t id);

  uint64_t used_bytes(int device);
  uint64_t used_bytes(int device, pid_t pid);  // by one process
  FakeCudaLive live(pid_t pid);                // 0: all
  std::vector<pid_t> processes_on(int device);

 private:
  class Lock;
  struct Key {};

 public:
  Ledger(Key, std::filesystem::path folder, Shared* shared) : folder_(std::move(folder)), shared_(shared) {}

 private:
  void reclaim();  // the three below: under the lock
  uint64_t used_locked(int device);
  AllocationRow* row_of(uint64_t id);
  AllocationRow* free_row();
  bool is_alive_row(const AllocationRow::Holder& holder) const;

  const std::filesystem::path folder_;
  Shared* const shared_;
  uint32_t own_row_ = kProcessesMax;
};

}  // namespace spdld::test::fake
