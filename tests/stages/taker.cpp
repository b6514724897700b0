// A trainer that takes batches of a spec until it is killed: taker SOCKET FILE. Of each batch, "image" and "plain" must
// be each other's negative.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "client/include/spdld.hpp"

int main(int count, char** words) {
  if (count != 3) return 2;
  std::ifstream file(words[2]);
  const std::string spec{std::istreambuf_iterator<char>(file), {}};
  try {
    spdld::AttachOptions options;
    options.socket = words[1];
    options.spec = spec.c_str();
    options.no_private_daemon = 1;
    spdld::Loader loader(options);
    for (;;) {
      const auto next = loader.next();
      if (next.result == SPDLD_END_OF_EPOCH) continue;
      if (next.result != SPDLD_OK) return 1;
      next.batch.wait();
      const spdld_tensor image = next.batch["image"], plain = next.batch["plain"];
      const auto *turned = static_cast<const unsigned char*>(image.address),
                 *as_is = static_cast<const unsigned char*>(plain.address);
      for (uint64_t i = 0; i < next.batch.info().valid * 8 * 8 * 3; i++)
        if (turned[i] != 255 - as_is[i]) return std::fprintf(stderr, "taker: value %d\n", static_cast<int>(i)), 1;
    }
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "taker: %s\n", error.what()), 1;
  }
}
