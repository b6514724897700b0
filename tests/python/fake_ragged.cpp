// A daemon that sends ragged and padded batches, for the tests of the Python package: one epoch of five steps, then the
// next. It listens at the path that it is given, says so by a line, and ends with its stdin. With the name of a type
// after the path, the tensor "image" is of that type instead, and counts.
//
//   fake_ragged PATH [TYPE]
#include <iostream>
#include <string>

#include "tests/support/ragged_batches.h"

namespace {

using namespace spdld;
using namespace spdld::test;

FakeScript typed_script(const std::string& name) {
  FakeScript script;
  for (int number = 0; number <= static_cast<int>(proto::DType::MAX); ++number) {
    const auto dtype = static_cast<proto::DType>(number);
    if (proto::name_of(dtype) != name) continue;
    script.tamper = [dtype](FakeReady& ready) { ready.tensors[1] = {"image", dtype, {4, 2}, {}, 1024}; };
    script.write = [](unsigned char* slot, uint64_t) {
      for (int i = 0; i < 128; ++i) slot[1024 + i] = static_cast<unsigned char>(i % 2);
    };
  }
  return script;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) return 2;
  const FakeDaemon daemon(arguments[1], count == 3 ? typed_script(arguments[2]) : ragged_script());
  std::cout << "listening" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}
