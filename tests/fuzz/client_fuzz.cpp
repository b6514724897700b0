// Arbitrary descriptors as READY: whatever the client accepts lies within the slot, to the last element. The bytes are
// the descriptor's numbers, since arbitrary bytes would hardly ever be a message.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "client/src/ring/batch.h"

namespace {

using namespace spdld;

constexpr uint64_t kBatchSize = 4;

class Numbers {
 public:
  Numbers(const uint8_t* bytes, size_t size) : bytes_(bytes), left_(size) {}
  // Small ones, large ones, and those around the slot's size; zeros at the end.
  uint64_t next() {
    if (left_ == 0) return 0;
    const uint8_t kind = take(1)[0];
    uint64_t number = 0;
    const size_t count = kind % 9;
    std::memcpy(&number, take(count).data(), count);
    return kind & 0x80 ? ~number : kind & 0x40 ? number << 32 : number;
  }
  std::vector<uint64_t> some(size_t count_max) {
    std::vector<uint64_t> numbers(next() % (count_max + 1));
    for (uint64_t& number : numbers) number = next();
    return numbers;
  }

 private:
  std::vector<uint8_t> take(size_t count) {
    std::vector<uint8_t> taken(count);
    const size_t there = count < left_ ? count : left_;
    if (there > 0) std::memcpy(taken.data(), bytes_, there);
    bytes_ += there, left_ -= there;
    taken.resize(count + 1);
    return taken;
  }
  const uint8_t* bytes_;
  size_t left_;
};

void touch(const client::Tensor& tensor) {
  uint64_t last = 0;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] < 0 || tensor.strides[i] < 0) std::abort();
    if (tensor.shape[i] == 0) return;
    last += static_cast<uint64_t>(tensor.shape[i] - 1) * static_cast<uint64_t>(tensor.strides[i]);
  }
  const size_t element_bytes = proto::bytes_of(static_cast<proto::DType>(tensor.dtype));
  const auto* start = static_cast<const std::byte*>(tensor.address);
  volatile std::byte sink = start[0];
  sink = start[last * element_bytes + element_bytes - 1];  // ASan watches the slot's end
  (void)sink;
}

void check_rows(const client::Content& content, const client::Tensor& offsets) {
  if (offsets.role != SPDLD_OFFSETS) return;
  if (offsets.shape[0] != static_cast<int64_t>(content.valid) + 1) std::abort();
  for (const client::Tensor& values : content.tensors) {
    if (values.name != offsets.of || values.role != SPDLD_VALUES) continue;
    const auto* numbers = static_cast<const int64_t*>(offsets.address);
    for (int64_t i = 0; i < offsets.shape[0]; ++i) {
      const int64_t offset = numbers[i * offsets.strides[0]];
      if (offset < 0 || offset > values.shape[0]) std::abort();
    }
    return;
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static std::vector<std::byte> slot(4096);
  Numbers numbers(bytes, size);
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<proto::TensorDescriptor>> tensors(numbers.next() % 4);
  for (auto& tensor : tensors) {
    const auto dtype = static_cast<proto::DType>(numbers.next() % 16);
    const std::vector<uint64_t> shape = numbers.some(9), strides = numbers.some(9);
    const uint64_t offset = numbers.next() * (numbers.next() % 2 == 0 ? client::kAlignment : 1);
    const auto role = static_cast<proto::Role>(numbers.next() % 6);
    const char* const names[] = {"a", "b", "c"};
    const char* const name = names[numbers.next() % 3];
    const char* const of = numbers.next() % 2 ? names[numbers.next() % 3] : nullptr;
    tensor = proto::CreateTensorDescriptorDirect(builder, name, dtype, &shape, &strides, offset, role, of);
  }
  const uint64_t valid = numbers.next();
  const auto vector = builder.CreateVector(tensors);
  const auto position = proto::CreatePosition(builder, 1, 2);
  client::Terms terms;
  terms.batch_size = kBatchSize;
  std::vector<uint32_t> counted;
  for (const uint64_t count : numbers.some(3)) counted.push_back(static_cast<uint32_t>(count));
  terms.sources = std::make_shared<const client::Names>(std::vector<std::string>(numbers.next() % 4, "a"));
  const auto counts = builder.CreateVector(counted);
  const auto substituted = static_cast<uint32_t>(numbers.next()), masked = static_cast<uint32_t>(numbers.next());
  const auto unsupported = static_cast<uint32_t>(numbers.next());
  std::vector<flatbuffers::Offset<proto::BadReason>> reasons(numbers.next() % 20);
  for (auto& reason : reasons) {
    const auto kind = static_cast<proto::BadKind>(numbers.next() % 3);
    const auto count = static_cast<uint32_t>(numbers.next());
    const auto text = builder.CreateString(std::string(numbers.next() % 1000, 'r'));
    reason = proto::CreateBadReason(builder, kind, numbers.next() % 2 ? text : 0, count, numbers.next(), text);
  }
  const auto bad = builder.CreateVector(reasons);
  const auto body = proto::CreateReady(builder, 1, 0, 0, 1, position, valid, vector, nullptr, substituted, masked, 0,
                                       counts, unsupported, bad);
  const proto::Message* message = proto::parse(proto::finish(builder, proto::Body::Ready, body));
  if (!message) return 0;
  client::Content content;
  if (client::read_content(*message->body_as_Ready(), terms, slot.data(), slot.size(), content)) return 0;
  if (content.source_counts.size() != terms.sources->texts.size()) std::abort();
  for (const client::Tensor& tensor : content.tensors) touch(tensor);
  // The slot's bytes are as a daemon left them: whatever the client accepts leads to values that are there.
  for (size_t i = 0; i < slot.size(); i += 8) {
    const uint64_t number = numbers.next() % 64;
    std::memcpy(slot.data() + i, &number, sizeof number);
  }
  if (!client::check_offsets(content)) {
    for (const client::Tensor& tensor : content.tensors) check_rows(content, tensor);
  }
  uint64_t counted_bad = 0;
  for (const client::BadReason& reason : content.bad) {
    if (reason.count == 0 || reason.reason.size() > 512 || reason.name.size() > 512) std::abort();
    counted_bad += reason.count;
  }
  if (counted_bad > uint64_t{substituted} + masked) std::abort();
  return 0;
}
