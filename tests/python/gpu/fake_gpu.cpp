// The fake driver for tests in Python (fake_gpu.py): makes it, says by one line of JSON what environment has it, and
// answers each line on stdin by a line of JSON until stdin ends.
//
//   fake_gpu DEVICES COPY_US
//   "calls SYMBOL", "live PID", "violations", "inject SYMBOL CODE NTH PID", "clear"
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/support/fake_cuda/fake_cuda.h"

namespace {

using nlohmann::json;

json answer(spdld::test::FakeCuda& cuda, const std::string& line) {
  std::istringstream words(line);
  std::string what, symbol;
  words >> what;
  if (what == "calls") {
    words >> symbol;
    return cuda.calls(symbol);
  }
  if (what == "live") {
    pid_t pid = 0;
    words >> pid;
    const auto live = cuda.live(pid);
    return {{"contexts", live.contexts},        {"streams", live.streams}, {"events", live.events},
            {"allocations", live.allocations},  {"imports", live.imports}, {"registrations", live.registrations},
            {"device_bytes", live.device_bytes}};
  }
  if (what == "violations") return cuda.violations();
  if (what == "clear") {
    cuda.clear_faults();
    return nullptr;
  }
  int code = 0;
  uint64_t nth = 0;
  pid_t pid = 0;
  if (what != "inject" || !(words >> symbol >> code >> nth >> pid)) throw std::runtime_error("not a command: " + line);
  cuda.inject(symbol, code, nth, false, pid);
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 3) throw std::runtime_error("fake_gpu DEVICES COPY_US");
    spdld::test::FakeCudaOptions options;
    options.devices = std::stoi(arguments[1]);
    options.copy_us = static_cast<uint32_t>(std::stoul(arguments[2]));
    spdld::test::FakeCuda cuda(options);
    std::cout << json(cuda.environment()) << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(cuda, line) << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "fake_gpu: " << error.what() << "\n";
    return 1;
  }
}
