// The binding of Loader and LoaderInfo to Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "client/python/src/errors.h"
#include "client/python/src/loader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

// Decodes a name as os.fsdecode does, because file systems know bytes.
nb::object path_text(const std::string& name) {
  const nb::object text =
      nb::steal(PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

const std::vector<std::string>& class_names(const LoaderInfo& info) {
  if (info.classes->size() != info.class_count) {
    raise(SPDLD_LIMIT, "the names of the " + std::to_string(info.class_count) +
                           " classes have more than 16 MiB in all, so they are not sent to trainers");
  }
  return *info.classes;
}

nb::list classes_of(const LoaderInfo& info) {
  nb::list names;
  for (const std::string& name : class_names(info)) names.append(path_text(name));
  return names;
}

nb::dict class_to_idx_of(const LoaderInfo& info) {
  nb::dict numbers;
  uint64_t number = 0;
  for (const std::string& name : class_names(info)) numbers[path_text(name)] = number++;
  return numbers;
}

// The functions that a loader was made with may refer to the loader: the garbage collector is to see it.
int visit_loader(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Loader>(self)->origin().ptr());
  return 0;
}

int clear_loader(PyObject* self) {
  nb::inst_ptr<Loader>(self)->set_origin({});
  return 0;
}

nb::object try_sample(nb::handle_t<Loader> self, const nb::object& sample, const nb::object& epoch) {
  const nb::object& origin = nb::cast<Loader&>(self).origin();
  return nb::module_::import_("spdld._trial")
      .attr("of_loader")(origin.is_valid() ? origin : nb::none(), self, sample, epoch);
}

void bind_info(nb::module_& module) {
  nb::class_<LoaderInfo>(
      module, "Info",
      "Facts about the pipeline that a loader is attached to. They stay the same over every restart of the daemon.")
      .def_ro("pipeline", &LoaderInfo::pipeline)
      .def_ro("fingerprint", &LoaderInfo::fingerprint,
              "The fingerprint of the data set's listing and of everything that decides the bytes of the batches.")
      .def_ro("daemon", &LoaderInfo::daemon, "The daemon's name and version.")
      .def_ro("group", &LoaderInfo::group, "The training job that this rank belongs to.")
      .def_ro("rank", &LoaderInfo::rank)
      .def_ro("world_size", &LoaderInfo::world_size)
      .def_ro("batch_size", &LoaderInfo::batch_size, "The number of samples that this rank gets in a full step.")
      .def_ro("global_size", &LoaderInfo::global_size,
              "The number of samples that all ranks together get in a full step.")
      .def_ro("samples", &LoaderInfo::samples,
              "The number of samples in an epoch: the samples of the data set that the pipeline takes.")
      .def_ro("steps_per_epoch", &LoaderInfo::steps_per_epoch)
      .def_ro("epochs", &LoaderInfo::epochs, "The number of epochs in the pipeline. 0 means that it is endless.")
      .def_ro("seed", &LoaderInfo::seed)
      .def_ro("slot_bytes", &LoaderInfo::slot_bytes, "The number of bytes in the memory of one batch.")
      .def_ro("slot_count", &LoaderInfo::slot_count,
              "The number of batches that have memory: batches that are being filled, ready or held.")
      .def_ro("writable", &LoaderInfo::writable,
              "True: the memory of the batches belongs to this process alone. False: readers share it, and a page is "
              "copied when it is written to.")
      .def_ro("memory", &LoaderInfo::memory,
              "The kind of memory that batches lie in. \"host\" is host memory, and \"pinned\" is host memory "
              "registered with the GPU. \"cuda-fd\" is GPU memory that stays valid when the daemon ends, and "
              "\"cuda-handle\" is GPU memory that does not.")
      .def_ro("device", &LoaderInfo::device,
              "The GPU's number in this process, for pinned and GPU memory. Otherwise None.")
      .def_ro("gpu", &LoaderInfo::gpu, "The GPU's UUID (\"GPU-...\"), for pinned and GPU memory. Otherwise None.")
      .def_ro("ready_early", &LoaderInfo::ready_early,
              "True: batches are handed out while they are still being copied to the GPU.")
      .def_ro("pushed", &LoaderInfo::pushed,
              "True: the program gives the order with Loader.push. In this case steps_per_epoch is 0.")
      .def_prop_ro(
          "sources",
          [](const LoaderInfo& self) {
            nb::list names;
            for (const std::string& name : self.sources) names.append(name);
            return nb::tuple(names);
          },
          "The names of the pipeline's sources, in the pipeline's order, where it has several sources. Otherwise ().")
      .def_prop_ro("classes", &classes_of,
                   "The names of an image folder's classes, as a list: the label i means classes[i]. For other data "
                   "the list is empty.")
      .def_prop_ro("class_to_idx", &class_to_idx_of,
                   "The label of each class of an image folder, as a dict with the names of the classes as keys. For "
                   "other data the dict is empty.")
      .def_ro("replay", &LoaderInfo::replay,
              "The number of batches that are handed out again and again. 0 means that the loader does not replay.")
      .def_ro("socket", &LoaderInfo::socket, "The path of the daemon's socket, for spdld.query.")
      .def_ro("last_samples", &LoaderInfo::last_samples,
              "The number of samples that all ranks together have in an epoch's last step, without padding. 0 means "
              "that the number is not known, or differs from epoch to epoch.")
      .def_ro("empty_steps", &LoaderInfo::empty_steps,
              "The number of an epoch's steps that have fewer samples than there are ranks, so that some ranks get a "
              "batch without samples.")
      .def("__repr__",
           [](const LoaderInfo& self) {
             return "<spdld.LoaderInfo " + self.pipeline + ": " + std::to_string(self.samples) + " samples, batch " +
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
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_loader)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear_loader)},
                                {0, nullptr}};
  nb::class_<Loader>(
      module, "Loader", nb::type_slots(slots),
      "The batches of one rank, in order. A `for batch in loader` loop gives the rest of the current epoch, and the "
      "next loop gives the next epoch. After the last epoch a loop gives nothing. Where order.epochs is 1, each "
      "further loop gives that epoch again, because a program may iterate a validation set as often as it likes. "
      "Several threads may call one loader: they take turns. In a forked child every call raises ForkedError.")
      .def("__iter__",
           [](nb::handle_t<Loader> self) {
             nb::cast<Loader&>(self).begin_iteration();
             return EpochIterator(nb::borrow(self));
           })
      .def(
          "__len__",
          [](const Loader& self) {
            if (self.info().pushed)
              throw nb::type_error(
                  "the program pushes the order of this loader, so the number of steps in an epoch is not known");
            return self.info().steps_per_epoch;
          },
          "The number of steps (batches) in an epoch.")
      .def("next", &Loader::next, "timeout"_a = nb::none(),
           "Returns the next batch. It returns None where an epoch ends, and the call after that gives the first batch "
           "of the next epoch. After the last epoch it always returns None.\n\n"
           "timeout: the number of seconds to wait. With 0 it returns only a batch that is ready now. With None it "
           "waits as long as it takes.\n\n"
           "Raises TimeoutError, FailedError, or one of these:\n\n"
           "- NoDaemonError: the daemon went away and was not back within `reconnect` seconds.\n"
           "- LimitError: the program holds all batches that it may hold, and none of them came back within "
           "`held_wait` seconds.")
      .def("seek", &Loader::seek, "epoch"_a, "step"_a = 0,
           "Goes to another place. Batches in use stay valid. All replicas of a rank go to the same place, each by a "
           "call of its own, and wait for one another with their next batch.")
      .def("push", &Loader::push, "epoch"_a, "step"_a, "ids"_a, "last"_a = false,
           "Gives the samples of a coming step, in a pipeline with order.shuffle = \"client\". Push the steps in "
           "order, beginning at `position`, and keep info.slot_count steps ahead of next(). A seek and a loaded state "
           "make the pushed steps void. A torch program gives spdld.torch.Loader a sampler instead.\n\n"
           "ids: the numbers of 1 to info.batch_size samples in the data set's listing.\n"
           "last: True ends the epoch with this step. Without ids, the epoch ends with the step before.\n\n"
           "Raises InvalidError or LimitError.")
      .def("set_epoch", &Loader::set_epoch, "epoch"_a,
           "Goes to the beginning of an epoch. Nothing happens where the loader stands there already.")
      .def("state_dict", &Loader::state_dict,
           "The loader's place for a checkpoint, as a small dict of texts and numbers. Every batch that next() has "
           "handed out counts as consumed. A state that is taken while the program holds a batch continues with the "
           "batch after it. A state that is taken after an epoch's last batch continues with the next epoch. All ranks "
           "have the same state, so the state of one rank is enough.")
      .def(
          "load_state_dict", &Loader::load_state_dict, "state"_a, "strict"_a = true,
          "Goes to the place where state_dict() was called. The same batches follow, bit for bit, also with another "
          "world_size at the same global batch.\n\n"
          "strict: False takes the state of another run as well. The loader then goes to the same epoch and step. With "
          "another global batch it goes behind the same number of samples of that epoch, rounded down to a step.\n\n"
          "Raises ChangedError where the state belongs to another data set, pipeline or global batch, and the text "
          "says what differs. Raises InvalidError where the state is damaged or of another format.")
      .def(
          "stats", &Loader::stats,
          "Counts the samples that next() has handed out so far. Returns a dict with these entries:\n\n"
          "- \"batches\" and \"samples\": how many were handed out.\n"
          "- \"substituted\": the number of samples whose content was bad, or that were left out, and that another "
          "sample "
          "replaced.\n"
          "- \"masked\": the number of samples whose content was bad, or that were left out, and that are zero.\n"
          "- \"absent\": the number of samples that batches lack, because they were left out (on_drop = \"shorter\").\n"
          "- \"unsupported\": the number of substituted and masked samples that are pictures of a format that the "
          "daemon does not decode.\n"
          "- \"too_long\": the number of substituted, masked and absent samples that are longer than an output takes, "
          "and that it leaves out.\n"
          "- \"dropped\": the number of substituted, masked and absent samples that user code dropped (spdld.DROP).\n"
          "- \"reasons\": a list of dicts with \"reason\", \"kind\" (\"damaged\", \"unsupported\", \"too_long\" or "
          "\"dropped\"), \"count\", and "
          "the first sample's \"sample\" (its id) and \"name\".\n"
          "- \"missing\": the first sentences about what is missing in the data set, where on_missing = \"warn\".\n"
          "- \"missing_count\": the number of all such faults.\n"
          "- \"replay_step_ms\": only in a replay, after its first steps: the time from one batch to the next, on "
          "average.\n\n"
          "A new reason also gives a spdld.DataWarning, but for dropped samples.")
      .def("samples_of", &Loader::samples_of, "epoch"_a, "step"_a, "rank"_a = nb::none(),
           "Tells which samples a step has, whether it was taken or not. Returns a list of (id, name), in the order of "
           "the batch's rows. The order decides them: where a sample proves bad, its substitute stands in the batch in "
           "its place, and a sample that the batch lacks (batch.absent) is in the list. With last = \"pad\" the "
           "samples that fill the last step are in the list.\n\n"
           "rank: another rank of the job. None means this loader's.\n\n"
           "Raises InvalidError where the run has no such step, or where the program pushes the order.")
      .def("try_sample", &try_sample, "sample"_a, "epoch"_a = nb::none(),
           "Runs one sample through this loader's pipeline in this thread, and returns what each step gave: see "
           "spdld.try_sample. The loader's batches and its place stay as they are.\n\n"
           "epoch: the epoch, which the random draws depend on. None means the epoch of the next batch.")
      .def_prop_ro("shared", &Loader::shared,
                   "True: other jobs get the same batches, which are decoded once (share = \"stream\"). It becomes "
                   "False where this job held the others back for too long, or left for another place.")
      .def_prop_ro("position", &Loader::position, "The (epoch, step) of the next batch.")
      .def_prop_ro(
          "epochs", [](const Loader& self) { return self.info().epochs; },
          "The number of epochs in the pipeline. 0 means that it is endless.")
      .def_prop_ro("info", &Loader::info, nb::rv_policy::copy)
      .def_prop_ro("framework", &Loader::framework,
                   "The framework of the arrays: \"torch\", \"numpy\", \"jax\", \"cupy\" or \"raw\".")
      .def("close", &Loader::close,
           "Gives the rank back to the daemon, so that another loader can take it. Batches in use stay valid until "
           "they are dropped.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__", [](Loader& self, nb::handle, nb::handle, nb::handle) { self.close(); }, "type"_a = nb::none(),
          "value"_a = nb::none(), "traceback"_a = nb::none())
      .def("__repr__", [](const Loader& self) { return "<spdld.Loader " + self.describe() + ">"; })
      .attr("__module__") = "spdld";
}

}  // namespace spdld::python
