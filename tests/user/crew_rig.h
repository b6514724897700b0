// A pipeline whose outputs have operations of user code, the node's crews on a control thread of their own, and a
// trainer that starts a crew of tests/support/crew_process.h where it is asked to.
#pragma once

#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/user/crews.h"
#include "tests/pipeline/rig.h"
#include "tests/support/crew_process.h"
#include "tests/support/soon.h"

namespace spdld::test {

inline config::OperationSpec python(const std::string& call, const std::string& gives) {
  return {"python", {{"call", call}, {"code", std::string()}, {"gives", gives}}, {}};
}

// Whose function takes bunches.
inline config::OperationSpec bunched(const std::string& call, const std::string& gives, int64_t most) {
  config::OperationSpec op = python(call, gives);
  op.parameters["batch"] = most;
  return op;
}

inline Made gives(const std::vector<int64_t>& numbers, std::vector<int64_t> shape) {
  Made made{.shape = std::move(shape)};
  made.bytes.resize(numbers.size() * sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(made.bytes.data(), numbers.data(), made.bytes.size());
  return made;
}
inline Made gives(const std::string& text) { return {.bytes = {text.begin(), text.end()}}; }
inline Made bad(std::string text) { return {.way = Made::Way::kBad, .text = std::move(text)}; }

// The operation with this place in its errand drops the sample.
inline Made drops(const proto::crew::Task& task, uint64_t place = 0) {
  Made made{.way = Made::Way::kSays};
  made.reply.number = task.number, made.reply.kind = proto::crew::ReplyKind::kDropped, made.reply.bytes = place;
  return made;
}

inline control::Client client_of(uid_t uid) {
  control::Client client;
  client.uid = uid;
  return client;
}

// The control thread.
class Controlled {
 public:
  Controlled() : thread_([this] { loop.run(); }) {}
  ~Controlled() {
    loop.stop();
    thread_.join();
  }
  // Runs it there, and waits for it.
  void run(const std::function<void()>& what) {
    std::promise<void> done;
    loop.post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }

  EventLoop loop;

 private:
  std::thread thread_;
};

class CrewRig final {
 public:
  struct Wishes {
    CrewFunction function;
    uint32_t workers = 2;
    bool is_ready = true;  // the process says so as soon as it has joined
    bool starts_crews = true;
    Bunches bunches = {};
  };

  CrewRig(Given given, Wishes wishes)
      : wishes_(std::move(wishes)),
        crews(std::make_unique<user::Crews>(control.loop, wishes_.workers)),
        rig(std::make_unique<Rig>(with_crews(std::move(given)))) {
    trainer_->rig = this;
    control.run([&] {
      attended = crews->attend(*rig->pipeline, client_of(getuid()), wishes_.starts_crews, trainer_);
      crews->set_in_use(*rig->pipeline, true);
    });
  }
  ~CrewRig() {
    rig->stream->stop();
    leave();
    rig.reset();
    control.run([] {});  // what the pipeline left to the control thread
    control.run([&] {
      seat.reset();
      process.reset();
      crews.reset();
    });
  }

  // The last trainer has gone.
  void leave() {
    control.run([&] {
      if (crews) crews->set_in_use(*rig->pipeline, false);
    });
  }
  void come() {
    control.run([&] {
      attended = crews->attend(*rig->pipeline, client_of(getuid()), true, trainer_);
      crews->set_in_use(*rig->pipeline, true);
    });
  }
  // The failure of its stream, where it comes soon. Samples that wait something out go on meanwhile.
  std::string failure() {
    std::string failure;
    static_cast<void>(soon([&] {
      rig->stream->tick();
      rig->wait([&] {
        failure = rig->failure;
        return true;
      });
      return !failure.empty();
    }));
    return failure;
  }
  // The process is gone, as after SIGKILL.
  void kill_process() {
    control.run([&] {
      if (!process) return;
      process->die();
      seat.reset();
    });
  }
  void be_ready() {
    control.run([&] { seat->ready(); });
  }
  void tick(uint64_t later_ns = 0) {
    control.run([&] { crews->tick(monotonic_ns() + later_ns); });
  }
  size_t started() {
    size_t count = 0;
    control.run([&] { count = process ? process->started : 0; });
    return count;
  }
  size_t joined() {
    size_t count = 0;
    control.run([&] { count = joins; });
    return count;
  }
  const pipeline::Stage& stage() const { return *rig->pipeline->stages().at(2); }

 private:
  class Trainer final : public control::AttachReply {
   public:
    void preparing(std::string_view, uint64_t, uint64_t) override {}
    void attached(std::unique_ptr<control::Attachment>, const control::AttachedInfo&) override {}
    void refused(const Error&) override {}
    delivery::Reader& reader() override { std::abort(); }
    void failed(const Error&) override {}
    void seek_refused(uint32_t, const Error&) override {}
    bool client_gone() const override { return false; }
    void want_crew(std::string_view token) override { rig->start_process(std::string(token)); }
    CrewRig* rig = nullptr;
  };

  Given with_crews(Given given) {
    given.delegates = {
        {std::string(config::kUserExecutor), [this, make = crews->maker()](const pipeline::Pipeline& one) {
           auto delegate = make(one);
           scratch = static_cast<user::ScratchFile*>(&delegate->scratch());
           return delegate;
         }}};
    return given;
  }
  // Not within the call: a process takes its time.
  void start_process(const std::string& token) {
    tokens.push_back(token);
    if (!starts) return;
    control.loop.post([this, token] {
      seat.reset();
      process = std::make_shared<CrewProcess>(
          wishes_.function,
          [this](uint32_t worker) {
            control.loop.post([this, worker] {
              if (seat) seat->worker_ended(worker, "was ended by signal 11");
            });
          },
          wishes_.bunches);
      auto joined = crews->join(client_of(getuid()), token, process);
      if (!joined) {
        refusal = joined.error().message;
        return;
      }
      joins++;
      seat = std::move(*joined);
      if (wishes_.is_ready) seat->ready();
    });
  }

 public:
  // Control thread.
  std::shared_ptr<CrewProcess> process;
  std::unique_ptr<control::CrewSeat> seat;
  std::vector<std::string> tokens;
  std::string refusal;
  Status attended = Done{};
  size_t joins = 0;
  user::ScratchFile* scratch = nullptr;  // the crew's
  bool starts = true;

 private:
  const Wishes wishes_;
  std::shared_ptr<Trainer> trainer_ = std::make_shared<Trainer>();

 public:
  Controlled control;
  std::unique_ptr<user::Crews> crews;
  std::unique_ptr<Rig> rig;
};

}  // namespace spdld::test
