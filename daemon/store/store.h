// A remote store of objects, asynchronously: a bucket of an S3-compatible service, or a web server. The caller owns a
// request, which must stay where it is until its observer hears of it.
//
// A request is made of attempts. The store tries a request again by itself for a while: after lost connections, slow
// replies, short bodies and replies that say "later". Only what lasts longer becomes the request's error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/store/object.h"

namespace spdld::store {

struct Request {
  class Observer {
   public:
    // Once for each request, on the network thread; must not block. The request is the caller's again.
    virtual void on_done(Request& request) = 0;

   protected:
    ~Observer() = default;
  };

  // Set by the caller.
  uint64_t owner = 0;  // requests wait in turn by owner
  Observer* observer = nullptr;
  // Becomes true when nobody wants the result any more: the store then soon ends the request with kStopping. It
  // outlives the request. nullptr: the result is wanted to the end.
  const std::atomic<bool>* is_unwanted = nullptr;

  // Set by the store. kContent: there is no such object, or it is another than the caller expects; kTransient: the
  // store can't be reached, or refuses for now; kDenied: the store refuses the credentials; kMemory: the destination
  // has no room; kStopping: it was cancelled.
  Status status = Done{};
  uint32_t attempts = 0;     // of asking the store
  uint64_t duration_ns = 0;  // from its first attempt to its end, without the wait for its turn

 protected:
  ~Request() = default;
};

// A range of an object, or all of it.
struct Read : Request {
  static constexpr uint64_t kToEnd = UINT64_MAX;

  // Where the bytes go. Bytes of the range that lie in no piece are passed over.
  struct Piece {
    uint64_t offset = 0, bytes = 0;  // in the object; pieces do not overlap, and are in order
    uint8_t* to = nullptr;           // the caller's memory
  };
  // The memory of a range whose size is not known before the store answers.
  class Room {
   public:
    // For `bytes` of `read`, on the network thread; null: there is no room, and the request ends with kMemory. Where
    // the object is replaced before its end, once more for the new one, in place of the room before.
    virtual uint8_t* room_for(Read& read, uint64_t bytes) = 0;
    // Within read_at_hand(), in place of room_for(): the bytes lie in the store's own memory, and stay as they are
    // while `keeper` is held. False: they are to be copied.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): overriders keep `keeper`
    virtual bool borrow(Read& /*read*/, std::span<const uint8_t> /*bytes*/, std::shared_ptr<const void> /*keeper*/) {
      return false;
    }

   protected:
    ~Room() = default;
  };

  // Set by the caller.
  std::string object;                   // its name in the store
  uint64_t offset = 0, bytes = kToEnd;  // at least 1
  std::vector<Piece> pieces;            // of a range whose size is known
  Room* room = nullptr;                 // of a range to the end
  uint64_t bytes_max = UINT64_MAX;
  // Whether the bytes of an object that its store says is compressed (Content-Encoding) are wanted as they are stored.
  // Otherwise such an object is bad content.
  bool takes_compressed = false;
  // An object of another identity is bad content; {}: any will do. Afterwards: of the object that was read.
  Identity identity = {};
};

// Whether an object is there, and which one. Here kNotFound means that there is no such object, and kDenied that it may
// not be read.
struct Stat : Request {
  std::string object;
  // Set by the store.
  Identity identity = {};
};

struct Entry {
  std::string name;  // in the store
  Identity identity = {};
  friend bool operator==(const Entry&, const Entry&) = default;
};

// One page of the objects whose names begin with `prefix`, in order of their names' bytes.
struct List : Request {
  std::string prefix;
  // Names are cut behind the first '/' after the prefix, and come once in `folders`.
  bool folds = false;
  std::string after;   // names up to this one are passed over; empty: none
  std::string cursor;  // of the page before; empty: the first page. Afterwards: of the next page; empty: there is none
  // Set by the store.
  std::vector<Entry> entries;
  std::vector<std::string> folders;  // end in '/'
};

// Any thread. Nothing blocks.
class Store {
 public:
  virtual ~Store() = default;

  virtual void read(Read& read) = 0;
  // Serves a read on the calling thread, from memory: its results are set, and its observer is not told. False: this is
  // not possible, or something is wrong; the results mean nothing then, and read() must be called.
  virtual bool read_at_hand(Read& /*read*/) { return false; }
  virtual void stat(Stat& stat) = 0;
  // Not all stores have lists: then the request ends with kUnsupported.
  virtual void list(List& list) = 0;
  // Asks that a request end soon. Its observer is told in any case.
  virtual void cancel(Request& request) = 0;

  // For people and for messages: "s3://bucket/a.jpg".
  virtual std::string uri_of(std::string_view object) const = 0;
  // On how many requests it works at once.
  virtual unsigned concurrency() const = 0;
};

}  // namespace spdld::store
