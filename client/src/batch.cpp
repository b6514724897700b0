#include "client/src/batch.h"

#include <algorithm>
#include <limits>

#include "proto/text.h"

namespace spdld::client {

namespace {

// The elements from a tensor's first to its last, inclusive; false: more than an int64 can count.
bool extent_of(const Tensor& tensor, int64_t batch_dimension, int64_t& elements) {
  elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const int64_t size = i == 0 ? batch_dimension : tensor.shape[i];
    if (size == 0) {
      elements = 0;
      return true;
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(size - 1, tensor.strides[i], &reach)) return false;
    if (__builtin_add_overflow(elements, reach, &elements)) return false;
  }
  return true;
}

bool fits_int64(uint64_t value) { return value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()); }

const char* read_shape(const proto::TensorDescriptor& descriptor, Tensor& tensor) {
  const auto* shape = descriptor.shape();
  const auto* strides = descriptor.strides();
  if (!shape || shape->size() < 1 || shape->size() > kRankMax) return "a tensor has no dimensions, or more than eight";
  const bool dense = !strides || strides->size() == 0;
  if (!dense && strides->size() != shape->size()) return "a tensor has more or fewer strides than dimensions";
  tensor.rank = shape->size();
  int64_t next_stride = 1;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    if (!fits_int64(shape->Get(i)) || (!dense && !fits_int64(strides->Get(i))))
      return "a tensor's dimension is too large";
    tensor.shape[i] = static_cast<int64_t>(shape->Get(i));
    tensor.strides[i] = dense ? next_stride : static_cast<int64_t>(strides->Get(i));
    const int64_t size = std::max<int64_t>(1, tensor.shape[i]);
    if (__builtin_mul_overflow(next_stride, size, &next_stride)) return "a tensor's size overflows";
  }
  return nullptr;
}

const char* read_tensor(const proto::TensorDescriptor& descriptor, uint64_t valid, std::byte* slot, uint64_t slot_bytes,
                        Tensor& tensor) {
  const std::string_view name = proto::text_of(descriptor.name());
  if (name.empty() || name.size() > kTensorNameBytesMax) return "a tensor has no name, or a very long one";
  if (!proto::is_utf8(name) || proto::has_control(name)) return "a tensor's name can't be written";
  tensor.name = name;
  const size_t element_bytes = proto::bytes_of(descriptor.dtype());
  if (element_bytes == 0) return "a tensor's type is unknown";
  tensor.dtype = static_cast<spdld_dtype>(descriptor.dtype());
  const char* fault = read_shape(descriptor, tensor);
  if (fault) return fault;

  const int64_t batch_dimension = tensor.shape[0];
  if (static_cast<uint64_t>(batch_dimension) < valid) return "a tensor has fewer samples than the batch";
  int64_t elements = 0;
  uint64_t bytes = 0, end = 0;
  const bool counted = extent_of(tensor, batch_dimension, elements) &&
                       !__builtin_mul_overflow(static_cast<uint64_t>(elements), element_bytes, &bytes) &&
                       !__builtin_add_overflow(descriptor.offset(), bytes, &end);
  if (!counted || end > slot_bytes) return "a tensor reaches beyond its slot";
  if (descriptor.offset() % kAlignment != 0) return "a tensor is not aligned to 128 bytes";
  tensor.shape[0] = static_cast<int64_t>(valid);
  tensor.address = slot + descriptor.offset();
  return nullptr;
}

const char* read_source_counts(const proto::Ready& ready, size_t sources, Content& content) {
  const auto* counts = ready.source_counts();
  if ((counts ? counts->size() : 0) != sources) return "a batch counts other sources than its ring has";
  uint64_t sum = 0;
  content.source_counts.clear();
  for (flatbuffers::uoffset_t i = 0; i < sources; ++i) {
    content.source_counts.push_back(counts->Get(i));
    sum += counts->Get(i);
  }
  return sources > 0 && sum != ready.valid() ? "a batch's sources have more or fewer samples than the batch" : nullptr;
}

}  // namespace

const char* read_content(const proto::Ready& ready, const Terms& terms, std::byte* slot, uint64_t slot_bytes,
                         Content& content) {
  if (ready.valid() > terms.batch_size) return "a batch has more samples than its ring's batches";
  if (ready.padded() > ready.valid()) return "a batch has more padded samples than samples";
  content.place = {ready.position()->epoch(), ready.position()->step()};
  content.valid = ready.valid();
  content.first = ready.range() ? ready.range()->first() : 0;
  content.substituted = ready.substituted();
  content.masked = ready.masked();
  content.unsupported = ready.unsupported();
  content.padded = ready.padded();
  if (const char* fault = read_bad(ready, content.bad)) return fault;
  if (const char* fault = read_source_counts(ready, terms.sources->texts.size(), content)) return fault;
  const auto* descriptors = ready.tensors();
  if (!descriptors || descriptors->size() > kTensorsMax) return "a batch has no tensors, or more than 64";
  content.tensors.resize(descriptors->size());
  for (uint32_t i = 0; i < descriptors->size(); ++i) {
    const char* fault = read_tensor(*descriptors->Get(i), ready.valid(), slot, slot_bytes, content.tensors[i]);
    if (fault) return fault;
  }
  return nullptr;
}

Outcome Batch::use(void* handle, std::shared_ptr<void> kept) {
  if (!ring().follows_streams()) return {};
  const cuda::abi::Stream named = handle ? static_cast<cuda::abi::Stream>(handle) : cuda::abi::legacy_stream();
  const bool is_threads = named == cuda::abi::per_thread_stream();
  // On the thread that drops the batch this name may mean another stream. The legacy stream waits for all of them.
  const cuda::abi::Stream followed = is_threads ? cuda::abi::legacy_stream() : named;
  const std::lock_guard lock(mutex_);
  Lease& lease = lease_.front();
  const auto found = std::find(lease.streams.begin(), lease.streams.end(), followed);
  const bool is_new = found == lease.streams.end();
  if (is_new && lease.streams.size() == kStreamsMax) {
    return failure(SPDLD_LIMIT, "the batch is used on " + std::to_string(kStreamsMax) +
                                    " streams already, the most that one batch may be used on");
  }
  const bool waits = !copied_ && (is_new || is_threads);
  const Outcome outcome = waits ? ring().make_wait(lease.slot, named) : Outcome{};
  if (!outcome.ok()) return outcome;
  if (is_new) {
    lease.kept.reserve(lease.streams.size() + 1);
    lease.streams.push_back(followed);
    lease.kept.push_back(std::move(kept));
  } else if (auto& keeper = lease.kept[static_cast<size_t>(found - lease.streams.begin())]; !keeper) {
    keeper = std::move(kept);
  }
  return {};
}  // what is not kept goes without the lock: the caller's argument ends last

Outcome Batch::wait() {
  if (copied_) return {};
  const Outcome outcome = ring().wait_for_copy(lease_.front().slot);
  if (outcome.ok()) copied_ = true;
  return outcome;
}

const Tensor* Batch::find(std::string_view name) const {
  for (const Tensor& tensor : content_.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace spdld::client
