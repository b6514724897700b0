// Plug-ins in C (spdld_plugin.h) for the processes of a crew: loaded and bound in the process that forks the workers,
// called in the workers as functions of the user's own are. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "client/python/src/randomness.h"
#include "client/src/crew/plugin_work.h"

namespace spdld::python {

// The objects of Python that a step of an errand needs.
struct PluginSurroundings {
  nanobind::object ndarray, zeros;  // numpy's, or None without arrays
  nanobind::object taken_dtype;     // of an array that needs no look by `fit`; None: each needs one
  nanobind::object made_dtype;      // of the array that holds a result
  nanobind::object shown_dtype;     // as which the next function sees that array; None: the same
  nanobind::object fit;             // turns a value into an array or bytes as the operation takes it, or raises
  nanobind::object bad;             // the exception of a bad sample
};

// An operation of a plug-in in a worker. One thread.
class PluginStep {
 public:
  PluginStep(std::unique_ptr<client::PluginWork> work, client::PluginValue takes, client::PluginValue gives,
             std::string who, PluginSurroundings python, nanobind::object randomness);

  // The array or the bytes that the operation gives; throws `bad` with a sentence.
  nanobind::object run(nanobind::object value);

 private:
  class Rooms;
  bool is_as_taken(const nanobind::object& value, Py_buffer& view) const;

  const std::unique_ptr<client::PluginWork> work_;
  const client::PluginValue takes_, gives_;
  const std::string who_;
  const PluginSurroundings python_;
  const nanobind::object randomness_object_;
  const Randomness& randomness_;
  const nanobind::object drop_;  // spdld.DROP
};

}  // namespace spdld::python
