// What Python sees of a loader.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "client/python/src/errors.h"
#include "client/python/src/loader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

// As os.fsdecode gives it: file systems know bytes.
nb::object path_text(const std::string& name) {
  const nb::object text =
      nb::steal(PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

const std::vector<std::string>& class_names(const Info& info) {
  if (info.classes->size() != info.class_count) {
    raise(SPDLD_LIMIT, "the names of the " + std::to_string(info.class_count) +
                           " classes have more than 16 MiB in all, and are not sent to trainers");
  }
  return *info.classes;
}

nb::list classes_of(const Info& info) {
  nb::list names;
  for (const std::string& name : class_names(info)) names.append(path_text(name));
  return names;
}

nb::dict class_to_idx_of(const Info& info) {
  nb::dict numbers;
  uint64_t number = 0;
  for (const std::string& name : class_names(info)) numbers[path_text(name)] = number++;
  return numbers;
}

void bind_info(nb::module_& module) {
  nb::class_<Info>(module, "Info", "What a loader is attached to. It stays the same, over every restart of the daemon.")
      .def_ro("pipeline", &Info::pipeline)
      .def_ro("fingerprint", &Info::fingerprint, "Of the data set's listing and of all that decides the bytes.")
      .def_ro("daemon", &Info::daemon, "Its name and version.")
      .def_ro("group", &Info::group, "The training job that this rank belongs to.")
      .def_ro("rank", &Info::rank)
      .def_ro("world_size", &Info::world_size)
      .def_ro("batch_size", &Info::batch_size, "Samples of this rank in a full step.")
      .def_ro("global_size", &Info::global_size, "Samples of all ranks in a full step.")
      .def_ro("samples", &Info::samples, "Samples of an epoch: those of the data set that the pipeline takes.")
      .def_ro("steps_per_epoch", &Info::steps_per_epoch)
      .def_ro("epochs", &Info::epochs, "0: endless.")
      .def_ro("seed", &Info::seed)
      .def_ro("slot_bytes", &Info::slot_bytes, "Bytes of one batch's memory.")
      .def_ro("slot_count", &Info::slot_count, "Batches that have memory: being filled, ready or held.")
      .def_ro(
          "writable", &Info::writable,
          "True: the batches' memory is this process's alone. False: readers share it, and a page is copied when it is "
          "written to.")
      .def_ro(
          "memory", &Info::memory,
          "Where batches lie: \"host\"; \"pinned\" (host memory registered with the GPU); \"cuda-fd\" (GPU memory that "
          "stays valid when the daemon ends) or \"cuda-handle\" (GPU memory that does not).")
      .def_ro("device", &Info::device, "The GPU's number in this process, of pinned and GPU memory; else None.")
      .def_ro("gpu", &Info::gpu, "The GPU's UUID (\"GPU-...\"), of pinned and GPU memory; else None.")
      .def_ro("ready_early", &Info::ready_early, "True: batches are handed out while they are still being copied.")
      .def_ro("pushed", &Info::pushed, "True: the order is pushed (Loader.push); steps_per_epoch is 0 then.")
      .def_prop_ro(
          "sources",
          [](const Info& self) {
            nb::list names;
            for (const std::string& name : self.sources) names.append(name);
            return nb::tuple(names);
          },
          "Names of the pipeline's sources, in its order, where it has several; else ().")
      .def_prop_ro(
          "classes", &classes_of,
          "Names of an image folder's classes, as a list: the label i means classes[i]. Other data has none: [].")
      .def_prop_ro(
          "class_to_idx", &class_to_idx_of,
          "The label of each class of an image folder, as a dict by the class's name. Other data has none: {}.")
      .def("__repr__",
           [](const Info& self) {
             return "<spdld.Info " + self.pipeline + ": " + std::to_string(self.samples) + " samples, batch " +
                    std::to_string(self.batch_size) + " of " + std::to_string(self.global_size) + ", " +
                    std::to_string(self.steps_per_epoch) + " steps, " + self.memory + " memory, fingerprint " +
                    self.fingerprint + ">";
           })
      .attr("__module__") = "spdld";
}

}  // namespace

void bind_loader(nb::module_& module) {
  bind_info(module);
  nb::class_<EpochIterator>(module, "EpochIterator")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &EpochIterator::next, nb::lock_self());
  nb::class_<Loader>(
      module, "Loader",
      "One rank's batches, in order. `for batch in loader` gives the rest of the current epoch, the next `for` "
      "the next epoch; after the last epoch it gives nothing, but where order.epochs is 1 that epoch again: a "
      "validation set is iterated as often as one likes. Several threads may call it: they take turns. "
      "In a forked child every call raises ForkedError.")
      .def("__iter__",
           [](nb::handle_t<Loader> self) {
             nb::cast<Loader&>(self).begin_iteration();
             return EpochIterator(nb::borrow(self));
           })
      .def(
          "__len__",
          [](const Loader& self) {
            if (self.info().pushed)
              throw nb::type_error("its order is pushed: how many steps an epoch has is not known");
            return self.info().steps_per_epoch;
          },
          "Steps (batches) of an epoch.")
      .def(
          "next", &Loader::next, "timeout"_a = nb::none(),
          "The next batch; None where an epoch ends (the call after it gives the next epoch's first batch), and always "
          "after the last epoch. timeout: seconds, 0: only what is ready now, None: as long as it takes. Raises "
          "TimeoutError; NoDaemonError when the daemon went away and was not back within `reconnect`; FailedError; "
          "LimitError when the program holds all batches that it may hold, and none came back within `held_wait`.")
      .def("seek", &Loader::seek, "epoch"_a, "step"_a = 0,
           "Goes on at another place. Batches in use stay valid. Replicas all go to the same place, each by a call of "
           "its own; they wait for one another with their next batch.")
      .def("push", &Loader::push, "epoch"_a, "step"_a, "ids"_a, "last"_a = false,
           "The samples of a step to come, of a pipeline with order.shuffle = \"client\": their numbers in the data "
           "set's listing, 1 to info.batch_size of them. Steps are pushed in order, from `position` on, "
           "info.slot_count of "
           "them ahead of next(). last: the epoch ends with it, or without ids before it. A seek and a loaded state "
           "void what was pushed. Raises InvalidError, LimitError. A torch program gives spdld.torch.Loader a sampler.")
      .def("set_epoch", &Loader::set_epoch, "epoch"_a,
           "Goes to the beginning of an epoch; nothing happens where the loader stands there already.")
      .def("state_dict", &Loader::state_dict,
           "The loader's place, for a checkpoint: a small dict of texts and numbers. What next() has handed out counts "
           "as "
           "consumed: taken while a batch is in hand it goes on with the batch after it, and taken after an epoch's "
           "last "
           "batch with the next epoch. One rank's is enough: it is that of all.")
      .def(
          "load_state_dict", &Loader::load_state_dict, "state"_a, "strict"_a = true,
          "Goes on where state_dict() was called: the same batches follow, bit for bit, also with another world_size "
          "at "
          "the same global batch. Raises ChangedError, which says what differs, where the state belongs to another "
          "data "
          "set, pipeline or global batch, and InvalidError where it is damaged or of a newer spdld. strict=False takes "
          "that of another run nevertheless: the same epoch and step, or with another global batch as many samples of "
          "that epoch, rounded down to a step.")
      .def(
          "stats", &Loader::stats,
          "What next() has handed out so far, as a dict: \"batches\" and \"samples\"; of these samples \"substituted\" "
          "(whose content was bad and replaced by another sample) and \"masked\" (left zero), and of the two "
          "\"unsupported\" (pictures of a format that the daemon does not decode); \"reasons\", a list of dicts with "
          "\"reason\", \"kind\" (\"damaged\" or \"unsupported\"), \"count\" and the first sample's \"sample\" (id) and "
          "\"name\"; \"missing\", the first sentences of what the data set misses where on_missing = \"warn\", and "
          "\"missing_count\". A new reason is a spdld.DataWarning as well.")
      .def_prop_ro("shared", &Loader::shared,
                   "True: other jobs get the same batches, which are decoded once (share = \"stream\"). It turns False "
                   "where this one held the others back for too long, or left for another place.")
      .def_prop_ro("position", &Loader::position, "(epoch, step) of the next batch.")
      .def_prop_ro(
          "epochs", [](const Loader& self) { return self.info().epochs; }, "The pipeline's epochs; 0: endless.")
      .def_prop_ro("info", &Loader::info, nb::rv_policy::copy)
      .def_prop_ro("framework", &Loader::framework, "\"torch\", \"numpy\", \"jax\", \"cupy\" or \"raw\".")
      .def("close", &Loader::close,
           "Gives the rank back to the daemon, for others to take. Batches in use stay valid until they are dropped.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__", [](Loader& self, nb::handle, nb::handle, nb::handle) { self.close(); }, "type"_a = nb::none(),
          "value"_a = nb::none(), "traceback"_a = nb::none())
      .def("__repr__", [](const Loader& self) { return "<spdld.Loader " + self.describe() + ">"; })
      .attr("__module__") = "spdld";
}

}  // namespace spdld::python
