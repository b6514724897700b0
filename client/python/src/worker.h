// A worker's loop: it takes tasks from the daemon, calls the user's functions on them, and replies. One thread, with
// the GIL but for its sleep.
//
// A function that takes a bunch of samples is called with all samples that are at hand. Where its call fails, the
// daemon is asked to call each of them alone. Functions with several calls under way at once need an event loop: it has
// turn() called in place of run(), and begins and ends their calls.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/python/src/randomness.h"
#include "client/python/src/record.h"
#include "client/src/crew/worker_seat.h"

namespace spdld::python {

// Ends this process where a function has forked it and it has come back from the function.
void end_if_forked();

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
  size_t bunch = 0;                  // the most samples of a call, which is of one operation; 0: it takes one by itself
  nanobind::object split = {};       // of a bunch: makes a list of what a call gave for so many samples, or raises
  uint32_t in_flight = 0;            // the most calls under way at once; 0: one ends before the next one begins
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

  // For an event loop. `launch`: called with a call's number, the place of its errand, the value and the key of the
  // sample, and begins the call.
  void fly_with(nanobind::object launch) { launch_ = std::move(launch); }
  int bell() const { return seat_.bell(); }
  // Serves tasks, but of calls that keep everything else waiting one at the most. True: there may be more; None: there
  // is nothing until the bell can be read or a call has ended; a text: the end, as run() tells it.
  nanobind::object turn();
  // The end of a call that was begun by `launch`: what the operation at this place gave as the last one that was
  // called, or its exception.
  void land(uint64_t number, nanobind::object value, int operation);
  void fail(uint64_t number, const nanobind::object& error, int operation);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kTooMany = "it says that there are more tasks than a worker can have";
  struct Flight {
    proto::crew::Task task;
    Clock::time_point start;
  };
  // A result that waits for room in the scratch memory.
  struct Held {
    Py_buffer view;
    proto::crew::Reply reply;
  };
  proto::crew::Taken next(proto::crew::Task& task);
  bool may_serve(const proto::crew::Task& task) const;
  bool wait_with(const proto::crew::Task& task);
  bool flies(const proto::crew::Task& task) const;
  const char* serve(const proto::crew::Task& task);  // what the daemon did wrong, or nullptr
  const char* fault_of(const proto::crew::Task& task) const;
  // Whether the slot that it names could not be mapped, which the daemon is told.
  bool lacks_slot(const proto::crew::Task& task);
  // Where the result is to lie; null: not there.
  uint8_t* room_of(const proto::crew::Task& task) const;
  // Where the value of a record is to lie in the task's slot. Null: in the record. None: not there.
  std::optional<uint8_t*> place_of(const proto::crew::Task& task, size_t field) const;
  bool are_places_there(const proto::crew::Task& task) const;
  void begin(const proto::crew::Task& task);
  void end(uint64_t number);
  const char* give_room(const proto::crew::Task& task);

  // One sample by itself.
  void call(const proto::crew::Task& task);
  nanobind::object input_of(const proto::crew::Task& task, const uint8_t* memory);
  // Where an operation drops the sample: spdld.DROP, and `at` is that operation's place.
  nanobind::object run_operations(const proto::crew::Task& task, nanobind::object value, int& at,
                                  proto::crew::Reply& reply);
  void launch(const proto::crew::Task& task);
  proto::crew::Task landed(uint64_t number, proto::crew::Reply& reply);

  // The samples of bunch_ in one call.
  const char* call_bunch(const proto::crew::Task& first);
  const char* gather(const proto::crew::Task& first);
  nanobind::object copied(const UserErrand& errand, std::span<const proto::crew::Task> tasks, bool is_stacked) const;
  nanobind::object values_of_bunch(const UserErrand& errand) const;
  nanobind::object run_on_bunch(const UserErrand& errand, const nanobind::object& values);
  void give_bunch(const UserErrand& errand, const nanobind::object& value, uint64_t call_ns);
  bool give_stacked(const UserErrand& errand, const nanobind::object& value, uint64_t call_ns);
  void give_part(const proto::crew::Task& task, const Py_buffer& part, size_t number, uint64_t call_ns);

  // Replies that are prepared, and not published. A value that give() throws for has no reply.
  void give(const proto::crew::Task& task, nanobind::object value, proto::crew::Reply reply);
  void deliver(const proto::crew::Task& task, Py_buffer view, const nanobind::object& value, proto::crew::Reply reply);
  void deliver_record(const proto::crew::Task& task, const nanobind::object& item, proto::crew::Reply reply);
  void leave_out(const proto::crew::Task& task, int operation, proto::crew::Reply reply);
  void refuse(const proto::crew::Task& task, const nanobind::python_error& error, int operation,
              proto::crew::Reply reply);
  void hold(Py_buffer view, const nanobind::object& value, const proto::crew::Reply& reply);
  std::string text_of(const nanobind::python_error& error, const proto::crew::Task& task, int operation) const;
  std::string text_of(nanobind::handle error, const nanobind::object& traceback, const proto::crew::Task& task,
                      int operation) const;

  const std::vector<UserErrand> errands_;
  const nanobind::object told_, ndarray_, randomness_object_;
  Randomness& randomness_;
  const nanobind::object rng_name_;  // ("rng",)
  const nanobind::object drop_;      // spdld.DROP
  client::WorkerSeat seat_;
  std::vector<uint8_t*> places_;  // of the values of a record, by field; null: in the record
  nanobind::object scratch_;      // a memoryview
  std::unordered_map<uint64_t, Held> held_;
  std::deque<proto::crew::Task> waiting_;  // that were taken, and could not be served yet
  std::vector<proto::crew::Task> bunch_;   // of the call that runs
  uint64_t alone_ = 0;                     // the call beside which no other one may begin; 0: there is none
  nanobind::object launch_;
  std::unordered_map<uint64_t, Flight> flights_;
};

}  // namespace spdld::python
