#include "daemon/user/worker.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/user/shared_file.h"
#include "proto/text.h"

namespace spdld::user {
namespace {

namespace crew = proto::crew;

std::pair<UniqueFd, UniqueFd> make_bell() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse_descriptors("socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Worker::Worker(uint32_t number) : Worker(number, make_bell()) {}

Worker::Worker(uint32_t number, std::pair<UniqueFd, UniqueFd> bell)
    : number_(number),
      ring_file_(make_shared_file("spdld-worker", sizeof(crew::Ring))),
      bell_(std::move(bell.first)),
      bell_of_worker_(std::move(bell.second)),
      region_(map_shared_file(ring_file_.get(), sizeof(crew::Ring))),
      ring_(static_cast<crew::Ring*>(region_.get_address())),
      tasks_(ring_->tasks, bell_.get()),
      replies_(ring_->replies) {}

std::vector<UniqueFd> Worker::take_descriptors() {
  std::vector<UniqueFd> all;
  all.push_back(std::move(ring_file_));
  all.push_back(std::move(bell_of_worker_));
  return all;
}

bool Worker::hear_bell() {
  std::array<char, 64> rings;
  const ssize_t heard = recv(bell_.get(), rings.data(), rings.size(), MSG_DONTWAIT);
  if (heard > 0) rings_ += static_cast<uint64_t>(heard);
  return heard > 0 || (heard < 0 && (errno == EAGAIN || errno == EINTR));
}

void Worker::call(Call call, crew::Task task, uint64_t now_ns) {
  if (calls_.empty()) owes_since_ns_ = now_ns;
  call.number = task.number = ++last_number_;
  calls_.push_back(call);
  send(task);
}

crew::Taken Worker::take_reply(crew::Reply& reply, std::string& text) {
  const uint32_t place = replies_.place();
  const crew::Taken taken = replies_.take(reply);
  if (taken != crew::Taken::kEntry || reply.text_bytes == 0) return taken;
  const size_t bytes = std::min(reply.text_bytes, crew::kTextBytesMax);
  std::string copy(bytes, '\0');
  std::memcpy(copy.data(), ring_->texts[place], bytes);
  text = proto::shown(copy, true);
  return taken;
}

std::optional<Call> Worker::answered(const crew::Reply& reply, uint64_t now_ns) {
  const auto at = std::find_if(calls_.begin(), calls_.end(), [&](const Call& c) { return c.number == reply.number; });
  const bool asks = reply.kind == crew::ReplyKind::kNeedsRoom;
  if (at == calls_.end() || (asks && at->waits_for_room)) return {};
  owes_since_ns_ = now_ns;
  replied++;
  at->waits_for_room = asks;
  if (asks) return *at;
  std::optional<Call> call = *at;
  calls_.erase(at);
  return call;
}

// A call whose function has ended counts as well: its result is still to be written.
const Call* Worker::begun() const {
  const uint64_t number = ring_->begun.load(std::memory_order_acquire);
  const auto at = std::find_if(calls_.begin(), calls_.end(), [&](const Call& call) { return call.number == number; });
  return at == calls_.end() ? nullptr : &*at;
}

const Call* Worker::owed() const {
  if (const Call* const call = begun()) return call;
  return calls_.empty() ? nullptr : &calls_.front();
}

}  // namespace spdld::user
