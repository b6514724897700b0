#include <cstring>

#include "daemon/media/operations.h"
#include "utf8/utf8.h"

namespace spdld::bytes {
namespace {

class TakeBytes final : public media::Node {
 public:
  TakeBytes(const std::string& output, bool is_text) : output_(output), is_text_(is_text) {}

 private:
  Status run(media::Value& value, const media::Call& call) const override {
    const media::TensorOut& out = call.tensors.front();
    if (is_text_) {
      const size_t sound = utf8::sound_bytes(value.text());
      if (sound != value.bytes.size())
        return media::of_output(output_,
                                {Trouble::kContent, "it is no UTF-8 from byte " + std::to_string(sound) + " on"});
    }
    Result<uint64_t> taken = out.take(value.bytes.size());
    if (taken && is_text_) taken = out.take(utf8::whole_characters(value.text(), *taken));
    if (!taken) return media::of_output(output_, taken.error());
    if (*taken > 0) std::memcpy(out.at(), value.bytes.data(), *taken);
    return Done{};
  }

  std::string output_;
  bool is_text_;
};

}  // namespace
}  // namespace spdld::bytes

namespace spdld::media::ops {

void bytes(const PlacedOperation& placed, Nodes& nodes) {
  nodes.push_back(std::make_unique<spdld::bytes::TakeBytes>(placed.output, placed.spec.flag("text")));
}

}  // namespace spdld::media::ops
