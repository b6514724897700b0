// An event's state: a page of this process, or a page that processes share. Waiting is a futex on the page. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "proto/unique_fd.h"
#include "tests/support/fake_cuda/ledger.h"

namespace spdld::test::fake {

struct Context;

struct EventPage {
  std::atomic<uint64_t> id;                   // of a shared event: file descriptors' numbers come again
  std::atomic<uint64_t> recorded, completed;  // tickets: how often it was recorded, and the last ticket that is done
  std::atomic<uint32_t> bell;                 // rung at each completion
  std::atomic<uint32_t> destroyed;            // by its maker
};

// The content of the 64 bytes of an exported event or allocation.
struct ShareNote {
  uint64_t magic;
  ProcessKey exporter;
  int32_t fd, device;
  uint64_t id, bytes;
};
static_assert(sizeof(ShareNote) <= 64);
inline constexpr uint64_t kEventMagic = 0x6576656e74, kMemoryMagic = 0x6d656d6f7279;

// Opens the exporter's file descriptor here; -EACCES, -ENOENT ... where that is not possible.
int open_shared(const ShareNote& note);

class Event {
 public:
  Event(std::shared_ptr<Context> context, unsigned flags);
  // Opens another process's event; `fd` is its page. Throws std::system_error where the page is not the note's event.
  Event(std::shared_ptr<Context> context, const ShareNote& note, UniqueFd fd);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const std::shared_ptr<Context>& context() const { return context_; }
  bool is_shared() const { return static_cast<bool>(fd_); }
  bool is_foreign() const { return exporter_.pid != 0; }
  // Its maker destroyed it while this process has it open.
  bool is_orphaned() const { return is_foreign() && page_->destroyed.load() != 0; }
  ShareNote note() const;

  uint64_t record() { return page_->recorded.fetch_add(1) + 1; }
  void complete(uint64_t ticket);
  uint64_t last_ticket() const { return page_->recorded.load(); }
  bool is_through(uint64_t ticket) const { return page_->completed.load() >= ticket; }
  // Waits until `ticket` is done, or `stop` says so: without end where the process that recorded it is dead.
  void wait(uint64_t ticket, const std::function<bool()>& stop) const;
  void wake() const;  // so that waiting threads ask `stop`
  void mark_destroyed();

 private:
  const std::shared_ptr<Context> context_;
  const ProcessKey exporter_;
  UniqueFd fd_;
  std::unique_ptr<EventPage> own_page_;
  EventPage* page_;
};

}  // namespace spdld::test::fake
