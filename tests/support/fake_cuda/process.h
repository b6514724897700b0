// This process's state of the fake driver, from its cuInit() to its end (never destroyed: threads use it to the last).
// Objects are looked up under `mutex`, and no call waits while it holds `mutex`.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/fake_cuda/handles.h"
#include "tests/support/fake_cuda/stream.h"

namespace spdld::test::fake {

namespace abi = cuda::abi;

struct Process {
  Process(Ledger& shared_ledger, ProcessRow& own_row, std::vector<int> seen)
      : ledger(shared_ledger), row(own_row), visible(std::move(seen)) {}

  Ledger& ledger;
  ProcessRow& row;
  const ProcessKey key = own_key();
  const std::vector<int> visible;  // devices by ordinal

  std::mutex mutex;
  struct Primary {
    unsigned retained = 0;
    std::shared_ptr<Context> context;
  };
  std::array<Primary, kDevicesMax> primaries;             // by ordinal
  std::map<uint64_t, std::shared_ptr<Context>> contexts;  // by handle, ended contexts as well
  Handles<Stream> streams{0x51};
  Handles<Event> events{0x52};
  Handles<Physical> memories{0x53};  // cuMemCreate
  uint64_t next_context = 0x50ull << 40;
  std::atomic<int> ended_by{0};  // the error after which this process gets no context any more

  std::map<uint64_t, Mapping> mappings;          // by base
  std::map<uint64_t, Reservation> reservations;  // by base
  std::map<uint64_t, std::shared_ptr<Registration>> registrations;
  std::set<uint64_t> freed, unregistered;  // addresses that were freed or unregistered, and are not in use again

  // Under the lock. The mapping that holds all of [address, address + bytes), or nullptr.
  const Mapping* mapping_of(uint64_t address, uint64_t bytes) const;
  std::shared_ptr<Registration> registration_of(const void* address, uint64_t bytes) const;
};

// The ledger of this process's environment; nullptr: none.
Ledger* ledger();
// This process's state, after a successful cuInit().
Process* process();
abi::Result start_process();
bool is_forked();  // this process was forked from a process that had initialised the driver

// Each entry begins with this: it counts the call, and says whether the call must fail before it does anything.
std::optional<abi::Result> begin(Symbol symbol, bool needs_init = true);
void breach(const std::string& sentence);  // of the entry that runs on this thread
void name_entry(Symbol symbol);            // on a stream's thread

// The thread's stack of contexts.
std::vector<uint64_t>& context_stack();
struct CurrentContext {
  std::shared_ptr<Context> context;
  abi::Result result;  // not kSuccess: no context that can be used
};
CurrentContext current_context();
// A stream or event that can be used; else the result to return, and a breach is noted where it was destroyed.
template <typename Object>
struct Found {
  std::shared_ptr<Object> object;
  abi::Result result;
};
Found<Stream> find_stream(abi::Stream handle);
Found<Event> find_event(abi::Event handle);
abi::Result health_of(const Context& context);

// Ends a context and everything that lives on it.
void end_context(const std::shared_ptr<Context>& context, Context::State how);

// Drops one hold on an allocation; a breach is noted where importers still have it.
void drop_memory(const Physical& physical);

inline uint64_t number_of(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }
template <typename Handle>
Handle as_handle(uint64_t number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number));
}

}  // namespace spdld::test::fake
