// Reads of remote objects whose bytes others may want as well, so that two requests for the same bytes ask the store
// once. The first one reads. Later ones wait for its end, or copy the bytes that it has read and not yet let go of. Any
// thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/store/store.h"

namespace spdld::source {

class SharedReads {
 public:
  enum class Role : uint8_t {
    kReads,  // it is the first one, who must ask the store and then call end()
    kWaits,  // its observer is told by end() of the first one, or by drop_unwanted()
    kEnded   // its status is set: it has its bytes, or nobody wants them; its observer is not told
  };

  // Names what is read. Precondition: the read's pieces are known.
  static std::string key_of(const store::Store& store, const store::Read& read);
  Role begin(const std::string& key, store::Read& read);
  // After the first one's end, with its bytes still there. Tells the observers of the reads that waited where it ended
  // well, and else gives back the reads that must begin again, or be asked by themselves. `lends`: the bytes stay as
  // they are until end_loan(), if it ended well. Becomes false where they are not lent.
  std::vector<store::Read*> end(const std::string& key, const store::Read& read, bool& lends);
  // Of a read that lends its bytes. Waits while somebody copies them.
  void end_loan(const std::string& key);
  // Ends the reads that wait and that nobody wants any more, with kStopping.
  void drop_unwanted();

 private:
  // The bytes lie in the memory of their readers, whose budgets bound them. This bounds the table.
  static constexpr size_t kLentMax = 4096;

  struct Entry {
    const store::Read* lent = nullptr;  // has ended, and its bytes may be copied; null: it is under way
    unsigned copying = 0;               // how many copy them now
    std::vector<store::Read*> waiting;
  };

  store::Read* take_unwanted();  // out of the reads that wait; null: there is none

  std::mutex mutex_;
  std::condition_variable copied_;
  std::unordered_map<std::string, Entry> entries_;  // by what is read; under the mutex, as the following
  size_t lent_count_ = 0;
};

}  // namespace spdld::source
