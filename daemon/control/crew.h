// The interface through which the control room uses what stands behind crews: the processes of a user that run the
// user's own code for a pipeline (PROTOCOL.md, "Crews"). Control thread only; nothing here blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/unique_fd.h"

namespace spdld::control {

// The content of CREW_JOINED.
struct CrewWork {
  std::string errands;  // a JSON document; empty: no crew is wanted any more
  int scratch_fd = -1;  // borrowed
  uint64_t scratch_bytes = 0;
  uint64_t memory_max = 0;  // of a worker; 0: no limit
};

// The way to a crew's process. Once its session has ended, it drops what it is given.
class CrewReply {
 public:
  virtual ~CrewReply() = default;
  virtual void joined(const CrewWork& work) = 0;
  virtual void start_worker(uint32_t worker, std::vector<UniqueFd> descriptors) = 0;
  virtual void end_worker(uint32_t worker) = 0;
  // Ends the session, and the crew with it.
  virtual void end(std::string_view why) = 0;
};

// The news of a crew's process. It ends with the process's session: then the crew is gone. Texts are not trusted.
class CrewSeat {
 public:
  virtual ~CrewSeat() = default;
  virtual void progress(std::string_view what, uint32_t done, uint32_t total) = 0;
  virtual void ready() = 0;
  virtual void failed(std::string_view why) = 0;
  virtual void worker_ended(uint32_t worker, std::string_view how) = 0;
};

}  // namespace spdld::control
