// What a process sees of the fake driver: devices, start, faults on demand, the management library.
#include <dlfcn.h>
#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fake_cuda/child.h"

namespace spdld::test {

namespace {

constexpr uint64_t kContextBytes = 64u << 20;

FakeCudaOptions with_devices(int devices) {
  FakeCudaOptions options;
  options.devices = devices;
  return options;
}

// First bytes of the UUIDs of the devices that are seen: each device has its own.
std::string seen_with(const Loaded& driver, const char* visible) {
  if (visible) ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
  if (const int code = driver.cuInit(0)) return std::to_string(code);
  int count = 0;
  GOOD(driver.cuDeviceGetCount(&count));
  std::string seen;
  for (int i = 0; i < count; ++i) {
    abi::Uuid uuid;
    GOOD(driver.cuDeviceGetUuid(&uuid, i));
    seen += std::to_string(uuid.bytes[0] - 0x10);
  }
  return seen;
}

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES chooses") {
  const FakeCuda cuda(with_devices(3));
  const std::array<std::pair<const char*, const char*>, 9> cases = {{{nullptr, "012"},
                                                                     {"", "100"},
                                                                     {"-1", "100"},
                                                                     {"2,0", "20"},
                                                                     {"1,7,0", "1"},
                                                                     {"1,1", "100"},
                                                                     {"GPU-11", "1"},
                                                                     {"GPU-1200face,0", "20"},
                                                                     {"GPU-", "100"}}};
  for (const auto& [visible, expected] : cases) {
    INFO((visible ? visible : "unset"));
    CHECK(runs_well(cuda, [&, wanted = expected, given = visible](const Loaded& driver) {
      const std::string seen = seen_with(driver, given);
      must(seen == wanted, "saw " + seen);
    }));
  }
}

TEST_CASE("a driver without a GPU") {
  const FakeCuda cuda(with_devices(0));
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    GIVES(abi::kNoDevice, driver.cuInit(0));
    int count = 0;
    GIVES(abi::kNotInitialized, driver.cuDeviceGetCount(&count));
  }));
}

TEST_CASE("a child of a process that had initialised") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    abi::DevicePtr address = 0;
    GOOD(driver.cuMemAlloc(&address, 4096));
    const pid_t pid = ::fork();
    if (pid == 0) {
      size_t free = 0, total = 0;
      const bool refused = driver.cuInit(0) == abi::kNotInitialized &&
                           driver.cuMemGetInfo(&free, &total) == abi::kNotInitialized &&
                           driver.cuMemFree(address) == abi::kNotInitialized;
      ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    MUST(::waitpid(pid, &status, 0) == pid && status == 0);
    GOOD(driver.cuMemFree(address));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("an exclusive device takes one process") {
  FakeCudaOptions options;
  options.exclusive_process = true;
  const FakeCuda cuda(options);
  Child first(cuda, [](const Loaded& driver, Channel& channel) {
    driver.start();
    channel.go();
    channel.await();
  });
  first.channel().await();
  const auto retain = [](int wanted) {
    return [wanted](const Loaded& driver) {
      GOOD(driver.cuInit(0));
      int mode = 0;
      GOOD(driver.cuDeviceGetAttribute(&mode, abi::kAttributeComputeMode, 0));
      MUST(mode == abi::kComputeModeExclusiveProcess);
      abi::Context context = nullptr;
      GIVES(wanted, driver.cuDevicePrimaryCtxRetain(&context, 0));
    };
  };
  CHECK(runs_well(cuda, retain(abi::kDeviceUnavailable)));
  first.kill();
  CHECK(runs_well(cuda, retain(abi::kSuccess)));
}

TEST_CASE("a device's memory ends") {
  FakeCudaOptions options;
  options.device_bytes = kContextBytes + (8u << 20);
  const FakeCuda cuda(options);
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    abi::DevicePtr first = 0, second = 0;
    GOOD(driver.cuMemAlloc(&first, 6u << 20));
    size_t free = 0, total = 0;
    GOOD(driver.cuMemGetInfo(&free, &total));
    MUST(free == 2u << 20 && total == kContextBytes + (8u << 20));
    GIVES(abi::kOutOfMemory, driver.cuMemAlloc(&second, 6u << 20));
    GOOD(driver.cuMemFree(first));
    GOOD(driver.cuMemAlloc(&second, 6u << 20));
  }));
}

TEST_CASE("faults strike the call, the process and as often as asked for") {
  FakeCuda cuda;
  cuda.inject("cuMemGetInfo", abi::kUnknown, 2);
  cuda.inject("cuStreamCreate", abi::kOutOfMemory, 1, true);
  cuda.inject("cuEventCreate", abi::kOutOfMemory, 1, true, ::getpid());  // which calls nothing
  CHECK_THROWS_AS(cuda.inject("cuFlyToTheMoon", 1), std::invalid_argument);
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    size_t free = 0, total = 0;
    GOOD(driver.cuMemGetInfo(&free, &total));
    GIVES(abi::kUnknown, driver.cuMemGetInfo(&free, &total));
    GOOD(driver.cuMemGetInfo(&free, &total));
    abi::Stream stream = nullptr;
    GIVES(abi::kOutOfMemory, driver.cuStreamCreate(&stream, 0));
    GIVES(abi::kOutOfMemory, driver.cuStreamCreate(&stream, 0));
    abi::Event event = nullptr;
    GOOD(driver.cuEventCreate(&event, 0));
  }));
  CHECK(cuda.struck() == 3);
  CHECK(cuda.calls("cuMemGetInfo") == 3);
  cuda.clear_faults();
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    abi::Stream stream = nullptr;
    GOOD(driver.cuStreamCreate(&stream, 0));
  }));
  CHECK(cuda.struck() == 3);
}

TEST_CASE("every entry can be made to fail") {
  FakeCuda cuda;
#define SPDLD_INJECT(symbol, version, parameters) cuda.inject(#symbol, abi::kUnknown, 1, true);
  SPDLD_CUDA_ENTRIES(SPDLD_INJECT)
#undef SPDLD_INJECT
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    GIVES(abi::kUnknown, driver.cuInit(0));
    int version = 0;
    GIVES(abi::kUnknown, driver.cuDriverGetVersion(&version));
  }));
}

TEST_CASE("after a sticky error nothing works until the device is reset") {
  FakeCuda cuda;
  cuda.inject("cuEventQuery", abi::kIllegalAddress);
  Child child(cuda, [](const Loaded& driver, Channel& channel) {
    const abi::Context before = driver.start();
    abi::DevicePtr address = 0;
    abi::Stream stream = nullptr;
    abi::Event event = nullptr;
    GOOD(driver.cuMemAlloc(&address, 4096));
    GOOD(driver.cuStreamCreate(&stream, abi::kStreamNonBlocking));
    GOOD(driver.cuEventCreate(&event, abi::kEventDisableTiming));
    GIVES(abi::kIllegalAddress, driver.cuEventQuery(event));
    GIVES(abi::kIllegalAddress, driver.cuEventQuery(event));
    GIVES(abi::kIllegalAddress, driver.cuEventRecord(event, stream));
    GIVES(abi::kIllegalAddress, driver.cuStreamSynchronize(stream));
    GIVES(abi::kIllegalAddress, driver.cuMemFree(address));
    abi::Context context = nullptr;
    GIVES(abi::kIllegalAddress, driver.cuDevicePrimaryCtxRetain(&context, 0));
    channel.go();
    channel.await();
    GOOD(driver.cuCtxPopCurrent(nullptr));
    GOOD(driver.cuDevicePrimaryCtxReset(0));
    GIVES(abi::kInvalidContext, driver.cuCtxPushCurrent(before));
    channel.go();
    channel.await();
    GOOD(driver.cuDevicePrimaryCtxRelease(0));
    GOOD(driver.cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(driver.cuCtxPushCurrent(context));
    GOOD(driver.cuMemAlloc(&address, 4096));
    GOOD(driver.cuDevicePrimaryCtxRelease(0));
  });
  child.channel().await();
  CHECK(cuda.live().allocations == 1);
  child.channel().go();
  child.channel().await();
  const auto live = cuda.live();
  CHECK(live.contexts + live.streams + live.events + live.allocations == 0);
  CHECK(cuda.used_bytes() == 0);
  child.channel().go();
  CHECK(child.ends_well());
  CHECK(cuda.violations().empty());
}

TEST_CASE("virtual memory outlives a reset, until it is given back") {
  FakeCuda cuda;
  cuda.inject("cuMemGetInfo", abi::kIllegalAddress);
  CHECK(runs_well(cuda, [&](const Loaded& driver) {
    constexpr uint64_t kBytes = 2u << 20;
    driver.start();
    abi::MemAllocationProp prop = {};
    prop.type = abi::kMemAllocationPinned;
    prop.location.type = abi::kMemLocationDevice;
    abi::MemHandle handle = 0;
    abi::DevicePtr address = 0;
    GOOD(driver.cuMemCreate(&handle, kBytes, &prop, 0));
    GOOD(driver.cuMemAddressReserve(&address, kBytes, 0, 0, 0));
    GOOD(driver.cuMemMap(address, kBytes, 0, handle, 0));
    size_t free = 0, total = 0;
    GIVES(abi::kIllegalAddress, driver.cuMemGetInfo(&free, &total));
    GIVES(abi::kIllegalAddress, driver.cuMemUnmap(address, kBytes));
    GIVES(abi::kIllegalAddress, driver.cuMemRelease(handle));
    GOOD(driver.cuDevicePrimaryCtxReset(0));
    GOOD(driver.cuDevicePrimaryCtxRelease(0));
    MUST(cuda.used_bytes() == kBytes);
    GOOD(driver.cuMemUnmap(address, kBytes));
    GOOD(driver.cuMemAddressFree(address, kBytes));
    GOOD(driver.cuMemRelease(handle));
    MUST(cuda.used_bytes() == 0);
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("after some errors a process gets no context any more") {
  for (const int code : {abi::kMpsClientTerminated, abi::kExternalDevice}) {
    FakeCuda cuda;
    cuda.inject("cuMemGetInfo", code);
    const auto use = [](int wanted) {
      return [wanted](const Loaded& driver) {
        driver.start();
        size_t free = 0, total = 0;
        GIVES(wanted, driver.cuMemGetInfo(&free, &total));
        GOOD(driver.cuDevicePrimaryCtxReset(0));
        GOOD(driver.cuDevicePrimaryCtxRelease(0));
        abi::Context context = nullptr;
        GIVES(wanted, driver.cuDevicePrimaryCtxRetain(&context, 0));
      };
    };
    CHECK(runs_well(cuda, use(code)));
    CHECK(runs_well(cuda, use(abi::kSuccess)));
    CHECK(cuda.violations().empty());
  }
}

TEST_CASE("a sticky error ends waiting, and no host function is called after it") {
  FakeCudaOptions options;
  options.copy_us = 5'000'000;
  FakeCuda cuda(options);
  cuda.inject("cuMemGetInfo", abi::kLaunchFailed);
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    abi::DevicePtr address = 0;
    abi::Stream stream = nullptr;
    abi::Event event = nullptr;
    static std::array<char, 4096> host;
    bool called = false;
    GOOD(driver.cuMemAlloc(&address, host.size()));
    GOOD(driver.cuStreamCreate(&stream, abi::kStreamNonBlocking));
    GOOD(driver.cuEventCreate(&event, abi::kEventDisableTiming));
    GOOD(driver.cuMemHostRegister(host.data(), host.size(), 0));
    GOOD(driver.cuMemcpyHtoDAsync(address, host.data(), host.size(), stream));
    GOOD(driver.cuLaunchHostFunc(
        stream, [](void* seen) { *static_cast<bool*>(seen) = true; }, &called));
    GOOD(driver.cuEventRecord(event, stream));
    size_t free = 0, total = 0;
    GIVES(abi::kLaunchFailed, driver.cuMemGetInfo(&free, &total));
    GIVES(abi::kLaunchFailed, driver.cuEventSynchronize(event));
    GOOD(driver.cuDevicePrimaryCtxReset(0));
    MUST(!called);
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("an old driver lacks entries") {
  FakeCudaOptions options;
  options.old_driver = true;
  const FakeCuda cuda(options);
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    MUST(!::dlsym(driver.library, "cuGetProcAddress") && !::dlsym(driver.library, "cuGetProcAddress_v2"));
    MUST(!::dlsym(driver.library, "cuDeviceGetUuid_v2"));
    using Version = abi::Result (*)(int*);
    const auto look = reinterpret_cast<Version>(::dlsym(driver.library, "cuDriverGetVersion"));
    int version = 0;
    GOOD(look(&version));
    MUST(version == 11000);
  }));
}

TEST_CASE("an entry is found only in the version that it has") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    using Look = abi::Result (*)(const char*, void**, int, uint64_t, int*);
    const auto look = reinterpret_cast<Look>(::dlsym(driver.library, "cuGetProcAddress_v2"));
    void* entry = nullptr;
    int status = -1;
    GIVES(abi::kNotFound, look("cuMemAlloc", &entry, 2000, 0, &status));
    MUST(!entry && status == 2);
    GIVES(abi::kNotFound, look("cuFlyToTheMoon", &entry, 12000, 0, &status));
    MUST(status == 1);
  }));
}

TEST_CASE("the management library tells what others use") {
  const FakeCuda cuda;
  Child other(cuda, [](const Loaded& driver, Channel& channel) {
    driver.start();
    abi::DevicePtr address = 0;
    GOOD(driver.cuMemAlloc(&address, 2u << 20));
    channel.go();
    channel.await();
  });
  other.channel().await();
  CHECK(runs_well(cuda, [&](const Loaded&) {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
    MUST(library != nullptr);
    const auto look = [&](const char* name) { return ::dlsym(library, name); };
    void* device = nullptr;
    const auto by_uuid = reinterpret_cast<int (*)(const char*, void**)>(look("nvmlDeviceGetHandleByUUID"));
    MUST(by_uuid("GPU-1000face-0000-0000-0000-000000000000", &device) == 1);
    MUST(reinterpret_cast<int (*)()>(look("nvmlInit_v2"))() == 0);
    MUST(by_uuid("GPU-1000face-0000-0000-0000-000000000009", &device) == 6);
    MUST(by_uuid("GPU-1000face-0000-0000-0000-000000000000", &device) == 0);
    std::array<char, 96> name;
    MUST(reinterpret_cast<int (*)(void*, char*, unsigned)>(look("nvmlDeviceGetName"))(device, name.data(), 96) == 0);
    MUST(std::strcmp(name.data(), "Fake GPU 0") == 0);
    std::array<unsigned long long, 3> memory;
    MUST(reinterpret_cast<int (*)(void*, void*)>(look("nvmlDeviceGetMemoryInfo"))(device, memory.data()) == 0);
    MUST(memory[0] == 1u << 30 && memory[2] == kContextBytes + (2u << 20) && memory[1] == memory[0] - memory[2]);
    struct {
      unsigned pid;
      unsigned long long bytes;
      unsigned instances[2];
    } processes[2];
    unsigned count = 0;
    const auto list =
        reinterpret_cast<int (*)(void*, unsigned*, void*)>(look("nvmlDeviceGetComputeRunningProcesses_v3"));
    MUST(list(device, &count, nullptr) == 7 && count == 1);
    count = 2;
    MUST(list(device, &count, processes) == 0 && count == 1);
    MUST(processes[0].pid == static_cast<unsigned>(other.pid()) && processes[0].bytes == memory[2]);
    MUST(reinterpret_cast<int (*)()>(look("nvmlShutdown"))() == 0);
  }));
}

// Not a case of its own: what the one below starts, once with and once without the ledger's folder.
TEST_CASE("started", "[.started]") {
  const Loaded driver;
  CHECK(driver.cuInit(0) == (std::getenv("SPDLD_FAKE_CUDA") ? abi::kSuccess : abi::kNoDevice));
}

TEST_CASE("a program that is started gets it from its environment") {
  const FakeCuda cuda;
  for (const bool with_folder : {true, false}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::unsetenv("SPDLD_FAKE_CUDA");
      for (const auto& [name, value] : cuda.environment())
        if (with_folder || name == "LD_LIBRARY_PATH") ::setenv(name.c_str(), value.c_str(), 1);
      ::execl("/proc/self/exe", "fake_cuda_test", "started", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  CHECK(cuda.calls("cuInit") == 1);
}

TEST_CASE("the folder goes with its owner") {
  std::filesystem::path folder;
  {
    const FakeCuda cuda;
    folder = cuda.folder();
    CHECK(std::filesystem::exists(folder / "ledger"));
  }
  CHECK_FALSE(std::filesystem::exists(folder));
}

}  // namespace spdld::test
