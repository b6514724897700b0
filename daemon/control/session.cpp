#include "daemon/control/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/control/commands.h"
#include "daemon/control/session_reply.h"
#include "daemon/control/texts.h"

namespace spdld::control {
namespace {

constexpr int kMessagesAtOnce = 64;  // of one client before others have their turn
constexpr auto kPauseForReceived = std::chrono::milliseconds(10);

std::vector<delivery::LeaseId> leases_of(const flatbuffers::Vector<const proto::LeaseId*>& told) {
  std::vector<delivery::LeaseId> leases;
  for (const proto::LeaseId* lease : told) leases.push_back({lease->slot(), lease->generation()});
  return leases;
}

}  // namespace

Session::Session(EventLoop& loop, UniqueFd socket, uint64_t id, Service& service,
                 std::shared_ptr<Surroundings> surroundings, std::function<void()> ended)
    : loop_(loop),
      socket_(loop, std::move(socket)),
      service_(service),
      surroundings_(std::move(surroundings)),
      ended_(std::move(ended)),
      outbox_(socket_.fd()),
      started_ns_(monotonic_ns()),
      hello_timer_(loop),
      pause_(loop),
      process_(loop) {
  const auto peer = proto::peer_credentials(socket_.fd());
  client_.session = id;
  client_.pid = peer.pid;
  client_.uid = peer.uid;
  client_.gid = peer.gid;
  client_.groups = proto::peer_groups(socket_.fd());
}

Session::~Session() { close_socket(); }

double Session::age_s() const { return seconds(monotonic_ns() - started_ns_); }

void Session::start() {
  hello_timer_.start(kHelloTimeout, [self = shared_from_this()] {
    if (self->state_ == State::kNew) self->end("it sent no HELLO in time");
  });
  wait_readable();
}

void Session::end(std::string_view why) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  log::debug("session {} ({}, pid {}, uid {}) ends: {}{}", client_.session, client_.name, client_.pid, client_.uid, why,
             bad_messages_ ? "; bad messages: " + std::to_string(bad_messages_) : "");
  // Not now: this may be called from within one of the attachments that go with it.
  loop_.post([self = shared_from_this()] {
    const uint64_t begin_ns = monotonic_ns();
    self->attachments_.clear();
    self->crew_.reset();
    self->pending_.clear();
    self->hello_timer_.cancel();
    self->pause_.cancel();
    self->process_.close();
    self->close_socket();
    self->surroundings_->users.note_time(self->client_.uid, monotonic_ns() - begin_ns);
    if (self->ended_) std::exchange(self->ended_, nullptr)();
  });
}

// Unread messages go with the socket, and so do their descriptors, whose closing may block.
void Session::close_socket() {
  if (!socket_.is_open()) return;
  shutdown(socket_.fd(), SHUT_RDWR);  // the client hears of the end at once, whenever the socket is closed
  surroundings_->closer.close(client_.uid, Closer::DescriptorClass::kSocket, socket_.take());
}

void Session::close_received() {
  for (UniqueFd& fd : received_.fds)
    surroundings_->closer.close(client_.uid, Closer::DescriptorClass::kReceived, std::move(fd));
  received_.fds.clear();
}

void Session::end_if_silent(std::chrono::milliseconds limit) {
  if (state_ != State::kGreeted) return;
  const auto silent_ms = static_cast<int64_t>((monotonic_ns() - heard_ns_) / 1'000'000);
  const bool holds = std::any_of(attachments_.begin(), attachments_.end(),
                                 [](const auto& held) { return held.second.attachment->holds_leases(); });
  pollfd unread{socket_.fd(), POLLIN, 0};  // the daemon may have been stopped itself, or made this client wait
  if (silent_ms <= limit.count() || !holds || poll(&unread, 1, 0) > 0) return;
  log::warn("session {} ({}, pid {}, uid {}) holds batches and has sent nothing for {} ms: it ends", client_.session,
            client_.name, client_.pid, client_.uid, silent_ms);
  send_error(0, {Trouble::kLimit, "this client held batches and sent nothing for longer than " +
                                      std::to_string(limit.count()) + " ms (limits.silent_ms_max)"});
  end("it was silent while it held batches");
}

bool Session::client_gone() const {
  if (state_ == State::kEnded) return true;
  pollfd watched{socket_.fd(), POLLRDHUP, 0};
  if (poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR))) return true;
  return process_.is_open() && proto::process_has_ended(process_.fd());
}

void Session::say_goodbye(std::string_view message) {
  if (state_ != State::kGreeted) return end("the daemon stops");
  builder_.Clear();
  const auto text = builder_.CreateString(message);
  send(proto::finish(builder_, proto::Body::Goodbye, proto::CreateGoodbye(builder_, text)));
  end("the daemon stops");
}

void Session::wait_readable() {
  if (reading_) return;
  reading_ = true;
  socket_.when_readable([self = shared_from_this()] {
    self->reading_ = false;
    if (self->state_ == State::kEnded) return;
    try {
      self->on_readable();
    } catch (const std::bad_alloc&) {
      self->end("spdld is short of memory");
    }
  });
}

std::chrono::milliseconds Session::time_to_wait() const {
  if (surroundings_->closer.full(client_.uid, Closer::DescriptorClass::kReceived)) return kPauseForReceived;
  return surroundings_->users.wait(client_.uid, asked_);
}

// Messages stay unread in the socket meanwhile.
void Session::pause(std::chrono::milliseconds time) {
  pause_.start(time, [self = weak_from_this()] {
    if (const auto session = self.lock(); session && session->state_ != State::kEnded) session->wait_readable();
  });
}

void Session::wait_writable() {
  if (writing_) return;
  writing_ = true;
  socket_.when_writable([self = shared_from_this()] {
    self->writing_ = false;
    if (self->state_ == State::kEnded) return;
    if (!self->outbox_.flush()) return self->leave("its socket is gone");
    if (!self->outbox_.empty()) return self->wait_writable();
    self->wait_readable();
  });
}

void Session::on_readable() {
  for (int i = 0; i < kMessagesAtOnce && outbox_.empty(); i++) {
    if (const auto time = time_to_wait(); time.count() > 0) return pause(time);
    const Read read = read_message();
    if (read == Read::kOver) return end("its socket was closed");
    if (read == Read::kNothing) break;
    if (state_ == State::kEnded) return;
  }
  // A client that does not read its answers is not read from: wait_writable() reads on.
  if (outbox_.empty()) wait_readable();
}

Session::Read Session::read_message() {
  const auto status = proto::receive_message(socket_.fd(), received_);
  if (status == proto::IoStatus::kWouldBlock) return Read::kNothing;
  if (status == proto::IoStatus::kTooLarge)
    refuse_message(proto::ErrorCode::malformed, "a message of more than 64 KiB or 253 descriptors was dropped");
  if (status == proto::IoStatus::kTooLarge && !received_.fds.empty()) end("its message carried descriptors");
  heard_ns_ = monotonic_ns();
  asked_ = false;
  if (status == proto::IoStatus::kOk) take_message(received_);
  close_received();
  surroundings_->users.note_time(client_.uid, monotonic_ns() - heard_ns_);
  const bool over = status == proto::IoStatus::kClosed || status == proto::IoStatus::kFailed;
  return over ? Read::kOver : Read::kMessage;
}

bool Session::carries_too_much(const proto::Message* message) const {
  const proto::Attach* attach = message ? message->body_as_Attach() : nullptr;
  const bool calls_for_one = (message && message->body_as_Hello()) || (attach && attach->spec_in_fd());
  return received_.fds.size() > (calls_for_one ? 1 : 0);
}

void Session::take_message(const proto::Received& received) {
  const proto::Message* message = proto::parse(received.bytes);
  if (carries_too_much(message)) {
    refuse_message(proto::ErrorCode::malformed,
                   "this message carries " + std::to_string(received.fds.size()) +
                       " descriptors: HELLO carries one, ATTACH one if the spec is in it, and other messages none");
    return end("its message carried descriptors that it does not call for");
  }
  if (!message) return refuse_message(proto::ErrorCode::malformed, "this is no message of spdld's control protocol");
  const Command* command = Command::find(message->body_type());
  if (!command)
    return refuse_message(proto::ErrorCode::unexpected,
                          std::string(proto::EnumNameBody(message->body_type())) + " is not for clients to send");
  if (command->needs_hello != (state_ == State::kGreeted))
    return refuse_message(proto::ErrorCode::unexpected,
                          state_ == State::kNew ? "the first message must be HELLO" : "HELLO was sent already");
  try {
    (this->*command->handle)(*message);
  } catch (const std::bad_alloc&) {
    note_short_memory(*message);
  }
}

// A query changes nothing, and an ATTACH is taken back; both may come again. After half of another message nobody knows
// where the client and the daemon stand, so the session ends, and the client attaches anew.
void Session::note_short_memory(const proto::Message& message) {
  const Error error{Trouble::kMemory, "spdld is short of memory: ask again later"};
  if (const proto::Query* query = message.body_as_Query()) return send_error(query->request(), error);
  if (const proto::Attach* attach = message.body_as_Attach()) {
    const auto at = pending_.find(attach->request());
    if (const auto reply = at == pending_.end() ? nullptr : at->second.lock()) return reply->refused(error);
    return send_error(attach->request(), error);
  }
  send_error(0, error);
  end("spdld is short of memory");
}

void Session::send(std::span<const uint8_t> bytes, std::span<const int> fds) {
  if (state_ == State::kEnded || gone_) return;
  if (!outbox_.send(bytes, fds)) return leave("it is gone, or does not read what it is sent");
  if (!outbox_.empty()) wait_writable();
}

void Session::send_error(uint32_t request, const Error& error) { send_error(request, error, code_of(error.trouble)); }

void Session::send_error(uint32_t request, const Error& error, proto::ErrorCode code) {
  builder_.Clear();
  const auto text = builder_.CreateString(error.message.substr(0, proto::kMessageBytesMax / 2));
  send(proto::finish(builder_, proto::Body::ErrorReply, proto::CreateErrorReply(builder_, request, code, text)));
}

void Session::refuse_message(proto::ErrorCode code, const std::string& message, uint32_t request) {
  if (++bad_messages_ <= kBadMessagesLogged && surroundings_->users.may_log(client_.uid))
    log::warn("session {} (pid {}, uid {}): bad message: {}", client_.session, client_.pid, client_.uid, message);
  send_error(request, {Trouble::kUsage, message}, code);
}

void Session::on_hello(const proto::Message& message) {
  const auto& hello = *message.body_as_Hello();
  if (hello.version_max() < proto::kVersionMin || hello.version_min() > proto::kVersionMax) {
    refuse_message(proto::ErrorCode::version,
                   "this spdld speaks protocol version " + std::to_string(proto::kVersionMin) + " to " +
                       std::to_string(proto::kVersionMax) + ", the client " + std::to_string(hello.version_min()) +
                       " to " + std::to_string(hello.version_max()) +
                       ": install a client and a daemon of the same release");
    return;
  }
  if (received_.fds.size() != 1 || !proto::is_pidfd(received_.fds.front().get()))
    return refuse_message(proto::ErrorCode::malformed, "HELLO needs one descriptor: a pidfd of the client's process");
  if (const std::string fault = text_fault(hello); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault);
  client_.name = proto::text_of(hello.client());
  watch_process(std::move(received_.fds.front()));
  hello_timer_.cancel();
  state_ = State::kGreeted;

  builder_.Clear();
  const auto daemon = builder_.CreateString("spdld " SPDLD_VERSION);
  const auto daemon_id = builder_.CreateString(service_.daemon_id());
  const uint16_t version = std::min(hello.version_max(), proto::kVersionMax);
  send(proto::finish(builder_, proto::Body::Welcome,
                     proto::CreateWelcome(builder_, version, daemon, daemon_id, getpid())));
}

void Session::watch_process(UniqueFd pidfd) {
  // A second one for the node, which may have to watch the process for longer than this session lasts.
  client_.process = std::make_shared<const UniqueFd>(fcntl(pidfd.get(), F_DUPFD_CLOEXEC, 0));
  process_.assign(std::move(pidfd));
  wait_for_process();
}

void Session::wait_for_process() {
  process_.when_readable([self = shared_from_this()] {
    if (self->state_ == State::kEnded) return;
    if (proto::process_has_ended(self->process_.fd()))
      self->leave("its process has ended");
    else
      self->wait_for_process();
  });
}

// The client has gone, and nobody hears answers any more. Not now: this may be called from within a ring that sends.
void Session::leave(const char* why) {
  if (state_ == State::kEnded) return;
  gone_ = true;
  loop_.post([self = shared_from_this(), why] {
    self->take_last_messages();
    self->end(why);
  });
}

// Messages that the client sent before its end may still lie in the socket: a RELEASE or a DETACH tells an orderly end
// from a death. They are not read to the socket's end, which forked children may hold off.
void Session::take_last_messages() {
  gone_ = true;
  try {
    for (int i = 0; i < kMessagesAtOnce && state_ == State::kGreeted; i++)
      if (read_message() != Read::kMessage) break;
  } catch (const std::bad_alloc&) {
    log::error("session {}: spdld is short of memory, and its last messages are lost", client_.session);
  }
}

bool Session::read_attach(const proto::Attach& attach, AttachRequest& request) {
  const uint32_t number = attach.request();
  if (const std::string fault = text_fault(attach); !fault.empty()) {
    refuse_message(proto::ErrorCode::malformed, fault, number);
    return false;
  }
  request.spec = proto::text_of(attach.spec());
  if (attach.spec_in_fd()) {
    if (received_.fds.size() != 1 ||
        !proto::text_from_memfd(received_.fds.front().get(), proto::kTextBytesMax, request.spec)) {
      refuse_message(proto::ErrorCode::malformed, "ATTACH with spec_in_fd needs one sealed memfd with the spec",
                     number);
      return false;
    }
  }
  request.pipeline = proto::text_of(attach.pipeline());
  request.spec_is_json = attach.spec_format() == proto::SpecFormat::json;
  request.spec_folder = proto::text_of(attach.spec_folder());
  request.group = proto::text_of(attach.group());
  request.rank = attach.rank();
  request.world_size = attach.world_size();
  request.local_rank = attach.local_rank();
  request.reader = attach.reader();
  request.readers = attach.readers();
  if (attach.join() > proto::Join::MAX) {
    refuse_message(proto::ErrorCode::malformed, "ATTACH names a way to join that is not defined", number);
    return false;
  }
  request.join = static_cast<Join>(attach.join());
  if (attach.position()) request.position = {attach.position()->epoch(), attach.position()->step()};
  if (attach.sought()) request.sought = {attach.sought()->epoch(), attach.sought()->step()};
  request.fingerprint = proto::text_of(attach.fingerprint());
  request.key_digests = proto::text_of(attach.key_digests());
  request.held_max = attach.held_max();
  request.batch_size = attach.batch_size();
  request.looks = attach.looks();
  request.starts_crews = attach.starts_crews();
  return read_gpus(attach, request);
}

bool Session::read_gpus(const proto::Attach& attach, AttachRequest& request) {
  request.device = proto::text_of(attach.device());
  request.ready_early = attach.ready_early();
  const auto refuse = [&](const char* what) {
    refuse_message(proto::ErrorCode::malformed, what, attach.request());
    return false;
  };
  if (attach.transport() > proto::Transport::MAX) return refuse("ATTACH names a transport that is not defined");
  request.transport = static_cast<memory::Transport>(attach.transport());
  if (!attach.gpus()) return true;
  if (attach.gpus()->size() > kGpusMax) return refuse("ATTACH lists more than 64 GPUs");
  for (const proto::Gpu* gpu : *attach.gpus()) {
    ClientGpu& seen = request.gpus.emplace_back();
    if (!gpu->uuid() || gpu->uuid()->size() != seen.uuid.size()) return refuse("a GPU's UUID has 16 bytes");
    std::copy(gpu->uuid()->begin(), gpu->uuid()->end(), seen.uuid.begin());
    seen.shares_fds = gpu->shares_fds();
  }
  return true;
}

void Session::on_attach(const proto::Message& message) {
  const auto& attach = *message.body_as_Attach();
  const uint32_t number = attach.request();
  AttachRequest request;
  if (!read_attach(attach, request)) return;
  if (crew_) return refuse_message(proto::ErrorCode::unexpected, "a crew's session attaches to nothing", number);
  if (attachments_.size() + pending_.size() >= kAttachmentsMax || pending_.contains(number))
    return refuse_message(proto::ErrorCode::limit, "this session has too many attachments, or this request is pending",
                          number);
  auto reply = std::make_shared<SessionReply>(weak_from_this(), number);
  pending_[number] = reply;
  service_.attach(client_, std::move(request), std::move(reply));
}

Session::Attachments::iterator Session::find_or_refuse(std::string_view message, uint32_t attachment, Wanted wanted,
                                                       uint32_t request) {
  const auto at = attachments_.find(attachment);
  if (at != attachments_.end() && (wanted == Wanted::kAny || !at->second.dismissed)) return at;
  refuse_message(
      proto::ErrorCode::not_found,
      std::string(message) + " names attachment " + std::to_string(attachment) + ", which this session does not have",
      request);
  return attachments_.end();
}

void Session::drop_if_done(Attachments::iterator at) {
  if (at->second.dismissed && !at->second.attachment->holds_leases()) attachments_.erase(at);
}

void Session::on_release(const proto::Message& message) {
  const auto& release = *message.body_as_Release();
  const auto at = find_or_refuse("RELEASE", release.attachment(), Wanted::kAny);
  if (at == attachments_.end()) return;
  const delivery::LeaseId lease{release.slot(), release.generation()};
  if (!at->second.attachment->release(lease, release.taken(), release.waited_us()))
    return refuse_message(proto::ErrorCode::not_found, "RELEASE of slot " + std::to_string(release.slot()) +
                                                           ", generation " + std::to_string(release.generation()) +
                                                           ": no such lease");
  drop_if_done(at);
}

void Session::on_seek(const proto::Message& message) {
  const auto& seek = *message.body_as_Seek();
  const auto at = find_or_refuse("SEEK", seek.attachment(), Wanted::kAttached, seek.request());
  if (at == attachments_.end()) return;
  if (!seek.position()) return refuse_message(proto::ErrorCode::not_found, "SEEK names no position", seek.request());
  SeekRequest request{seek.request(), seek.run(), {seek.position()->epoch(), seek.position()->step()}};
  if (seek.keeps()) request.keeps = leases_of(*seek.keeps());
  request.stays = seek.stays();
  request.waits = seek.waits();
  request.again = seek.again();
  const Status status = at->second.attachment->seek(request);
  if (!status) refuse_message(code_of(status.error().trouble), status.error().message, seek.request());
}

void Session::on_push(const proto::Message& message) {
  const auto& push = *message.body_as_Push();
  const auto at = find_or_refuse("PUSH", push.attachment(), Wanted::kAttached, push.request());
  if (at == attachments_.end()) return;
  if (!push.position()) return refuse_message(proto::ErrorCode::not_found, "PUSH names no position", push.request());
  sampler::PushedSteps steps{{push.position()->epoch(), push.position()->step()}, {}, {}, push.last()};
  if (push.sizes()) steps.sizes.assign(push.sizes()->begin(), push.sizes()->end());
  if (push.ids()) steps.ids.assign(push.ids()->begin(), push.ids()->end());
  const Status status = at->second.attachment->push(steps);
  if (!status) refuse_message(code_of(status.error().trouble), status.error().message, push.request());
}

void Session::on_detach(const proto::Message& message) {
  const auto& detach = *message.body_as_Detach();
  const auto at = find_or_refuse("DETACH", detach.attachment(), Wanted::kAttached);
  if (at == attachments_.end()) return;
  std::vector<delivery::LeaseId> keeps;
  if (detach.keeps()) keeps = leases_of(*detach.keeps());
  at->second.attachment->dismiss(keeps);
  at->second.dismissed = true;
  drop_if_done(at);
}

void Session::on_query(const proto::Message& message) {
  const auto& query = *message.body_as_Query();
  asked_ = true;
  surroundings_->users.note_query(client_.uid);
  if (const std::string fault = text_fault(query); !fault.empty())
    return refuse_message(proto::ErrorCode::malformed, fault, query.request());
  const auto topic = query.topic() <= proto::Topic::MAX ? proto::EnumNameTopic(query.topic()) : "";
  const auto answer = service_.query(client_, topic, proto::text_of(query.argument()));
  if (!answer) return send_error(query.request(), answer.error());
  builder_.Clear();
  if (answer->size() < proto::kMessageBytesMax / 2) {
    const auto text = builder_.CreateString(*answer);
    return send(proto::finish(builder_, proto::Body::Answer,
                              proto::CreateAnswer(builder_, query.request(), text, false, answer->size())));
  }
  const UniqueFd fd = proto::text_to_memfd(*answer, "spdld-answer");
  if (!fd) return send_error(query.request(), {Trouble::kMemory, "spdld is short of memory: ask again later"});
  const std::array<int, 1> fds = {fd.get()};
  send(proto::finish(builder_, proto::Body::Answer,
                     proto::CreateAnswer(builder_, query.request(), 0, true, answer->size())),
       fds);
}

}  // namespace spdld::control
