#include "client/python/src/stream.h"

#include <cstdint>
#include <string>

#include "client/python/src/errors.h"
#include "client/python/src/kept.h"

namespace nb = nanobind;

namespace spdld::python {

namespace {

constexpr const char* kReleased = "this batch was released: name its streams before you release it";

int64_t number_of(nb::handle stream) {
  const nb::object index = nb::steal(PyNumber_Index(stream.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

void* stream_at(int64_t number) {
  if (number < 0) raise(SPDLD_INVALID, "a stream must be the number of a CUstream, and not " + std::to_string(number));
  return number == 1 ? nullptr : reinterpret_cast<void*>(static_cast<uintptr_t>(number));
}

}  // namespace

void* stream_of(nb::handle stream) {
  if (PyIndex_Check(stream.ptr())) return stream_at(number_of(stream));
  if (nb::hasattr(stream, "__cuda_stream__")) {
    const nb::object answer = stream.attr("__cuda_stream__")();
    if (!nb::isinstance<nb::tuple>(answer) || nb::len(answer) != 2) {
      raise(SPDLD_INVALID, "__cuda_stream__() must return a version and the number of a stream");
    }
    const nb::object number = answer[1];
    return stream_at(number_of(number));
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (nb::hasattr(stream, name)) return stream_at(number_of(stream.attr(name)));
  }
  raise(SPDLD_INVALID,
        "a stream must be a number, or an object of torch, cupy or CUDA Python that has __cuda_stream__(), cuda_stream "
        "or ptr, and not a value of the type " +
            std::string(nb::type_name(stream.type()).c_str()));
}

void prepare_for_consumer(const spdld::Batch& batch, nb::handle stream) {
  if (stream.is_none()) return use(batch, nullptr);
  const int64_t number = number_of(stream);
  if (number == 0) {
    raise(SPDLD_INVALID,
          "__dlpack__ does not take stream 0, which may mean two streams: write 1 for the legacy default stream, or 2 "
          "for the calling thread's");
  }
  // -1: the consumer orders its work by itself, which it can do only after the copy has ended.
  if (number == -1) return wait(batch);
  use(batch, stream_at(number));
}

void use(const spdld::Batch& batch, void* stream) {
  if (!batch) raise(SPDLD_INVALID, kReleased);
  const spdld_result result = spdld_batch_use(batch.get(), stream);
  if (result != SPDLD_OK) raise_last(result);
}

void use_object(const spdld::Batch& batch, nb::handle stream) {
  void* const named = stream_of(stream);
  if (PyIndex_Check(stream.ptr())) return use(batch, named);
  if (!batch) raise(SPDLD_INVALID, kReleased);
  const spdld_result result = spdld_batch_use_kept(batch.get(), named, keep(stream), &let_go);
  std::string sentence;
  if (result != SPDLD_OK) sentence = spdld_last_error();
  drop_objects_let_go();
  if (result != SPDLD_OK) raise(result, sentence);
}

void wait(const spdld::Batch& batch) {
  if (!batch) raise(SPDLD_INVALID, kReleased);
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): another thread may release the batch meanwhile
  const spdld::Batch held = batch;
  spdld_result result = SPDLD_OK;
  std::string sentence;
  {
    const nb::gil_scoped_release released;
    result = spdld_batch_wait(held.get());
    if (result != SPDLD_OK) sentence = spdld_last_error();
  }
  if (result != SPDLD_OK) raise(result, sentence);
}

}  // namespace spdld::python
