// Objects that the driver lends; each destructor gives its object back. Everything made on a context holds the context.
// Constructors and factories throw Fault; functions on the way of a batch return the driver's result. Any thread: each
// call makes its context current for its own time, and leaves the thread as it found it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "proto/cuda/driver.h"
#include "proto/unique_fd.h"

namespace spdld::cuda {

inline constexpr uint64_t kDeviceGranularity = 2u << 20;  // no handle exposes a neighbour's bytes
inline uint64_t round_up(uint64_t bytes, uint64_t to = kDeviceGranularity) { return (bytes + to - 1) / to * to; }

// The primary context of a device, which the runtime API, and so torch and jax, use as well.
class Context {
 public:
  // Whether daemon and trainer use the device at once, or this process is enough, which may then have the device alone.
  enum class Use : uint8_t { kBySeveral, kByOne };
  // kExclusiveProcess: the device takes one process alone, where several must use it, or where another process has it.
  // kUnsupported: the device takes no process.
  static std::shared_ptr<Context> retain(const Device& device, Use use = Use::kBySeveral);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  const Device& device() const { return device_; }
  abi::Context handle() const { return handle_; }

  // After a reset, and in a forked child of the process that retained it: the driver is not called for it any more, so
  // that objects made on it are not given back piece by piece.
  bool lost() const { return lost_.load(std::memory_order_relaxed) || driver_.is_forked(); }
  // After a sticky error: marks it lost, and destroys the device's primary context with all that lives on it, for this
  // process. Virtual memory lives on no context, and is given back one by one. Precondition: no other thread is in a
  // call on it.
  void reset();

 private:
  friend class FdMemory;
  // Virtual memory, as it is to be given back.
  struct Range {
    abi::DevicePtr address = 0;
    uint64_t bytes = 0;
    bool is_mapped = false;
    abi::MemHandle handle = 0;  // 0: none is held
  };
  Context(const Device& device, Use use);
  uint64_t keep(const Range& range);  // its number
  // Nothing where a reset has given it back. After a sticky error the range stays until the reset.
  void give_back(uint64_t number);
  bool try_to_give_back(Range& range) const;

  const Driver& driver_;
  const Device device_;
  abi::Context handle_ = nullptr;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::map<uint64_t, Range> ranges_;  // guarded by mutex_
  uint64_t last_range_ = 0;
};
using ContextRef = std::shared_ptr<Context>;

// Lets this thread call the driver for a scope beside the capture of a stream into a graph, on whichever thread. In the
// threads' default mode, a capture forbids them to allocate, map, query and wait, and a forbidden call also spoils the
// capture. The library's own calls are no part of the caller's graphs.
class BesideCaptures {
 public:
  explicit BesideCaptures(const Driver* driver);  // nullptr: does nothing
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  const Driver* driver_;
  int before_ = abi::kCaptureModeRelaxed;
};

// Makes a context current for a scope, beside captures. For a lost context the result is kContextDestroyed.
class Current {
 public:
  explicit Current(const Context& context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  abi::Result result() const { return result_; }

 private:
  const Context& context_;
  const BesideCaptures beside_;
  abi::Result result_;
};

struct MemoryLevels {
  uint64_t free_bytes = 0, total_bytes = 0;
};
MemoryLevels memory_levels(const Context& context);

// Non-blocking: it does not wait for the legacy default stream.
class Stream {
 public:
  explicit Stream(ContextRef context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  abi::Stream handle() const { return handle_; }
  const Context& context() const { return *context_; }

 private:
  const ContextRef context_;
  abi::Stream handle_ = nullptr;
};

// Without timing; a thread that waits for it sleeps.
class Event {
 public:
  enum class Reach : uint8_t { kProcess, kInterprocess };
  Event(ContextRef context, Reach reach);
  // Opens another process's event.
  Event(ContextRef context, const abi::IpcEventHandle& shared);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  abi::Event handle() const { return handle_; }
  abi::IpcEventHandle share() const;  // throws Fault
  abi::Result record(abi::Stream stream);
  abi::Result make_wait(abi::Stream stream);  // later work in `stream` waits for it
  abi::Result query() const;                  // kNotReady: not yet
  abi::Result wait() const;                   // blocks

 private:
  const ContextRef context_;
  abi::Event handle_ = nullptr;
};

// Host memory that the GPU reads and writes directly. The caller owns the memory, which outlives this object.
class RegisteredHost {
 public:
  RegisteredHost(ContextRef context, void* address, uint64_t bytes);
  ~RegisteredHost();
  RegisteredHost(const RegisteredHost&) = delete;
  RegisteredHost& operator=(const RegisteredHost&) = delete;

 private:
  const ContextRef context_;
  void* const address_;
};

// Memory on a GPU: made here and shown to other processes, or made by another process and opened here.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Gives the memory back before the destructor would. False: it stays open here until the process ends, so that its
  // maker must not free it. May be called again.
  virtual bool close() { return true; }
  abi::DevicePtr address() const { return address_; }
  uint64_t bytes() const { return bytes_; }  // a multiple of kDeviceGranularity

 protected:
  DeviceMemory(ContextRef context, uint64_t bytes) : context_(std::move(context)), bytes_(bytes) {}
  const ContextRef context_;
  uint64_t bytes_;
  abi::DevicePtr address_ = 0;
};

// Memory shared by CUDA IPC memory handles. The exporter must not free it before every importer has closed it.
class HandleMemory final : public DeviceMemory {
 public:
  HandleMemory(ContextRef context, uint64_t bytes);
  ~HandleMemory() override;
  struct Shared {
    abi::IpcMemHandle handle = {};
    uint64_t offset = 0;  // of this memory in the allocation that the handle stands for
  };
  Shared share() const;
};

class OpenedHandle final : public DeviceMemory {
 public:
  // Throws Fault: kMig, kSameProcess, kOtherNamespace as far as the driver's number tells; kFailed: the memory is
  // smaller than claimed.
  OpenedHandle(ContextRef context, const HandleMemory::Shared& shared, uint64_t bytes);
  ~OpenedHandle() override;
  bool close() override;

 private:
  abi::DevicePtr base_ = 0;
};

// Memory shared by CUDA virtual memory, as file descriptors: it lives as long as any process has it mapped.
class FdMemory final : public DeviceMemory {
 public:
  FdMemory(ContextRef context, uint64_t bytes);              // makes it
  FdMemory(ContextRef context, int shared, uint64_t bytes);  // maps another process's; `shared` stays the caller's
  ~FdMemory() override;
  UniqueFd share() const;  // of memory made here; closed on exec

 private:
  void map(abi::MemHandle handle, bool keeps_handle);
  abi::MemHandle handle_ = 0;  // of memory made here; 0: another process's, which its mapping alone keeps
  uint64_t range_ = 0;         // its number in the context
};

}  // namespace spdld::cuda
