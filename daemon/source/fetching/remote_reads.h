// The part of one request that is read from remote stores: the fields that lie there, and the reads that bring them.
// Used by one thread at a time, except where it says otherwise.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/fetching/shared_reads.h"
#include "daemon/store/store.h"

namespace spdld::source {

class RemoteReads final : private store::Request::Observer, private store::Read::Room {
 public:
  // Called when all reads have ended. On the network thread, or any other.
  class Owner {
   public:
    virtual void on_read(RemoteReads& reads) = 0;

   protected:
    ~Owner() = default;
  };

  // `bytes_max`: of a field.
  RemoteReads(Owner& owner, SharedReads& shared, FetchRequest& request, uint64_t bytes_max)
      : owner_(owner), shared_(shared), request_(request), bytes_max_(bytes_max) {}
  ~RemoteReads() { end_loan(); }

  FetchRequest& request() { return request_; }
  // Sets how the fields of the request are to be read: their ways, and what is unchanged. Whether some field is
  // left for the local fetcher; what it would have said of fields that are not there it says as well.
  bool sort_out();
  // After the local fetcher's part. Whether anything is to be read from a store; then bytes_wanted() is set.
  bool plan();
  // The memory that the request needs for all that is known to come.
  uint64_t bytes_wanted() const { return bytes_wanted_; }
  // Makes room for the bytes and asks the stores. True: all reads have ended already, and on_read() is not called.
  // False: this object is the owner's again when on_read() is called, maybe before this returns. Precondition: plan()
  // gave true. An error: nothing was asked. Throws std::bad_alloc before it has asked.
  Result<bool> start();
  // Lends no bytes any more. To be called before they are changed.
  void end_loan();
  // In place of start(): reads all on the calling thread, where the stores have the bytes at hand; on_read() is not
  // called. False: not all is there, or something is wrong, and the request must be fetched anew.
  bool read_at_hand();
  // The result, for on_read(): an error of the request's, and how long the slowest read took.
  Status status() const { return status_; }
  uint64_t duration_ns() const { return duration_ns_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t shared() const { return shared_count_; }
  // Whether fields are to be taken out of bytes that were read, which is the local fetcher's work: sets the fields'
  // ways.
  bool leaves_packed();
  // Whether it failed because the budget had no room for bytes whose size was not known; bytes_wanted() is then.
  bool has_no_room() const { return has_no_room_; }

 private:
  // Bytes that lie together in an object: of one field, or a holder.
  struct Wish {
    store::Locator locator;
    size_t field;
    uint64_t at;     // in the field's bytes
    uint64_t bytes;  // kToEnd: not known
    bool is_holder = false;
  };
  // Bytes that several packed fields are taken out of.
  struct Holder {
    store::Locator locator;
    std::vector<size_t> fields;
  };
  // A byte between two pieces of a row.
  struct Mark {
    size_t field;
    uint64_t at;
    uint8_t byte;
  };
  struct OneRead final : store::Read {
    store::Store* store = nullptr;
    std::vector<size_t> fields;  // whose bytes it brings
    uint64_t room_bytes = 0;     // that it was given, of a size that was not known
    std::string key;             // under which others wait for its bytes; empty: nobody may
    bool is_follower = false;
    bool lends = false;  // others may copy its bytes
  };

  void wish_field(size_t i);
  void wish(size_t i, const store::Locator& locator, uint64_t at);
  void wish_parts(size_t i, const store::Locator& locator, uint64_t content_bytes);
  void wish_holder(size_t i, const store::Locator& locator);
  uint8_t* memory_of(const Wish& wish);
  Status prepare();
  void make_reads();
  OneRead& next_read(const Wish& wish);
  bool ask(OneRead& read);
  bool note_end(OneRead& read);
  void add_fields(const Wish& wish, OneRead& read) const;
  void on_done(store::Request& request) override;
  uint8_t* room_for(store::Read& read, uint64_t bytes) override;
  bool borrow(store::Read& read, std::span<const uint8_t> bytes, std::shared_ptr<const void> keeper) override;
  void note(OneRead& read);
  Status check(const Wish& wish) const;

  Owner& owner_;
  SharedReads& shared_;
  FetchRequest& request_;
  const uint64_t bytes_max_;
  std::vector<Wish> wishes_;
  std::vector<Mark> marks_;
  std::vector<store::Locator> pieces_;
  std::vector<Holder> holders_;  // as the request's
  std::vector<uint64_t> sizes_;  // of the fields that are read, as far as they are known
  std::vector<std::unique_ptr<OneRead>> reads_;
  size_t used_ = 0;  // how many of reads_ are in use
  uint64_t bytes_wanted_ = 0;
  bool has_no_room_ = false;
  std::mutex mutex_;
  size_t left_ = 0;  // under the mutex, as are the following until on_read()
  Status status_ = Done{};
  uint64_t duration_ns_ = 0, bytes_ = 0, shared_count_ = 0;
};

}  // namespace spdld::source
