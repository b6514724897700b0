// The crew's connection to the daemon, for spdld._crew.
#include "client/src/crew/crew_link.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>

#include "client/python/src/crew.h"
#include "client/python/src/errors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

using client::CrewEvent;
using client::CrewEventKind;
using client::CrewLink;

std::unique_ptr<CrewLink> join(const std::string& socket, const std::string& token, int64_t timeout_ms) {
  auto link = std::make_unique<CrewLink>();
  client::CallOutcome outcome;
  {
    const nb::gil_scoped_release released;
    outcome = link->join(socket, token, client::Deadline::after_ms(timeout_ms));
  }
  if (!outcome.ok()) raise(outcome.result, outcome.text);
  return link;
}

// A tuple that begins with the event's name; its descriptors are the caller's to close. None: there is no event now.
nb::object take(CrewLink& link) {
  CrewEvent event = link.take();
  const auto fd = [&event](size_t at) { return event.fds.at(at).release(); };
  switch (event.kind) {
    case CrewEventKind::kNone:
      break;
    case CrewEventKind::kJoined:
      return nb::make_tuple("joined", text_of(event.text), fd(0), event.scratch_bytes, event.memory_max);
    case CrewEventKind::kNotWanted:
      return nb::make_tuple("not wanted");
    case CrewEventKind::kStartWorker: {
      const int ring = fd(0), bell = fd(1);
      return nb::make_tuple("start", event.worker, ring, bell);
    }
    case CrewEventKind::kEndWorker:
      return nb::make_tuple("end worker", event.worker);
    case CrewEventKind::kEnd:
      return nb::make_tuple("end", text_of(event.text));
  }
  return nb::none();
}

}  // namespace

void bind_crew_link(nb::module_& module) {
  nb::class_<CrewLink>(module, "CrewLink")
      .def("fileno", &CrewLink::poll_fd)
      .def("take", &take)
      .def("tell_progress", &CrewLink::tell_progress, "what"_a, "done"_a, "total"_a)
      .def("tell_ready", &CrewLink::tell_ready)
      .def("tell_failed", &CrewLink::tell_failed, "sentence"_a)
      .def("tell_worker_ended", &CrewLink::tell_worker_ended, "worker"_a, "how"_a)
      .def("flush", &CrewLink::flush)
      .attr("__module__") = "spdld._spdld";
  module.def("join_crew", &join, "socket"_a, "token"_a, "timeout_ms"_a);
}

}  // namespace spdld::python
