#include <algorithm>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/operations.h"
#include "daemon/media/text/list_value.h"

namespace spdld::text {
namespace {

constexpr uint64_t kMultiHotNumbersMax = 65'536;  // of one sample's list; a longer list is bad content

// The list that is read now.
struct ClassListWork {
  explicit ClassListWork(const media::DecodeLimits&) {}
  void shrink(size_t bytes_max) { memory.shrink(bytes_max); }

  ByteBuffer memory;
};

template <typename T>
class MultiHot final : public media::Node {
 public:
  explicit MultiHot(const media::Part& part)
      : output_(part.output),
        classes_(part.spec.integer("classes")),
        reads_json_(part.takes.origin == config::Origin::kJson) {}

 private:
  bool reads_json() const override { return reads_json_; }

  Status run(media::Value& value, const media::Run& run) const override {
    const Status status = store(value, run);
    return status ? status : media::of_output(output_, status.error());
  }

  Status store(const media::Value& value, const media::Run& run) const {
    ByteBuffer& memory = run.workspace.of<ClassListWork>().memory;
    NumberList list{config::DType::kInt64, memory.resize(kMultiHotNumbersMax * sizeof(int64_t)), kMultiHotNumbersMax};
    if (Status read = read_list_value(value, reads_json_, list); !read) return read;
    if (list.count > kMultiHotNumbersMax)
      return Error{Trouble::kContent, "the list has " + std::to_string(list.count) + " elements; at most " +
                                          std::to_string(kMultiHotNumbersMax) + " are allowed"};
    // Tensors begin at multiples of 128 bytes, and a sample's part has whole elements.
    T* const out = reinterpret_cast<T*>(run.tensors.front().memory);
    std::fill_n(out, classes_, T{0});
    const auto* const numbers = reinterpret_cast<const int64_t*>(memory.data());
    for (uint64_t i = 0; i < list.count; ++i) {
      if (numbers[i] < 0 || numbers[i] >= classes_)
        return Error{Trouble::kContent, "element [" + std::to_string(i) + "]: " + std::to_string(numbers[i]) +
                                            " is no class from 0 to " + std::to_string(classes_ - 1)};
      out[numbers[i]] = T{1};
    }
    return Done{};
  }

  std::string output_;
  int64_t classes_;
  bool reads_json_;
};

}  // namespace
}  // namespace spdld::text

namespace spdld::media::ops {

void multi_hot(const Part& part, Nodes& nodes) {
  switch (part.gives.dtype) {
    case config::DType::kFloat32:
      return nodes.push_back(std::make_unique<text::MultiHot<float>>(part));
    case config::DType::kFloat64:
      return nodes.push_back(std::make_unique<text::MultiHot<double>>(part));
    default:
      return nodes.push_back(std::make_unique<text::MultiHot<uint8_t>>(part));
  }
}

}  // namespace spdld::media::ops
