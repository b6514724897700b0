// A worker's loop: it takes tasks from the daemon, calls the user's functions on them, and replies. One thread, with
// the GIL but for its sleep.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/python/src/randomness.h"
#include "client/python/src/record.h"
#include "client/src/crew/worker_seat.h"

namespace spdld::python {

struct Operation {
  nanobind::object function;
  uint64_t salt = 0;
  bool takes_rng = false;
};

struct UserErrand {
  ValueKind takes, gives;
  std::vector<Operation> operations;
  nanobind::object fit;              // turns a result into an array or bytes as `gives` says, or raises
  std::unique_ptr<RecordForm> form;  // of a data set's items: the errand takes an index, and gives a record
};

class Worker {
 public:
  // `told`: called with an exception, its traceback, the places of the errand and of its operation (-1: the result
  // did not fit), and the item's index, for the text of a bad sample. `ndarray`: numpy's type.
  Worker(std::vector<UserErrand> errands, nanobind::object told, nanobind::object ndarray, nanobind::object randomness);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes the descriptors, but not `scratch`, which is only read.
  void sit_down(int ring, int bell, int scratch, uint64_t scratch_bytes);
  // Returns where the daemon broke the protocol, with the sentence.
  std::string run();

 private:
  // A result that waits for room in the scratch memory.
  struct Held {
    Py_buffer view;
    proto::crew::Reply reply;
  };
  const char* serve(const proto::crew::Task& task);  // what the daemon did wrong, or nullptr
  const char* call(const proto::crew::Task& task);
  const char* give_room(const proto::crew::Task& task);
  nanobind::object input_of(const proto::crew::Task& task, const uint8_t* memory);
  nanobind::object run_operations(const UserErrand& errand, uint64_t key, nanobind::object value, int& at);
  const char* deliver(const proto::crew::Task& task, Py_buffer view, const nanobind::object& value,
                      proto::crew::Reply reply);
  const char* deliver_record(const proto::crew::Task& task, const nanobind::object& item, proto::crew::Reply reply);
  void hold(Py_buffer view, const nanobind::object& value, const proto::crew::Reply& reply);
  std::string text_of(nanobind::python_error& error, const proto::crew::Task& task, int operation) const;

  const std::vector<UserErrand> errands_;
  const nanobind::object told_, ndarray_, randomness_object_;
  Randomness& randomness_;
  nanobind::object rng_name_;  // ("rng",)
  client::WorkerSeat seat_;
  nanobind::object scratch_;  // a memoryview
  std::unordered_map<uint64_t, Held> held_;
};

}  // namespace spdld::python
