// The extension module spdld._spdld. The client library is linked into it, and it uses only the C ABI of that library.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <spdld.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/python/src/crew.h"
#include "client/python/src/errors.h"
#include "client/python/src/loader.h"
#include "client/python/src/progress.h"
#include "client/python/src/randomness.h"
#include "proto/fingerprint.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

using Text = std::optional<std::string>;

const char* pointer_to(const Text& text) { return text ? text->c_str() : nullptr; }

// In the client library 0 stands for the default, and a negative number for "not at all".
int64_t wait_ms(const char* name, std::optional<double> wait_s) {
  if (!wait_s) return 0;
  if (!(*wait_s >= 0)) raise(SPDLD_INVALID, std::string(name) + " must be a number of seconds, at least 0, or None");
  if (*wait_s == 0) return -1;
  return std::max<int64_t>(1, std::llround(std::min(*wait_s, 2 * kEndless_s) * 1000));
}

std::unique_ptr<Loader> make_loader(
    const Text& pipeline, const Text& spec, const Text& spec_folder, uint32_t rank, uint32_t world_size,
    uint32_t local_rank, const Text& group, const Text& socket, uint64_t epoch, uint64_t step, const Text& fingerprint,
    const Text& state, uint32_t held_max, std::optional<double> timeout_s, std::optional<double> reconnect_s,
    std::optional<double> held_wait_s, uint32_t reader, uint32_t readers, bool may_start, const Text& device,
    const Text& transport, bool experimental_ready_early, const Text& join, uint64_t batch_size, uint32_t replay,
    bool looks, const std::vector<std::string>& crew, const nb::bytes& crew_input, std::string framework,
    const nb::object& converter, const nb::object& progress, nb::object origin) {
  spdld::AttachOptions options;
  options.socket = pointer_to(socket);
  options.pipeline = pointer_to(pipeline);
  options.spec = pointer_to(spec);
  options.spec_is_json = 1;
  options.spec_folder = pointer_to(spec_folder);
  options.group = pointer_to(group);
  options.rank = rank;
  options.world_size = world_size;
  options.local_rank = local_rank;
  options.reader = reader;
  options.readers = readers;
  options.epoch = epoch;
  options.step = step;
  options.fingerprint = pointer_to(fingerprint);
  options.state = pointer_to(state);
  options.held_max = held_max;
  options.reconnect_ms = wait_ms("reconnect", reconnect_s);
  options.held_wait_ms = wait_ms("held_wait", held_wait_s);
  options.no_private_daemon = may_start ? 0 : 1;
  options.client_name = "python";
  options.device = pointer_to(device);
  options.transport = pointer_to(transport);
  options.experimental_ready_early = experimental_ready_early ? 1 : 0;
  options.join = pointer_to(join);
  options.batch_size = batch_size;
  options.replay = replay;
  options.looks = looks ? 1 : 0;
  std::vector<const char*> command;
  for (const std::string& text : crew) command.push_back(text.c_str());
  command.push_back(nullptr);
  if (!crew.empty()) {
    options.crew = command.data();
    options.crew_input = crew_input.c_str();
    options.crew_input_bytes = crew_input.size();
  }
  auto loader = std::make_unique<Loader>(options, timeout_s, std::move(framework), progress, converter);
  loader->set_origin(std::move(origin));
  return loader;
}

nb::str ask(const std::string& topic, const Text& argument, const Text& socket, double timeout_s) {
  const int64_t timeout_ms = Patience(timeout_s).left_ms();
  char* json = nullptr;
  spdld_result result = SPDLD_OK;
  std::string sentence;
  {
    const nb::gil_scoped_release released;
    result = spdld_query(pointer_to(socket), topic.c_str(), pointer_to(argument), timeout_ms, &json);
    if (result != SPDLD_OK) sentence = spdld_last_error();
  }
  const std::unique_ptr<char, void (*)(char*)> held(json, [](char* text) { spdld_free(text); });
  if (result == SPDLD_INTERRUPTED) check_signals();
  if (result != SPDLD_OK) raise(result, sentence);
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(json, static_cast<Py_ssize_t>(std::strlen(json)), "replace"));
  if (!text.is_valid()) throw nb::python_error();
  return nb::borrow<nb::str>(text);
}

}  // namespace

}  // namespace spdld::python

NB_MODULE(_spdld, module) {
  using namespace spdld::python;  // NOLINT: names of this module alone
  // Tensors may live on in other libraries until the interpreter has ended. This is not a leak.
  nb::set_leak_warnings(false);
  bind_tensor(module);
  bind_batch(module);
  bind_loader(module);
  bind_progress(module);
  bind_randomness(module);
  bind_crew_link(module);
  bind_plugin(module);
  bind_worker(module);
  module.def("attach", &make_loader, nb::kw_only(), "pipeline"_a.none(), "spec"_a.none(), "spec_folder"_a.none(),
             "rank"_a, "world_size"_a, "local_rank"_a, "group"_a.none(), "socket"_a.none(), "epoch"_a, "step"_a,
             "fingerprint"_a.none(), "state"_a.none(), "held_max"_a, "timeout"_a.none(), "reconnect"_a.none(),
             "held_wait"_a.none(), "reader"_a, "readers"_a, "private"_a, "device"_a.none(), "transport"_a.none(),
             "experimental_ready_early"_a, "join"_a.none(), "batch_size"_a, "replay"_a, "looks"_a, "crew"_a,
             "crew_input"_a, "framework"_a, "converter"_a, "progress"_a.none(), "origin"_a.none());
  module.def("query", &ask, "topic"_a, "argument"_a.none(), "socket"_a.none(), "timeout"_a);
  // Returns a clause such as "the pipeline's spec differs", or none where one of the two is not a fingerprint.
  module.def(
      "fingerprint_difference",
      [](const std::string& mine, const std::string& other) {
        const auto found = spdld::proto::fingerprint_difference(mine, other);
        return found ? std::optional(found->clause()) : std::nullopt;
      },
      "mine"_a, "other"_a);
  module.def("version", [] { return spdld_version(); });
}
