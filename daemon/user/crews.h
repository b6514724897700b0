// The crews of the node: which pipelines have one, who starts it, and the session of its process. A pipeline whose
// chains have operations of user code gets a crew with its first trainer, which starts the process; the crew ends with
// the last trainer.
//
//   CREW_WANTED to a trainer -> JOIN_CREW with its token, of the same user -> CREW_READY -> workers are started
//
// Control thread, unless a function says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/control/service.h"
#include "daemon/pipeline/delegate.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/user/door.h"

namespace spdld::user {

class Crews {
 public:
  // `workers`: of a crew whose pipeline does not say how many. The loop is borrowed.
  Crews(EventLoop& loop, uint32_t workers);
  ~Crews();
  Crews(const Crews&) = delete;
  Crews& operator=(const Crews&) = delete;

  // Makes delegates of pipelines, on any thread. They may outlive this object.
  pipeline::DelegateMaker maker() const;
  // A client is about to get a seat of the pipeline. An error: the pipeline needs a crew that the client can't have.
  Status attend(const pipeline::Pipeline& pipeline, const control::Client& client, bool starts_crews,
                const std::shared_ptr<control::AttachReply>& reply);
  // Trainers of the pipeline have come, or the last one has gone.
  void set_in_use(const pipeline::Pipeline& pipeline, bool in_use);
  Result<std::unique_ptr<control::CrewSeat>> join(const control::Client& client, std::string_view token,
                                                  const std::shared_ptr<control::CrewReply>& process);
  // Called some times a second.
  void tick(uint64_t now_ns);

 private:
  class Book;
  class Own;  // the delegate

  const std::shared_ptr<ToControl> control_;
  const std::shared_ptr<Book> book_;
  const uint32_t workers_;
};

}  // namespace spdld::user
