#include "proto/cuda/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>

#include "proto/hex.h"

namespace spdld::cuda {
namespace {

// cuGetProcAddress as of CUDA 11.3 and, with a status, as of 12.0.
using Finder = abi::Result (*)(const char* symbol, void** entry, int version, uint64_t flags);
using FinderV2 = abi::Result (*)(const char* symbol, void** entry, int version, uint64_t flags, int* status);

constexpr int kVersionNeeded = 11040;  // the newest variant in the table
constexpr int kNameBytes = 256;

using Clock = std::chrono::steady_clock;

// The process that loads the driver; 0: none yet. Told apart from Loaded: a fork in the middle of loading leaves the
// child with a load that nobody ends.
std::atomic<pid_t> loader_pid{0};
std::atomic<bool> load_ended{false};
std::atomic<bool> found_later{false};  // by another attempt than the first

std::string version_text(int version) {
  if (version <= 0) return "of an unknown CUDA version";
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <class Function>
Function symbol_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Asks the library for entries, each in the variant of a version.
class EntryFinder {
 public:
  explicit EntryFinder(void* library)
      : newer_(symbol_of<FinderV2>(library, "cuGetProcAddress_v2")),
        older_(symbol_of<Finder>(library, "cuGetProcAddress")) {
    const auto get_version = symbol_of<abi::Result (*)(int*)>(library, "cuDriverGetVersion");
    if (get_version == nullptr || get_version(&version_) != abi::kSuccess) version_ = 0;
    if (newer_ == nullptr && older_ == nullptr) throw too_old("cuGetProcAddress");
  }

  int version() const { return version_; }

  template <class Function>
  Function find(const char* symbol, int version) const {
    void* entry = nullptr;
    int status = 0;
    const abi::Result code = newer_ != nullptr ? newer_(symbol, &entry, version, abi::kProcAddressLegacyStream, &status)
                                               : older_(symbol, &entry, version, abi::kProcAddressLegacyStream);
    if (code != abi::kSuccess || entry == nullptr) throw too_old(symbol);
    return reinterpret_cast<Function>(entry);
  }

 private:
  Fault too_old(const std::string& symbol) const {
    return Fault(Cause::kDriverTooOld, "the driver here (" + version_text(version_) + ") lacks " + symbol + ", and " +
                                           version_text(kVersionNeeded) + " is the oldest that has all that is needed");
  }

  FinderV2 newer_;
  Finder older_;
  int version_ = 0;
};

// As the kernel names it; GPUs are function 0.
std::string pci_text(int domain, int bus, int device) {
  if (domain < 0 || bus < 0 || device < 0) return {};
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                static_cast<unsigned>(device));
  return text;
}

Fault forked_fault() {
  return Fault(Cause::kForked, "this process was forked from one that had initialised CUDA, and can't use it");
}

}  // namespace

// Never destroyed: threads may still call the driver while the process exits.
struct Driver::Loaded {
  Driver driver;
  std::optional<Fault> fault;
  Clock::time_point ended = {};

  Loaded() {
    try {
      driver.load_entries();
      driver.initialize();
      driver.list_devices();
    } catch (const Fault& reason) {
      fault = reason;
    }
    ended = Clock::now();
    load_ended = true;
  }
};

const Driver::Loaded& Driver::loaded() {
  const pid_t pid = getpid();
  pid_t loader = 0;
  if (!loader_pid.compare_exchange_strong(loader, pid) && loader != pid && !load_ended) throw forked_fault();

  alignas(Loaded) static std::byte storage[sizeof(Loaded)];
  static const Loaded* const once = std::construct_at(reinterpret_cast<Loaded*>(storage));
  return *once;
}

// The attempts after the first. The forked child of a process that has loaded the driver never comes here: another
// thread of its parent may have had the lock.
struct Driver::Retries {
  std::mutex mutex;
  std::optional<Fault> last;  // guarded by mutex, as the following
  Clock::time_point ended;    // the last attempt
  Driver driver;
  bool is_found = false;

  explicit Retries(const Loaded& first) : last(first.fault), ended(first.ended) {}
  void look() {
    driver.devices_.clear();
    try {
      driver.load_entries();
      driver.initialize();
      driver.list_devices();
      is_found = found_later = true;
    } catch (const Fault& fault) {
      last.emplace(fault.apart());
    }
    ended = Clock::now();
  }
};

const Driver& Driver::try_again(const Loaded& first) {
  if (first.fault->cause() == Cause::kDriverTooOld || first.fault->cause() == Cause::kForked) throw *first.fault;
  alignas(Retries) static std::byte storage[sizeof(Retries)];
  static Retries& retries = *std::construct_at(reinterpret_cast<Retries*>(storage), first);
  const std::lock_guard lock(retries.mutex);
  if (!retries.is_found && Clock::now() >= retries.ended + std::chrono::milliseconds(kRetry_ms)) retries.look();
  if (!retries.is_found) throw retries.last->apart();
  return retries.driver;
}

const Driver& Driver::get() {
  const Loaded& once = loaded();
  const bool is_child = once.driver.is_forked();
  if (is_child && (!once.fault || found_later)) throw forked_fault();
  if (!once.fault) return once.driver;
  if (is_child) throw *once.fault;
  return try_again(once);
}

const Driver* Driver::find(std::string* why) {
  try {
    return &get();
  } catch (const Fault& fault) {
    if (why != nullptr) *why = fault.what();
    return nullptr;
  }
}

bool Driver::is_forked() const { return loader_pid != getpid(); }

void Driver::load_entries() {
#ifdef SPDLD_WITHOUT_CUDA
  throw Fault(Cause::kNoDriver, "this build looks for none (meson -Dcuda=disabled)");
#endif
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw Fault(Cause::kNoDriver, std::string("there is no driver to load (") + (reason ? reason : "no reason") + ")");
  }
  const EntryFinder finder(library);
  version_ = finder.version();
#define SPDLD_CUDA_FIND(symbol, version, parameters) \
  entries_.symbol = finder.find<decltype(entries_.symbol)>(#symbol, version);
  SPDLD_CUDA_ENTRIES(SPDLD_CUDA_FIND)
#undef SPDLD_CUDA_FIND
}

void Driver::initialize() const {
  const abi::Result code = entries_.cuInit(0);
  if (code == abi::kSuccess) return;
  const std::string reason = " (" + describe(code) + ")";
  switch (cause_of(code)) {
    case Cause::kForked:
      throw forked_fault();
    case Cause::kNoGpu:
      throw Fault(Cause::kNoGpu, "the driver shows no GPU to this process" + reason, code);
    case Cause::kFailed:
      throw Fault(Cause::kNoDriver, "the driver does not start" + reason, code);
    default:
      check(code, "the driver does not start");
  }
}

void Driver::list_devices() {
  int count = 0;
  check(entries_.cuDeviceGetCount(&count), "the GPUs can't be counted");
  if (count <= 0) throw Fault(Cause::kNoGpu, "the driver shows no GPU to this process");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const std::string which = "GPU " + std::to_string(ordinal) + " can't be looked at";
    Device device;
    device.ordinal = ordinal;
    check(entries_.cuDeviceGet(&device.handle, ordinal), which);
    char name[kNameBytes] = {};
    check(entries_.cuDeviceGetName(name, kNameBytes - 1, device.handle), which);
    device.name = name;
    check(entries_.cuDeviceGetUuid(&device.uuid, device.handle), which);
    size_t bytes = 0;
    check(entries_.cuDeviceTotalMem(&bytes, device.handle), which);
    device.bytes = bytes;
    // The driver names a slice "NVIDIA A100-SXM4-40GB MIG 1g.5gb".
    device.is_slice = device.name.find(" MIG ") != std::string::npos;
    const auto attribute = [&](int number) {
      int value = 0;
      check(entries_.cuDeviceGetAttribute(&value, number, device.handle), which);
      return value;
    };
    device.shares_fds = attribute(abi::kAttributeVirtualMemory) != 0 && attribute(abi::kAttributePosixFileHandles) != 0;
    device.compute_mode = attribute(abi::kAttributeComputeMode);
    const auto wish = [&](int number) {  // of no need where a driver does not know it
      int value = 0;
      const bool is_told = entries_.cuDeviceGetAttribute(&value, number, device.handle) == abi::kSuccess;
      return is_told ? value : -1;
    };
    device.allows_rdma = wish(abi::kAttributeRdma) > 0;
    device.pci = pci_text(wish(abi::kAttributePciDomain), wish(abi::kAttributePciBus), wish(abi::kAttributePciDevice));
    devices_.push_back(std::move(device));
  }
}

void Driver::check(abi::Result code, const std::string& what) const {
  if (code != abi::kSuccess) throw Fault(cause_of(code), what + " (" + describe(code) + ")", code);
}

std::string Driver::describe(abi::Result code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (entries_.cuGetErrorName == nullptr || entries_.cuGetErrorName(code, &name) != abi::kSuccess || name == nullptr)
    return "CUDA error " + std::to_string(code);
  if (entries_.cuGetErrorString(code, &text) != abi::kSuccess || text == nullptr) return name;
  return std::string(name) + ", " + text;
}

std::string to_text(const abi::Uuid& uuid, bool is_slice) {
  std::string text = is_slice ? "MIG-" : "GPU-";
  for (size_t index = 0; index < uuid.bytes.size(); ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    append_hex(text, static_cast<unsigned char>(uuid.bytes[index]));
  }
  return text;
}

}  // namespace spdld::cuda
