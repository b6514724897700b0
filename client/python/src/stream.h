// The CUDA streams that objects of Python stand for. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <spdld.hpp>

namespace spdld::python {

// `stream`: a number (a CUstream or cudaStream_t; 0 and 1: the legacy default stream), or an object with
// __cuda_stream__() (the protocol of CUDA Python:
// https://nvidia.github.io/cuda-python/cuda-core/latest/interoperability.html), .cuda_stream (torch) or .ptr (cupy).
// nullptr: the legacy default stream. InvalidError for anything else.
void* stream_of(nanobind::handle stream);

// To be called before a consumer on a GPU takes the batch. `stream`: the argument of __dlpack__, as the Python array
// API standard defines it for CUDA
// (https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html).
void prepare_for_consumer(const spdld::Batch& batch, nanobind::handle stream);

// spdld_batch_use and spdld_batch_wait, with Python's exceptions.
void use(const spdld::Batch& batch, void* stream);
// For a stream as stream_of() takes it. An object lives as long as its stream is needed: some frameworks destroy a
// stream with its object.
void use_object(const spdld::Batch& batch, nanobind::handle stream);
void wait(const spdld::Batch& batch);

}  // namespace spdld::python
