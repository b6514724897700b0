#include "client/python/src/exported.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spdld::python {

namespace {

dlpack::DataType dlpack_type(spdld_dtype dtype) {
  switch (dtype) {
    case SPDLD_UINT8:
      return {dlpack::kUInt, 8, 1};
    case SPDLD_INT32:
      return {dlpack::kInt, 32, 1};
    case SPDLD_INT64:
      return {dlpack::kInt, 64, 1};
    case SPDLD_FLOAT16:
      return {dlpack::kFloat, 16, 1};
    case SPDLD_BFLOAT16:
      return {dlpack::kBfloat, 16, 1};
    case SPDLD_FLOAT32:
      return {dlpack::kFloat, 32, 1};
  }
  return {};
}

}  // namespace

size_t bytes_of(spdld_dtype dtype) { return dlpack_type(dtype).bits / 8; }

Exported::Exported(spdld::Batch batch, const spdld_tensor& tensor, dlpack::Device device,
                   std::shared_ptr<Parked> parked)
    : batch_(std::move(batch)), parked_(std::move(parked)), element_bytes_(bytes_of(tensor.dtype)) {
  const size_t rank = std::min<size_t>(tensor.rank, kRankMax);
  std::copy_n(tensor.shape, rank, shape_.begin());
  std::copy_n(tensor.strides, rank, strides_.begin());
  tensor_ = {tensor.address,  device, static_cast<int32_t>(rank), dlpack_type(tensor.dtype), shape_.data(),
             strides_.data(), 0};
}

Exported::~Exported() {
  if (parked_ && batch_) parked_->put(std::move(batch_));
}

void Exported::copy() {
  const size_t rank = static_cast<size_t>(tensor_.rank);
  std::array<int64_t, kRankMax> dense = {};
  int64_t elements = 1;
  for (size_t i = rank; i-- > 0;) {
    dense[i] = elements;
    elements *= shape_[i];
  }
  const size_t bytes = static_cast<size_t>(elements) * element_bytes_;
  copy_.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  auto* const target = reinterpret_cast<std::byte*>(copy_.data());
  const auto* const source = static_cast<const std::byte*>(tensor_.address);
  if (std::equal(dense.begin(), dense.begin() + rank, strides_.begin())) {
    if (bytes > 0) std::memcpy(target, source, bytes);
  } else {
    for (int64_t element = 0; element < elements; ++element) {
      int64_t offset = 0;
      for (size_t i = 0; i < rank; ++i) offset += element / dense[i] % shape_[i] * strides_[i];
      const auto from = static_cast<size_t>(offset) * element_bytes_;
      std::memcpy(target + static_cast<size_t>(element) * element_bytes_, source + from, element_bytes_);
    }
  }
  strides_ = dense;
  tensor_.address = target;
  batch_.release();
}

dlpack::Managed* Exported::hand_over(std::unique_ptr<Exported> exported) {
  dlpack::Managed& managed = exported->managed_;
  managed = {exported->tensor_, exported.get(),
             [](dlpack::Managed* self) { std::unique_ptr<Exported>(static_cast<Exported*>(self->context)).reset(); }};
  return &exported.release()->managed_;
}

dlpack::ManagedVersioned* Exported::hand_over_versioned(std::unique_ptr<Exported> exported) {
  exported->versioned_ = {
      dlpack::kVersion, exported.get(),
      [](dlpack::ManagedVersioned* self) { std::unique_ptr<Exported>(static_cast<Exported*>(self->context)).reset(); },
      exported->copy_.empty() ? 0 : dlpack::kFlagCopied, exported->tensor_};
  return &exported.release()->versioned_;
}

}  // namespace spdld::python
