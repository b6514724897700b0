#include "proto/cuda/fault.h"

#include <catch2/catch.hpp>
#include <set>

#include "proto/cuda/driver.h"
#include "proto/cuda/objects.h"
#include "tests/cuda/child.h"

namespace spdld::cuda::fault_test {
namespace {

using test::FakeCuda;
using test::fault_of;
using test::in_child;

TEST_CASE("a fault's sentence begins with its cause's name, and says what to do where the cause tells") {
  const Fault mine(Cause::kExclusiveProcess, "GPU 0 takes one process alone", abi::kDeviceUnavailable);
  CHECK(std::string(mine.what()) ==
        "exclusive-process: GPU 0 takes one process alone; let several processes use the GPU "
        "(nvidia-smi -c 0, as root), or run NVIDIA's MPS");
  CHECK(mine.cause() == Cause::kExclusiveProcess);
  CHECK(mine.code() == abi::kDeviceUnavailable);
  CHECK(std::string(Fault(Cause::kFailed, "so it is").what()) == "failed: so it is");
}

TEST_CASE("the names of causes are the published ones") {
  const std::pair<Cause, std::string_view> names[] = {
      {Cause::kNoDriver, "no-driver"},
      {Cause::kDriverTooOld, "driver-too-old"},
      {Cause::kNoGpu, "no-gpu"},
      {Cause::kGpuNotVisible, "gpu-not-visible"},
      {Cause::kExclusiveProcess, "exclusive-process"},
      {Cause::kOutOfMemory, "out-of-memory"},
      {Cause::kOtherNamespace, "other-namespace"},
      {Cause::kOtherUser, "other-user"},
      {Cause::kMig, "mig"},
      {Cause::kSameProcess, "same-process"},
      {Cause::kForked, "forked"},
      {Cause::kContextLost, "context-lost"},
      {Cause::kUnsupported, "unsupported"},
      {Cause::kFailed, "failed"},
  };
  for (const auto& [cause, name] : names) {
    CHECK(name_of(cause) == name);
    // Of these two the sentence has to say it.
    CHECK(advice_of(cause).empty() == (cause == Cause::kUnsupported || cause == Cause::kFailed));
  }
}

TEST_CASE("the results after which a context is lost are the sticky ones") {
  const std::set<int> sticky = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 806, 810, 911};
  for (int code = 0; code < 1000; ++code) {
    const auto result = static_cast<abi::Result>(code);
    INFO(code);
    CHECK(is_sticky(result) == (sticky.count(code) == 1));
    if (is_sticky(result)) CHECK(cause_of(result) == Cause::kContextLost);
  }
}

TEST_CASE("every result of the driver has its cause, and the driver's own words") {
  const std::pair<abi::Result, Cause> expected[] = {
      {abi::kOutOfMemory, Cause::kOutOfMemory},
      {abi::kNotInitialized, Cause::kForked},
      {abi::kDeviceUnavailable, Cause::kExclusiveProcess},
      {abi::kNoDevice, Cause::kNoGpu},
      {abi::kInvalidDevice, Cause::kGpuNotVisible},
      {abi::kNotSupported, Cause::kUnsupported},
      {abi::kSystemDriverMismatch, Cause::kNoDriver},
      {abi::kInvalidValue, Cause::kFailed},
      {abi::kUnknown, Cause::kFailed},
  };
  FakeCuda fake;
  const std::string outcome = in_child(fake, [&] {
    const ContextRef context = Context::retain(Driver::get().devices().at(0));
    for (const auto& [code, cause] : expected) {
      fake.inject("cuMemAlloc", code);
      const Fault fault = fault_of([&] { HandleMemory(context, 1); });
      const std::string text = fault.what();
      const std::string beginning = std::string(name_of(cause)) + ": GPU 0 gives no 2 MiB of memory (CUDA_ERROR_";
      if (fault.cause() != cause || fault.code() != code || text.rfind(beginning, 0) != 0)
        throw std::runtime_error(text);
      EXPECT(text.find(Driver::get().describe(code)) != std::string::npos);
    }
    EXPECT(fake.struck() == std::size(expected));
    EXPECT(Driver::get().describe(static_cast<abi::Result>(54321)) == "CUDA error 54321");
    EXPECT(Driver::get().describe(abi::kOutOfMemory).rfind("CUDA_ERROR_OUT_OF_MEMORY, ", 0) == 0);
  });
  CHECK(outcome == "");
  CHECK(fake.violations() == std::vector<std::string>{});
}

}  // namespace
}  // namespace spdld::cuda::fault_test
