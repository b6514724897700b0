#include "client/python/src/exported.h"

#include <algorithm>
#include <utility>

namespace spdld::python {

namespace {

dlpack::TypeCode code_of(spdld_dtype dtype) {
  switch (dtype) {
    case SPDLD_BOOL:
      return dlpack::kBool;
    case SPDLD_INT8:
    case SPDLD_INT16:
    case SPDLD_INT32:
    case SPDLD_INT64:
      return dlpack::kInt;
    case SPDLD_FLOAT16:
    case SPDLD_FLOAT32:
    case SPDLD_FLOAT64:
      return dlpack::kFloat;
    case SPDLD_BFLOAT16:
      return dlpack::kBfloat;
    case SPDLD_COMPLEX64:
    case SPDLD_COMPLEX128:
      return dlpack::kComplex;
    case SPDLD_UINT8:
    case SPDLD_UINT16:
    case SPDLD_UINT32:
    case SPDLD_UINT64:
      break;
  }
  return dlpack::kUInt;
}

dlpack::DataType dlpack_type(spdld_dtype dtype) {
  return {code_of(dtype), static_cast<uint8_t>(8 * spdld_dtype_bytes(dtype)), 1};
}

}  // namespace

Exported::Exported(spdld::Batch batch, const spdld_tensor& tensor, dlpack::Device device,
                   std::shared_ptr<Parked> parked)
    : batch_(std::move(batch)), parked_(std::move(parked)) {
  describe(tensor, device);
}

Exported::Exported(std::shared_ptr<const Copied> copied, spdld_dtype dtype, bool is_consumers)
    : copied_(std::move(copied)), is_consumers_copy_(is_consumers) {
  spdld_tensor tensor = copied_->tensor();
  tensor.dtype = dtype;
  describe(tensor, {dlpack::kCpu, 0});
}

void Exported::describe(const spdld_tensor& tensor, dlpack::Device device) {
  const size_t rank = std::min<size_t>(tensor.rank, kRankMax);
  std::copy_n(tensor.shape, rank, shape_.begin());
  std::copy_n(tensor.strides, rank, strides_.begin());
  tensor_ = {tensor.address,  device, static_cast<int32_t>(rank), dlpack_type(tensor.dtype), shape_.data(),
             strides_.data(), 0};
}

Exported::~Exported() {
  if (parked_ && batch_) parked_->put(std::move(batch_));
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
      exported->is_consumers_copy_ ? dlpack::kFlagCopied : 0, exported->tensor_};
  return &exported.release()->versioned_;
}

}  // namespace spdld::python
