#include <cstring>

#include "daemon/media/operations.h"

namespace spdld::bytes {
namespace {

class PadBytes final : public media::Node {
 public:
  PadBytes(const std::string& output, size_t length) : output_(output), length_(length) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const auto held = value.bytes;
    if (held.size() > length_)
      return media::of_output(
          output_, {Trouble::kContent,
                    std::to_string(held.size()) + " bytes do not fit pad-bytes' length of " + std::to_string(length_)});
    uint8_t* const at = call.tensors.front().memory;
    if (!held.empty()) std::memcpy(at, held.data(), held.size());
    std::memset(at + held.size(), 0, length_ - held.size());
    return Done{};
  }

  std::string output_;
  size_t length_;
};

}  // namespace
}  // namespace spdld::bytes

namespace spdld::media::ops {

void pad_bytes(const PlacedOperation& placed, Nodes& nodes) {
  const auto length = static_cast<size_t>(placed.spec.integer("length"));
  nodes.push_back(std::make_unique<bytes::PadBytes>(placed.output, length));
}

}  // namespace spdld::media::ops
