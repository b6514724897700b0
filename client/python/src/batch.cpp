#include "client/python/src/batch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "client/python/src/errors.h"
#include "client/python/src/kept.h"
#include "client/python/src/loader.h"
#include "client/python/src/stream.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

// A tensor with at most this many bytes for each sample is copied, so that a program that keeps labels, ids or boxes
// does not keep the whole slot. The bound counts the bytes of a sample, so that it does not depend on the batch size.
// 256 bytes hold 32 numbers of 8 bytes, and a picture has more.
constexpr size_t kSmallBytesMax = 256;

bool is_small(const spdld_tensor& tensor) {
  size_t bytes = spdld_dtype_bytes(tensor.dtype);
  for (uint32_t i = 1; i < tensor.rank && bytes <= kSmallBytesMax; ++i) bytes *= static_cast<size_t>(tensor.shape[i]);
  return bytes <= kSmallBytesMax;
}

bool is_hidden(const spdld_tensor& tensor) { return tensor.role == SPDLD_OFFSETS; }  // its output's Ragged has it

}  // namespace

Batch::Batch(spdld::Batch lease, nb::object convert, std::shared_ptr<Parked> parked,
             std::shared_ptr<const LoaderInfo> origin)
    : lease_(std::move(lease)),
      origin_(std::move(origin)),
      convert_(std::move(convert)),
      parked_(std::move(parked)),
      info_(lease_.info()) {
  names_.reserve(info_.tensors);
  tensors_.reserve(info_.tensors);
  for (uint32_t i = 0; i < info_.tensors; ++i) tensors_.push_back(lease_.tensor(i));
  for (const spdld_tensor& tensor : tensors_) {
    if (!is_hidden(tensor)) names_.emplace_back(tensor.name);
    const bool is_copied =
        info_.memory == SPDLD_HOST && !convert_.is_none() && !has_own_shape(tensor) && is_small(tensor);
    copies_.push_back(is_copied ? std::make_shared<const Copied>(tensor) : nullptr);
  }
  for (uint32_t i = 0; i < info_.sources; ++i) {  // copied, so that it stays readable after release()
    source_counts_.emplace_back(info_.source_names[i], info_.source_counts[i]);
  }
}

bool Batch::has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

void Batch::check_held() const {
  if (!lease_) raise(SPDLD_INVALID, "this batch was released: take its tensors before you release it");
}

// Whether the tensor's rows differ from batch to batch: such a tensor is never copied, however small its rows are in
// one batch.
bool Batch::has_own_shape(const spdld_tensor& tensor) const {
  if (tensor.role == SPDLD_VALUES || tensor.role == SPDLD_MASK) return true;
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [&](const spdld_tensor& other) { return std::string_view(other.of) == tensor.name; });
}

// KeyError, with the names that there are, where there is no tensor of this name.
size_t Batch::index_of(const std::string& name) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (name == tensors_[i].name) return i;
  }
  spdld_tensor none{};
  none.struct_size = sizeof none;
  spdld_batch_find(lease_.get(), name.c_str(), &none);  // for its sentence
  throw nb::key_error(spdld_last_error());
}

// By the library, which refuses calls in a forked child.
Tensor Batch::checked_tensor(size_t index) const {
  spdld_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  const spdld_result result = spdld_batch_tensor(lease_.get(), static_cast<uint32_t>(index), &tensor);
  if (result != SPDLD_OK) raise_last(result);
  return tensor_of(tensor);
}

Tensor Batch::tensor(const std::string& name) const {
  check_held();
  return checked_tensor(index_of(name));
}

nb::object Batch::converted(const Tensor& tensor) const {
  nb::object object = nb::cast(tensor);
  return convert_.is_none() ? object : convert_(object);
}

nb::object Batch::array_of(size_t index, Take take) const {
  const bool has_copy = take == Take::kView && copies_[index];
  if (has_copy) return converted(Tensor(copies_[index]));
  if (take == Take::kView || on_gpu()) return converted(checked_tensor(index));
  return converted(Tensor(std::make_shared<const Copied>(tensors_[index])));
}

// An array, or for a ragged output an object of spdld.Ragged with two arrays.
nb::object Batch::output(size_t index, const std::function<nb::object(size_t)>& array) const {
  const spdld_tensor& values = tensors_[index];
  if (values.role != SPDLD_VALUES) return array(index);
  const auto is_offsets = [&](const spdld_tensor& tensor) {
    return is_hidden(tensor) && std::string_view(tensor.of) == values.name;
  };
  const auto offsets = std::find_if(tensors_.begin(), tensors_.end(), is_offsets) - tensors_.begin();
  return nb::module_::import_("spdld._ragged")
      .attr("Ragged")(values.name, array(index), array(static_cast<size_t>(offsets)));
}

nb::object Batch::array(const std::string& name) const {
  check_held();
  const spdld::Batch held = lease_;  // a framework runs Python code, so another thread may release the batch meanwhile
  return output(index_of(name), [this](size_t index) { return array_of(index, Take::kView); });
}

// Of what the batch has, so that a substitute has its own name.
nb::object Batch::sample_names() const {
  const nb::object ids = array("sample_id");
  return nb::module_::import_("spdld._ledger").attr("names_of")(nb::cast(*origin_), ids);
}

nb::dict Batch::copy() const {
  check_held();
  const spdld::Batch held = lease_;
  if (on_gpu() && convert_.is_none()) {
    raise(SPDLD_UNSUPPORTED,
          "this batch lies in GPU memory, and the loader has no framework that could copy it: copy its tensors with "
          "the library that takes them");
  }
  nb::dict arrays;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (is_hidden(tensors_[i])) continue;
    arrays[tensors_[i].name] = output(i, [this](size_t index) {
      const nb::object array = array_of(index, Take::kCopy);
      if (!on_gpu()) return array;
      return nb::object(array.attr(nb::hasattr(array, "clone") ? "clone" : "copy")());  // torch has clone()
    });
  }
  return arrays;
}

nb::list Batch::arrays() const {
  nb::list arrays;
  for (const std::string& name : names_) arrays.append(array(name));
  return arrays;
}

nb::dict Batch::sources() const {
  nb::dict counts;
  for (const auto& [name, count] : source_counts_) counts[name.c_str()] = count;
  return counts;
}

nb::list Batch::items() const {
  nb::list items;
  for (const std::string& name : names_) items.append(nb::make_tuple(name, array(name)));
  return items;
}

void Batch::release(nb::handle stream) {
  if (!stream.is_none()) use(stream);
  lease_.release();
  drop_objects_let_go();
}

void Batch::use(nb::handle stream) const { python::use_object(lease_, stream); }
void Batch::wait() const { python::wait(lease_); }

Tensor Batch::tensor_of(const spdld_tensor& tensor) const {
  const dlpack::Device place = on_gpu() ? dlpack::Device{dlpack::kCuda, info_.device} : dlpack::Device{dlpack::kCpu, 0};
  return {lease_, tensor, place, parked_};
}

std::string Batch::describe() const {
  std::string text = "epoch " + std::to_string(info_.epoch) + " step " + std::to_string(info_.step);
  if (!lease_) return text + ", released";
  const char* separator = ": ";
  for (const spdld_tensor& tensor : tensors_) {  // without the library, which refuses calls in a forked child
    text += separator + std::string(tensor.name) + " " + tensor_of(tensor).describe();
    separator = ", ";
  }
  return text;
}

namespace {

constexpr const char* kUse =
    "Says that a stream works on this batch in GPU or pinned memory. After the batch is given back, its memory is "
    "filled anew only when the work that was put on the stream before is done. An object that owns the "
    "stream lives as long as that takes. With experimental_ready_early, work that is put on the stream from now on "
    "waits for the copy to the GPU. The streams on which torch, cupy and jax take a tensor are known without this "
    "call. torch's Tensor.record_stream does nothing for these tensors, whose memory is not torch's. Name all other "
    "streams:\n\n"
    "    image = batch[\"image\"]\n"
    "    batch.use(side)                  # a torch.cuda.Stream, a stream of cupy or CUDA Python, or its number\n"
    "    with torch.cuda.stream(side):\n"
    "        features = model(image)\n\n"
    "A captured graph reads the addresses that it was captured with, but the next batch lies elsewhere. So capture the "
    "graph over tensors of your own, and copy each batch into them. Or keep the batch until the last replay of its "
    "graph was put on the stream.\n\n"
    "    static.copy_(batch[\"image\"], non_blocking=True)\n"
    "    graph.replay()\n";

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<Batch>(
      module, "Batch",
      "A batch: a mapping from a tensor's name to an array of the loader's framework. The memory of the arrays is the "
      "daemon's, so nothing is copied, and a program may write to it. The batch is given back, and its memory filled "
      "anew, when neither this object nor anything made of it lives. That may happen on any thread.\n\n"
      "In host memory a tensor of at most 256 bytes a sample, such as labels and ids, comes as a copy, so that a "
      "program may keep it without keeping the batch. Each batch[name] gives the same copy. A change to the copy does "
      "not show in tensor(name). Arrays whose shape differs from batch to batch are never copies.\n\n"
      "A ragged output comes as a spdld.Ragged, which has its values and its offsets. A padded output comes as an "
      "array whose shape differs from batch to batch, with its lengths or its mask beside it, under their own names.")
      .def_prop_ro("epoch", [](const Batch& self) { return self.info().epoch; })
      .def_prop_ro(
          "step", [](const Batch& self) { return self.info().step; }, "The step of the batch within the epoch, from 0.")
      .def_prop_ro(
          "valid", [](const Batch& self) { return self.info().valid; },
          "The number of samples in the batch, which is the first size of every array. In a short last step it is "
          "less than the batch size, and a rank may have none where there are fewer samples than ranks. With on_drop = "
          "\"shorter\" any batch may have fewer, or none.")
      .def_prop_ro(
          "first", [](const Batch& self) { return self.info().first; },
          "The position of the batch's first sample within the epoch.")
      .def_prop_ro(
          "substituted", [](const Batch& self) { return self.info().substituted; },
          "The number of samples whose content was bad, or that were left out, and in whose places another sample "
          "stands.")
      .def_prop_ro(
          "masked", [](const Batch& self) { return self.info().masked; },
          "The number of samples whose content was bad, or that were left out, and that are zero. The tensor \"mask\" "
          "tells which samples these "
          "are.")
      .def_prop_ro(
          "dropped", [](const Batch& self) { return self.info().dropped; },
          "The number of samples of the step that user code dropped (spdld.DROP). Others stand in their places, or "
          "they "
          "are masked or absent, as on_drop says.")
      .def_prop_ro(
          "absent", [](const Batch& self) { return self.info().absent; },
          "The number of samples of the step that the batch lacks, because they were left out. It is above 0 only with "
          "on_drop = \"shorter\".")
      .def_prop_ro(
          "padded", [](const Batch& self) { return self.info().padded; },
          "The number of samples at the end of the batch that repeat the first samples of the epoch, to fill the "
          "batch. It is above 0 only with last = \"pad\".")
      .def_prop_ro("sources", &Batch::sources,
                   "The number of valid samples that come from each source, as a dict by the name of the source. The "
                   "dict is empty where the pipeline has a single source.")
      .def_prop_ro("names", &Batch::sample_names, nb::lock_self(),
                   "The names of the batch's samples, as a list in the order of the rows: paths, or names of members. "
                   "The daemon is asked for them, so that they cost nothing where nobody reads them. A substitute has "
                   "its own name. Raises NotFoundError where the loader is no longer attached.")
      .def("__getitem__", &Batch::array, "name"_a, nb::lock_self(),
           "Returns the tensor as an array of the loader's framework, and a ragged output as a spdld.Ragged. Raises "
           "KeyError where there is no tensor of this "
           "name, and InvalidError (a ValueError) after release().")
      .def("tensor", &Batch::tensor, "name"_a, nb::lock_self(),
           "Returns the tensor as a spdld.Tensor, for any consumer of DLPack. Its memory is always the batch's own "
           "memory, and it holds the batch.")
      .def("copy", &Batch::copy, nb::lock_self(),
           "Returns a dict of the batch's arrays, each in memory of its own. Keep these copies where you keep many "
           "batches, because a copy does not hold the batch. Raises UnsupportedError for framework \"raw\" in GPU "
           "memory.")
      .def("__contains__",
           [](const Batch& self, nb::handle name) {
             return nb::isinstance<nb::str>(name) && self.has(nb::cast<std::string>(name));
           })
      .def(
          "__len__", [](const Batch& self) { return self.names().size(); }, "The number of tensors.")
      .def("__iter__", [](const Batch& self) { return nb::iter(nb::cast(self.names())); })
      .def("keys", &Batch::names, "The tensors' names, in the pipeline's order.")
      .def("values", &Batch::arrays, nb::lock_self())
      .def("items", &Batch::items, nb::lock_self())
      .def("use", &Batch::use, "stream"_a, nb::lock_self(), kUse)
      .def("wait", &Batch::wait, nb::lock_self(),
           "Blocks until the batch's copy to the GPU is done. Without experimental_ready_early it returns at "
           "once.")
      .def("release", &Batch::release, "stream"_a = nb::none(), nb::lock_self(),
           "Gives up this object's hold on the batch at once, even where a variable still refers to the object. The "
           "memory goes back to the daemon when no tensor made of the batch lives. On a GPU, the work that was put "
           "before on the streams of the batch must be done as well.\n\n"
           "stream: a stream that the batch is used on, as in use().")
      .def(
          "__repr__", [](const Batch& self) { return "<spdld.Batch " + self.describe() + ">"; }, nb::lock_self())
      .attr("__module__") = "spdld";
}

}  // namespace spdld::python
