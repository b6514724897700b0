#include "client/src/ring/batch.h"

#include <algorithm>
#include <limits>

#include "utf8/utf8.h"

namespace spdld::client {

namespace {

// The elements from a tensor's first to its last, inclusive; false: more than an int64 can count.
bool extent_of(const Tensor& tensor, int64_t& elements) {
  elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const int64_t size = tensor.shape[i];
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

// `elements`: how many the tensor has, where an empty dimension counts as one of size 1.
const char* read_shape(const proto::TensorDescriptor& descriptor, Tensor& tensor, int64_t& elements) {
  const auto* shape = descriptor.shape();
  const auto* strides = descriptor.strides();
  if (!shape || shape->size() < 1 || shape->size() > kRankMax) return "a tensor has no dimensions, or more than eight";
  const bool dense = !strides || strides->size() == 0;
  if (!dense && strides->size() != shape->size()) return "a tensor has more or fewer strides than dimensions";
  tensor.rank = shape->size();
  int64_t& next_stride = elements = 1;
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

// The first dimension that counts, of at most as many rows as are there. -1: there are too few rows.
int64_t rows_that_count(spdld_role role, int64_t rows, uint64_t valid) {
  if (role == SPDLD_VALUES) return rows;
  const uint64_t wanted = valid + (role == SPDLD_OFFSETS ? 1 : 0);
  const bool are_there = wanted >= valid && static_cast<uint64_t>(rows) >= wanted;
  return are_there ? static_cast<int64_t>(wanted) : -1;
}

const char* read_role(const proto::TensorDescriptor& descriptor, Tensor& tensor) {
  if (descriptor.role() > proto::Role::MAX) return "a tensor's role is unknown";
  tensor.role = static_cast<spdld_role>(descriptor.role());
  tensor.of = proto::text_of(descriptor.of(), kTensorNameBytesMax + 1);
  const bool is_part = tensor.role == SPDLD_OFFSETS || tensor.role == SPDLD_LENGTHS || tensor.role == SPDLD_MASK;
  if (is_part == tensor.of.empty()) return "a tensor describes no other, or one that it can't describe";
  return nullptr;
}

const char* read_tensor(const proto::TensorDescriptor& descriptor, uint64_t valid, std::byte* slot, uint64_t slot_bytes,
                        Tensor& tensor) {
  const std::string_view name = proto::text_of(descriptor.name());
  if (name.empty() || name.size() > kTensorNameBytesMax) return "a tensor has no name, or a very long one";
  if (!utf8::is_utf8(name) || utf8::has_control(name)) return "a tensor's name can't be written";
  tensor.name = name;
  const size_t element_bytes = proto::bytes_of(descriptor.dtype());
  if (element_bytes == 0) return "a tensor's type is unknown";
  tensor.dtype = static_cast<spdld_dtype>(descriptor.dtype());
  if (const char* fault = read_role(descriptor, tensor)) return fault;
  int64_t elements = 0;
  if (const char* fault = read_shape(descriptor, tensor, elements)) return fault;
  // Strides that are too small would show the same bytes again and again, and a copy of them would need endless memory.
  if (static_cast<uint64_t>(elements) > slot_bytes / element_bytes) return "a tensor has more elements than its slot";

  uint64_t bytes = 0, end = 0;
  const bool counted = extent_of(tensor, elements) &&
                       !__builtin_mul_overflow(static_cast<uint64_t>(elements), element_bytes, &bytes) &&
                       !__builtin_add_overflow(descriptor.offset(), bytes, &end);
  if (!counted || end > slot_bytes) return "a tensor reaches beyond its slot";
  if (descriptor.offset() % kAlignment != 0) return "a tensor is not aligned to 128 bytes";
  tensor.shape[0] = rows_that_count(tensor.role, tensor.shape[0], valid);
  if (tensor.shape[0] < 0) return "a tensor has fewer samples than the batch";
  tensor.address = slot + descriptor.offset();
  return nullptr;
}

const Tensor* find_tensor(const Content& content, std::string_view name) {
  const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                  [name](const Tensor& tensor) { return tensor.name == name; });
  return found == content.tensors.end() ? nullptr : &*found;
}

const Tensor* find_part_of(const Content& content, std::string_view of, spdld_role role) {
  const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.role == role && tensor.of == of; });
  return found == content.tensors.end() ? nullptr : &*found;
}

// Whether the tensors that belong together are there, and fit.
const char* check_parts(const Content& content) {
  for (const Tensor& tensor : content.tensors) {
    if (tensor.role == SPDLD_VALUES && !find_part_of(content, tensor.name, SPDLD_OFFSETS))
      return "a tensor of values has no offsets";
    if (tensor.of.empty()) continue;
    const Tensor* of = find_tensor(content, tensor.of);
    const bool of_values = tensor.role == SPDLD_OFFSETS;
    if (!of || of->role != (of_values ? SPDLD_VALUES : SPDLD_ROWS)) return "a tensor describes no tensor of the batch";
    if (of_values && (tensor.dtype != SPDLD_INT64 || tensor.rank != 1)) return "offsets are not int64 in one dimension";
    if (tensor.role == SPDLD_LENGTHS && tensor.rank != 1) return "lengths have more than one dimension";
    const bool fits = tensor.role != SPDLD_MASK ||
                      (tensor.rank <= of->rank &&
                       std::equal(tensor.shape.begin(), tensor.shape.begin() + tensor.rank, of->shape.begin()));
    if (!fits) return "a mask does not fit its tensor";
  }
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
  if (ready.valid() > terms.batch_size || ready.absent() > terms.batch_size - ready.valid())
    return "a batch has more samples than its ring's batches";
  if (ready.padded() > ready.valid()) return "a batch has more padded samples than samples";
  content.position = {ready.position()->epoch(), ready.position()->step()};
  content.valid = ready.valid();
  content.first = ready.range() ? ready.range()->first() : 0;
  content.bad_counts = {ready.substituted(), ready.masked(),   ready.absent(),
                        ready.unsupported(), ready.too_long(), ready.dropped()};
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
  return check_parts(content);
}

const char* check_offsets(const Content& content) {
  for (const Tensor& tensor : content.tensors) {
    if (tensor.role != SPDLD_OFFSETS) continue;
    const auto* offsets = static_cast<const int64_t*>(tensor.address);
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.shape[0]; ++i) {
      const int64_t offset = offsets[i * tensor.strides[0]];
      if (offset < last || (i == 0 && offset != 0)) return "offsets do not begin with 0, or fall";
      last = offset;
    }
    const Tensor* values = find_tensor(content, tensor.of);
    if (!values || values->shape[0] != last) return "offsets end elsewhere than their values";
  }
  return nullptr;
}

CallOutcome LeasedSlot::use(void* handle, std::shared_ptr<void> kept) {
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
  const CallOutcome outcome = waits ? ring().make_wait(lease.slot, named) : CallOutcome{};
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

CallOutcome LeasedSlot::wait() {
  if (copied_) return {};
  const CallOutcome outcome = ring().wait_for_copy(lease_.front().slot);
  if (outcome.ok()) copied_ = true;
  return outcome;
}

const Tensor* Batch::find(std::string_view name) const { return find_tensor(content_, name); }

const Tensor* Batch::find_part(std::string_view of, spdld_role role) const { return find_part_of(content_, of, role); }

}  // namespace spdld::client
