// Arbitrary bytes as a message of the control protocol: refused, or readable to the last field of every table.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/proto/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::vector<uint8_t> aligned(bytes, bytes + size);  // as received; of the exact size, so that ASan sees its end
  const spdld::proto::Message* message = spdld::proto::parse(aligned);
  if (!message) return 0;
  if (message->body_type() == spdld::proto::Body::NONE) std::abort();
  volatile uint64_t sink = spdld::test::sum_of(*message);
  (void)sink;
  return 0;
}
