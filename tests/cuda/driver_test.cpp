#include "proto/cuda/driver.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "proto/cuda/nvml.h"
#include "proto/cuda/objects.h"
#include "tests/cuda/child.h"
#include "tests/support/temp_dir.h"

namespace spdld::cuda::driver_test {
namespace {

using test::FakeCuda;
using test::FakeCudaOptions;
using test::fault_of;
using test::in_child;

// Runs one hidden case of this program in another environment; its exit code. The loader looks at LD_LIBRARY_PATH when
// a program starts, and only then.
int run_case(const std::string& name, const std::map<std::string, std::string>& environment) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (const auto& [variable, value] : environment) setenv(variable.c_str(), value.c_str(), 1);
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    dup2(nowhere.get(), STDOUT_FILENO);
    execl("/proc/self/exe", "cuda_test", name.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("where the driver can't be loaded", "[.]") {
  const Fault fault = fault_of([] { Driver::get(); });
  CHECK(fault.cause() == Cause::kNoDriver);
  CHECK_THAT(fault.what(), Catch::StartsWith("no-driver: there is no driver to load (") &&
                               Catch::Contains("libcuda.so.1: ") && Catch::Contains("install NVIDIA's driver"));
  std::string why;
  CHECK(Driver::find(&why) == nullptr);
  CHECK(why == fault.what());
}

TEST_CASE("where there is no driver, unless there is one", "[.]") {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  CHECK(fault_of([] { Driver::get(); }).cause() == Cause::kNoDriver);
  CHECK(Nvml::find() == nullptr);
}

TEST_CASE("no driver, and one that can't be loaded, are named") {
  CHECK(run_case("where there is no driver\\, unless there is one", {{"LD_LIBRARY_PATH", ""}}) == 0);
  const test::TempDir folder;
  std::ofstream(folder.path() / "libcuda.so.1")
      << "not a library, and long enough to be looked at by the loader all the same";
  CHECK(run_case("where the driver can't be loaded", {{"LD_LIBRARY_PATH", folder.path().string()}}) == 0);
}

TEST_CASE("the GPUs are listed as this process sees them") {
  FakeCudaOptions options;
  options.devices = 2;
  options.device_bytes = 256u << 20;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          const Driver& driver = Driver::get();
          EXPECT(&driver == Driver::find());
          EXPECT(driver.version() >= 11040);
          EXPECT(driver.devices().size() == 2);
          for (int ordinal = 0; ordinal < 2; ++ordinal) {
            const Device& device = driver.devices()[static_cast<size_t>(ordinal)];
            EXPECT(device.ordinal == ordinal);
            EXPECT(device.name != "");
            EXPECT(device.bytes == 256u << 20);
            EXPECT(!device.is_slice);
            EXPECT(device.shares_fds);
            EXPECT(device.compute_mode == 0);
          }
          const std::string first = to_text(driver.devices()[0].uuid), second = to_text(driver.devices()[1].uuid);
          EXPECT(first != second);
          EXPECT(first.size() == std::string("GPU-00000000-0000-0000-0000-000000000000").size());
        }) == "");
}

TEST_CASE("a GPU keeps its UUID whatever its ordinal is") {
  FakeCudaOptions options;
  options.devices = 2;
  FakeCuda fake(options);
  const test::Links links;
  test::Child all(fake, [&] { links.one.send_value(Driver::get().devices().at(1).uuid); });
  CHECK(all.outcome() == "");
  CHECK(in_child(fake, [&] {
          setenv("CUDA_VISIBLE_DEVICES", "1", 1);
          EXPECT(Driver::get().devices().size() == 1);
          const auto second = links.other.receive_value<abi::Uuid>();
          EXPECT(to_text(Driver::get().devices().at(0).uuid) == to_text(second));
        }) == "");
}

TEST_CASE("a UUID is written as nvidia-smi writes it") {
  abi::Uuid uuid;
  for (size_t index = 0; index < uuid.bytes.size(); ++index) uuid.bytes[index] = static_cast<char>(0xf0 - 7 * index);
  CHECK(to_text(uuid) == "GPU-f0e9e2db-d4cd-c6bf-b8b1-aaa39c958e87");
}

TEST_CASE("slices, and GPUs without file descriptors, are told") {
  FakeCudaOptions options;
  options.mig = true;
  FakeCuda slices(options);
  CHECK(in_child(slices, [] {
          const Device& device = Driver::get().devices().at(0);
          EXPECT(device.is_slice && !device.shares_fds);
          EXPECT(uuid_text(device).rfind("MIG-", 0) == 0);
          EXPECT(Nvml::find()->name_of(uuid_text(device)) == device.name);
        }) == "");
  options.mig = false;
  options.shares_fds = false;
  FakeCuda plain(options);
  CHECK(in_child(plain, [] {
          EXPECT(!Driver::get().devices().at(0).is_slice);
          EXPECT(!Driver::get().devices().at(0).shares_fds);
        }) == "");
}

TEST_CASE("a driver that shows no GPU is named, every time it is asked for") {
  FakeCudaOptions options;
  options.devices = 0;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          const Fault first = fault_of([] { Driver::get(); }), second = fault_of([] { Driver::get(); });
          EXPECT(first.cause() == Cause::kNoGpu);
          EXPECT(std::string(first.what()).rfind("no-gpu: the driver shows no GPU to this process", 0) == 0);
          EXPECT(std::string(first.what()).find("CUDA_VISIBLE_DEVICES") != std::string::npos);
          EXPECT(std::string(first.what()) == second.what());
        }) == "");
  FakeCuda one;
  CHECK(in_child(one, [] {
          setenv("CUDA_VISIBLE_DEVICES", "", 1);
          EXPECT(fault_of([] { Driver::get(); }).cause() == Cause::kNoGpu);
        }) == "");
}

TEST_CASE("where the driver is too old", "[.]") {
  const Fault fault = fault_of([] { Driver::get(); });
  CHECK(fault.cause() == Cause::kDriverTooOld);
  CHECK_THAT(fault.what(), Catch::StartsWith("driver-too-old: the driver here (CUDA ") &&
                               Catch::Contains(" lacks cu") &&
                               Catch::Contains("install NVIDIA's driver 470 (CUDA 11.4) or a later one"));
}

TEST_CASE("a driver that is too old says what it lacks") {
  FakeCudaOptions options;
  options.old_driver = true;
  const FakeCuda fake(options);
  CHECK(run_case("where the driver is too old", fake.environment()) == 0);
}

TEST_CASE("what cuInit says is named, and remembered for a while") {
  const std::pair<abi::Result, Cause> expected[] = {
      {abi::kNotInitialized, Cause::kForked},         {abi::kNoDevice, Cause::kNoGpu},
      {abi::kSystemDriverMismatch, Cause::kNoDriver}, {abi::kUnknown, Cause::kNoDriver},
      {abi::kOutOfMemory, Cause::kOutOfMemory},       {abi::kDriverTooOldForGpu, Cause::kDriverTooOld},
  };
  for (const auto& [code, cause] : expected) {
    FakeCuda fake;
    fake.inject("cuInit", code);
    INFO(code);
    CHECK(in_child(fake, [&fake, wanted = cause] {
            EXPECT(fault_of([] { Driver::get(); }).cause() == wanted);
            EXPECT(fault_of([] { Driver::get(); }).cause() == wanted);
            EXPECT(fake.calls("cuInit") == 1);
          }) == "");
  }
}

// Asks until it is tried again, a bounded time.
const Driver* find_in_time() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const Driver* found = nullptr;
  while (!(found = Driver::find()) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return found;
}

TEST_CASE("a driver that does not start at first is tried again, at a bounded rate") {
  for (const abi::Result code : {abi::kUnknown, abi::kNoDevice}) {
    FakeCuda fake;
    fake.inject("cuInit", code, 1, true);
    CHECK(in_child(fake, [&fake] {
            const auto begin = std::chrono::steady_clock::now();
            while (fake.calls("cuInit") < 3) EXPECT(Driver::find() == nullptr);
            const auto took = std::chrono::steady_clock::now() - begin;
            EXPECT(took >= 2 * std::chrono::milliseconds(Driver::kRetry_ms));
            fake.clear_faults();
            const Driver* const found = find_in_time();
            EXPECT(found != nullptr && found->devices().size() == 1);
            EXPECT(fake.calls("cuInit") == 4);
            EXPECT(&Driver::get() == found);
            EXPECT(in_child(fake, [] { EXPECT(fault_of([] { Driver::get(); }).cause() == Cause::kForked); }) == "");
          }) == "");
  }
}

TEST_CASE("the forked child of a process whose driver did not start hears the same, and tries nothing") {
  FakeCuda fake;
  fake.inject("cuInit", abi::kUnknown);
  CHECK(in_child(fake, [&fake] {
          EXPECT(Driver::find() == nullptr);
          EXPECT(in_child(fake, [&fake] {
                   std::this_thread::sleep_for(std::chrono::milliseconds(Driver::kRetry_ms));
                   EXPECT(fault_of([] { Driver::get(); }).cause() == Cause::kNoDriver);
                   EXPECT(fake.calls("cuInit") == 1);
                 }) == "");
        }) == "");
}

TEST_CASE("threads that ask at once get one driver") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          std::array<const Driver*, 8> seen = {};
          std::array<std::thread, 8> threads;
          for (size_t index = 0; index < threads.size(); ++index)
            threads[index] = std::thread([&seen, index] { seen[index] = Driver::find(); });
          for (std::thread& thread : threads) thread.join();
          EXPECT(seen[0] != nullptr);
          for (const Driver* driver : seen) EXPECT(driver == seen[0]);
          EXPECT(fake.calls("cuInit") == 1);
        }) == "");
}

TEST_CASE("a child of the process that loaded the driver is refused, and touches nothing") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          const ContextRef context = Context::retain(Driver::get().devices().at(0));
          auto event = std::make_unique<Event>(context, Event::Reach::kProcess);
          const std::string outcome = in_child(fake, [&] {
            const Fault fault = fault_of([] { Driver::get(); });
            EXPECT(fault.cause() == Cause::kForked);
            EXPECT(std::string(fault.what()).find("spawn start method") != std::string::npos);
            EXPECT(Driver::find() == nullptr);
            EXPECT(event->query() == abi::kContextDestroyed);
            event.reset();
            EXPECT(fault_of([&] { Stream stream(context); }).cause() == Cause::kContextLost);
          });
          if (outcome != "") throw std::runtime_error(outcome);
          EXPECT(fake.calls("cuEventDestroy") == 0);
          EXPECT(fake.calls("cuStreamCreate") == 0);
          EXPECT(event->query() == abi::kSuccess);
        }) == "");
  CHECK(fake.violations() == std::vector<std::string>{});
}

TEST_CASE("NVML tells names and memory by UUID") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          const Nvml* const nvml = Nvml::find();
          EXPECT(nvml != nullptr);
          const Device& device = Driver::get().devices().at(0);
          const std::string uuid = to_text(device.uuid);
          EXPECT(nvml->name_of(uuid) == device.name);
          EXPECT(!nvml->used_by(uuid, getpid()));
          const auto before = nvml->memory_of(uuid);
          EXPECT(before && before->total_bytes == device.bytes);

          const ContextRef context = Context::retain(device);
          const HandleMemory memory(context, 8u << 20);
          const auto after = nvml->memory_of(uuid);
          const auto used = nvml->used_by(uuid, getpid());
          EXPECT(after && after->used_bytes >= before->used_bytes + (8u << 20));
          EXPECT(used && *used >= 8u << 20);

          const std::string unknown = "GPU-00000000-0000-0000-0000-00000000ffff";
          EXPECT(!nvml->name_of(unknown));
          EXPECT(!nvml->memory_of(unknown));
          EXPECT(!nvml->used_by(unknown, getpid()));
        }) == "");
}

}  // namespace
}  // namespace spdld::cuda::driver_test
