// Reads of remote objects that are under way, so that two requests for the same bytes ask the store once. The first one
// reads; the later ones get copies when it has ended. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/store/store.h"

namespace spdld::source {

class SharedReads {
 public:
  // Names what is read. Precondition: the read's pieces are known.
  static std::string key_of(const store::Store& store, const store::Read& read);
  // Whether the caller is the first one, who must read and call end(). If not, `read` waits, and its observer is told
  // by end() of the first one.
  bool begin(const std::string& key, store::Read& read);
  // After the first one's end, with its bytes still there. Tells the
  // observers of the reads that waited where it ended well, and else gives back the reads that must be asked by
  // themselves.
  std::vector<store::Read*> end(const std::string& key, const store::Read& read);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<store::Read*>> waiting_;  // by what is read; under the mutex
};

}  // namespace spdld::source
