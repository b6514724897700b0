// The recordings that users ask for by the topic `trace` (PROTOCOL.md, "JSON documents"): of one pipeline each, for
// some seconds. There is one at a time. Its notes stay until they have been taken, nobody has taken any for kKeptFor,
// or the process that began it has ended. Control thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/system/event_loop.h"
#include "daemon/base/trace.h"
#include "daemon/control/service.h"
#include "daemon/node/seats/seating.h"
#include "daemon/pipeline/pipeline.h"

namespace spdld::node {

class Recorder {
 public:
  static constexpr double kSecondsMin = 0.1, kSecondsMax = 60;
  static constexpr size_t kBytesMax = size_t{64} << 20;       // of all notes
  static constexpr size_t kLineBytesMax = size_t{256} << 10;  // of an answer, about: some 2 ms of the control thread
  static constexpr size_t kRingsMax = 256;                    // whose levels are recorded
  static constexpr auto kLevelsEvery = std::chrono::milliseconds(10);
  static constexpr auto kKeptFor = std::chrono::seconds(10);

  // Both outlive it.
  Recorder(EventLoop& loop, const Seating& seating, std::chrono::milliseconds kept_for = kKeptFor);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The open pipeline of this name, as far as the client may see it, or why there is none.
  using Find = std::function<Result<std::shared_ptr<pipeline::Pipeline>>(const std::string& name)>;
  // The answer to "NAME start SECONDS" or "NAME take NUMBER FROM".
  Result<std::string> query(const control::Client& client, std::string_view argument, const Find& find);
  // Called some times a second.
  static void tick();

 private:
  struct Present {
    Present(EventLoop& loop, UniqueFd pidfd) : process(loop, std::move(pidfd)) {}
    uint64_t number = 0;
    uid_t uid = 0;
    std::string name;  // of the pipeline
    std::weak_ptr<pipeline::Pipeline> pipeline;
    std::chrono::system_clock::time_point started;
    std::unique_ptr<trace::Recording> recording;
    std::vector<trace::NoteKind> kinds;
    std::vector<FeedKey> rings;  // by the number that notes have
    Watch process;               // that began it
  };

  Result<std::string> start(const control::Client& client, const std::string& name, double seconds, const Find& find);
  Result<std::string> take(const control::Client& client, const std::string& name, uint64_t number, uint64_t from);
  Status begin(const control::Client& client, const std::string& name,
               const std::shared_ptr<pipeline::Pipeline>& pipeline, double seconds);
  void wait_for_process();
  void note_levels();
  void note_slots(uint64_t subject, const FeedKey& key, const Feed& feed, uint64_t now_ns);
  void end();
  void drop();
  std::string part(const control::Client& client, uint64_t from);

  EventLoop& loop_;
  const Seating& seating_;
  const std::chrono::milliseconds kept_for_;
  uint64_t last_number_ = 0;
  Timer levels_, end_, kept_;
  std::optional<Present> present_;
};

}  // namespace spdld::node
