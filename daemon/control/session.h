// One client's session: reads its messages, looks each up in the table of commands, answers. It ends with the socket or
// with the client's process (the pidfd of HELLO), whichever ends first: a socket can live on in a forked child. Every
// bad message gets a typed ErrorReply and changes nothing. Control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "daemon/base/system/closer.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/control/outbox.h"
#include "daemon/control/service.h"
#include "daemon/control/user_share.h"

namespace spdld::control {

class CrewSession;
class SessionReply;

// Shared by all sessions of a server.
struct Surroundings {
  explicit Surroundings(const UserLimits& limits) : users(limits) {}
  Closer closer;
  UserShares users;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  static constexpr auto kHelloTimeout = std::chrono::seconds(10);
  static constexpr size_t kAttachmentsMax = 64;
  static constexpr size_t kGpusMax = 64;              // of one client
  static constexpr uint64_t kBadMessagesLogged = 10;  // of one session; further ones are counted

  // `ended` is called once, when the session has let go of everything.
  Session(EventLoop& loop, UniqueFd socket, uint64_t id, Service& service, std::shared_ptr<Surroundings> surroundings,
          std::function<void()> ended);
  ~Session();

  void start();
  // Says GOODBYE; the client keeps its batches and comes back later.
  void say_goodbye(std::string_view message);
  void end(std::string_view why);
  // Ends it with a sentence where its client holds batches and has sent nothing for longer than this.
  void end_if_silent(std::chrono::milliseconds limit);

  // Whether the client's process or its end of the socket has gone, even where the news of it is still on its way here.
  bool client_gone() const;

  const Client& client() const { return client_; }
  size_t attachments() const { return attachments_.size(); }
  double age_s() const;

 private:
  friend class CrewSession;
  friend class SessionReply;
  friend struct Command;

  enum class State : uint8_t { kNew, kGreeted, kEnded };

  void wait_readable();
  void wait_writable();
  void pause(std::chrono::milliseconds time);
  std::chrono::milliseconds time_to_wait() const;  // until its next message may be read
  void on_readable();
  enum class Read : uint8_t { kMessage, kNothing, kOver };
  Read read_message();
  void take_message(const proto::Received& received);
  bool carries_too_much(const proto::Message* message) const;
  void close_received();
  void close_socket();
  void send(std::span<const uint8_t> bytes, std::span<const int> fds = {});
  void send_error(uint32_t request, const Error& error, proto::ErrorCode code);
  void send_error(uint32_t request, const Error& error);
  void refuse_message(proto::ErrorCode code, const std::string& message, uint32_t request = 0);

  // The commands. A returned error is answered by the caller.
  void on_hello(const proto::Message& message);
  void on_attach(const proto::Message& message);
  void on_release(const proto::Message& message);
  void on_seek(const proto::Message& message);
  void on_detach(const proto::Message& message);
  void on_query(const proto::Message& message);
  void on_push(const proto::Message& message);
  // Of a crew's session (session_crew.cpp).
  void on_join_crew(const proto::Message& message);
  void on_crew_progress(const proto::Message& message);
  void on_crew_ready(const proto::Message& message);
  void on_crew_failed(const proto::Message& message);
  void on_worker_ended(const proto::Message& message);
  bool is_crew_or_refuse(std::string_view message);
  void watch_process(UniqueFd pidfd);
  void wait_for_process();
  void leave(const char* why);
  void take_last_messages();
  void note_short_memory(const proto::Message& message);
  bool read_attach(const proto::Attach& attach, AttachRequest& request);
  bool read_gpus(const proto::Attach& attach, AttachRequest& request);

  struct Held {
    std::shared_ptr<SessionReply> reply;  // outlives the attachment, which sends through it
    std::unique_ptr<Attachment> attachment;
    bool dismissed = false;  // DETACH has come, and leases are kept
  };
  using Attachments = std::map<uint32_t, Held>;
  enum class Wanted : uint8_t { kAny, kAttached };  // kAttached: not dismissed
  // The attachment that a message names; end(): there is none, and the message has been refused.
  Attachments::iterator find_or_refuse(std::string_view message, uint32_t attachment, Wanted wanted,
                                       uint32_t request = 0);
  void drop_if_done(Attachments::iterator at);

  EventLoop& loop_;
  Watch socket_;
  Service& service_;
  const std::shared_ptr<Surroundings> surroundings_;
  std::function<void()> ended_;
  Client client_;
  Outbox outbox_;
  State state_ = State::kNew;
  bool reading_ = false, writing_ = false;  // a wait is under way
  bool asked_ = false;                      // its last message was a query
  bool gone_ = false;                       // nobody hears answers any more
  uint64_t bad_messages_ = 0;
  uint64_t heard_ns_ = 0;  // when its last message came
  uint64_t started_ns_;
  uint32_t next_attachment_ = 1;
  Attachments attachments_;
  std::map<uint32_t, std::weak_ptr<SessionReply>> pending_;  // attaches that are being prepared, by request
  std::unique_ptr<CrewSeat> crew_;                           // of a crew's session
  Timer hello_timer_;
  Timer pause_;  // until the next message is read
  Watch process_;
  proto::Received received_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace spdld::control
