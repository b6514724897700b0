#include "daemon/source/shared_reads.h"

#include <cstring>
#include <utility>

namespace spdld::source {

std::string SharedReads::key_of(const store::Store& store, const store::Read& read) {
  const auto* const address = &store;
  std::string key(reinterpret_cast<const char*>(&address), sizeof(address));
  const auto add = [&](uint64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  for (const store::Read::Piece& piece : read.pieces) add(piece.offset), add(piece.bytes);
  add(read.identity.size);
  add(static_cast<uint64_t>(read.identity.changed));
  return key += read.object;
}

bool SharedReads::begin(const std::string& key, store::Read& read) {
  const std::scoped_lock lock(mutex_);
  const auto [at, is_first] = waiting_.try_emplace(key);
  if (!is_first) at->second.push_back(&read);
  return is_first;
}

std::vector<store::Read*> SharedReads::end(const std::string& key, const store::Read& read) {
  std::vector<store::Read*> waiting;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = waiting_.find(key);
    if (at == waiting_.end()) return {};
    waiting = std::move(at->second);
    waiting_.erase(at);
  }
  if (!read.status) return waiting;
  for (store::Read* const other : waiting) {
    for (size_t i = 0; i < read.pieces.size(); ++i)
      std::memcpy(other->pieces[i].to, read.pieces[i].to, read.pieces[i].bytes);
    other->identity = read.identity;
    other->status = Done{};
    other->attempts = 0;
    other->duration_ns = read.duration_ns;
    other->observer->on_done(*other);
  }
  return {};
}

}  // namespace spdld::source
