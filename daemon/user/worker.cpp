#include "daemon/user/worker.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/user/shared_file.h"
#include "proto/seqpacket.h"
#include "proto/text.h"

namespace spdld::user {
namespace {

namespace crew = proto::crew;

// With a ring of the bell. False: the bell has no room for it now, or the system none.
bool send_descriptor(int bell, int fd) {
  constexpr uint8_t kRing = 1;
  return proto::send_message(bell, {&kRing, 1}, {&fd, 1}) == proto::IoStatus::kOk;
}

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
  flying_ += call.flies ? 1 : 0;
  call.written = tasks_.written() + 1;
  calls_.push_back(call);
  tasks_.write(task);
  is_untold_ = true;
}

Call Worker::take_out(const std::deque<Call>::iterator& call) {
  Call taken = *call;
  flying_ -= taken.flies ? 1 : 0;
  calls_.erase(call);
  return taken;
}

// The descriptor comes before the task that names it. Where the bell takes none, the worker does without the slot for
// now.
bool Worker::has_slot(const LentSlot& slot) {
  if (const auto at = slots_.find(slot.number); at != slots_.end()) return at->second;
  if (!may_tell_of_slots() || !send_descriptor(bell_.get(), slot.fd)) return false;
  slots_[slot.number] = true;
  tell_of_slot(crew::TaskKind::kSlot, slot.number, slot.bytes);
  return true;
}

void Worker::take_slot(uint32_t slot) {
  const auto at = slots_.find(slot);
  if (at == slots_.end()) return;
  if (at->second) going_.push_back(slot);
  slots_.erase(at);
  tell_of_going();
}

void Worker::tell_of_going() {
  for (; !going_.empty() && may_tell_of_slots(); going_.pop_front())
    tell_of_slot(crew::TaskKind::kSlotGone, going_.front(), 0);
}

void Worker::tell_of_slot(crew::TaskKind kind, uint32_t slot, uint64_t bytes) {
  crew::Task task{};
  task.kind = kind;
  task.slot = slot;
  task.room.bytes = bytes;
  send(task);
  slot_tasks_.push_back(tasks_.written());
}

// A worker reads its tasks in their order.
void Worker::note_read(uint64_t written) {
  while (!slot_tasks_.empty() && slot_tasks_.front() < written) slot_tasks_.pop_front();
  tell_of_going();
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
  const bool asks = reply.kind == crew::ReplyKind::kNeedsRoom, is_again = reply.kind == crew::ReplyKind::kAgain;
  const bool lacks_slot = reply.kind == crew::ReplyKind::kNoSlot;
  if (at == calls_.end() || ((asks || is_again || lacks_slot) && at->waits_for_room)) return {};
  if (lacks_slot && at->slot == 0) return {};
  if (is_again && !at->may_be_bunched) return {};
  owes_since_ns_ = now_ns;
  replied += lacks_slot ? 0 : 1;
  note_read(at->written);
  at->waits_for_room = asks;
  if (asks) return *at;
  return take_out(at);
}

uint32_t Worker::in_flight_of(const Call& call) const {
  const uint64_t word = word_of(call);
  if (crew::begun_number(word) != call.number) return 0;
  return std::min(crew::begun_in_flight(word), crew::kInFlightMax);
}

uint64_t Worker::look(uint64_t now_ns) {
  uint64_t oldest = 0;
  for (Call& call : calls_) {
    if (call.waits_for_room || in_flight_of(call) == 0) continue;
    if (call.begun_ns == 0) call.begun_ns = now_ns;
    if (oldest == 0 || call.begun_ns < oldest) oldest = call.begun_ns;
  }
  return oldest;
}

}  // namespace spdld::user
