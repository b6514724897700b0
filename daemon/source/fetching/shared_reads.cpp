#include "daemon/source/fetching/shared_reads.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spdld::source {
namespace {

bool is_unwanted(const store::Read& read) { return read.is_unwanted != nullptr && read.is_unwanted->load(); }

Error unwanted() { return {Trouble::kStopping, "it was stopped"}; }  // without memory of its own

// The result of `from`, which has ended well, for another read of the same bytes.
void copy(const store::Read& from, store::Read& to) {
  for (size_t i = 0; i < from.pieces.size(); ++i) std::memcpy(to.pieces[i].to, from.pieces[i].to, from.pieces[i].bytes);
  to.identity = from.identity;
  to.status = Done{};
  to.attempts = 0;
  to.duration_ns = from.duration_ns;
}

}  // namespace

std::string SharedReads::key_of(const store::Store& store, const store::Read& read) {
  const auto* const address = &store;
  std::string key(reinterpret_cast<const char*>(&address), sizeof(address));
  const auto add = [&](uint64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  for (const store::Read::Piece& piece : read.pieces) {
    add(piece.offset);
    add(piece.bytes);
  }
  add(read.identity.size);
  add(static_cast<uint64_t>(read.identity.changed));
  return key += read.object;
}

SharedReads::Role SharedReads::begin(const std::string& key, store::Read& read) {
  std::unique_lock lock(mutex_);
  // Under the lock: drop_unwanted() comes after the flag, and finds the read or was before it.
  if (is_unwanted(read)) {
    read.status = unwanted();
    return Role::kEnded;
  }
  const auto [at, is_first] = entries_.try_emplace(key);
  if (is_first) return Role::kReads;
  Entry& entry = at->second;  // stays where it is while others come and go
  if (entry.lent == nullptr) {
    entry.waiting.push_back(&read);
    return Role::kWaits;
  }
  ++entry.copying;
  lock.unlock();
  copy(*entry.lent, read);
  lock.lock();
  if (--entry.copying == 0) copied_.notify_all();
  return Role::kEnded;
}

std::vector<store::Read*> SharedReads::end(const std::string& key, const store::Read& read, bool& lends) {
  std::vector<store::Read*> waiting;
  {
    const std::scoped_lock lock(mutex_);
    lends = lends && read.status && lent_count_ < kLentMax;
    const auto at = entries_.find(key);
    waiting = std::exchange(at->second.waiting, {});
    if (lends) {
      at->second.lent = &read;
      ++lent_count_;
    } else
      entries_.erase(at);
  }
  if (!read.status) return waiting;
  for (store::Read* const other : waiting) {
    copy(read, *other);
    other->observer->on_done(*other);
  }
  return {};
}

void SharedReads::end_loan(const std::string& key) {
  std::unique_lock lock(mutex_);
  const auto at = entries_.find(key);
  copied_.wait(lock, [&] { return at->second.copying == 0; });
  entries_.erase(at);
  --lent_count_;
}

void SharedReads::drop_unwanted() {
  // One by one: there may be no memory for a list.
  while (store::Read* const read = take_unwanted()) {
    read->status = unwanted();
    read->observer->on_done(*read);
  }
}

store::Read* SharedReads::take_unwanted() {
  const std::scoped_lock lock(mutex_);
  for (auto& [key, entry] : entries_) {
    const auto at = std::find_if(entry.waiting.begin(), entry.waiting.end(),
                                 [](const store::Read* read) { return is_unwanted(*read); });
    if (at == entry.waiting.end()) continue;
    store::Read* const read = *at;
    entry.waiting.erase(at);
    return read;
  }
  return nullptr;
}

}  // namespace spdld::source
