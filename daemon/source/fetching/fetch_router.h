// Fetches requests from wherever their bytes lie. Fields in local files, and kept copies on the cache's disk, are read
// by the local fetcher; fields in remote stores by their stores, which work on many requests at once without a thread
// for each.
//
// One request to a store serves several fields of a sample where they lie close together in one object, as the members
// of a tar archive do. Where two requests want the same bytes of an object at the same time, the store is asked once;
// bytes that a request lends are copied as well.
#pragma once

#include <memory>

#include "daemon/source/fetching/fetcher.h"

namespace spdld::source {

struct RemoteStatistics {
  Counter samples, bytes, failures;
  Counter shared;  // reads that another request's read served
};

// Any thread.
class FetchRouter final : public Fetcher {
 public:
  // Borrows the local fetcher. A single field is at most `bytes_max`; a larger one is bad content.
  static constexpr uint64_t kBytesMax = 1ull << 30;
  explicit FetchRouter(Fetcher& local, uint64_t bytes_max = kBytesMax);
  ~FetchRouter() override;

  void fetch(FetchRequest& request) override;
  bool fetch_at_hand(FetchRequest& request) override;
  void end_loan(FetchRequest& request) override;
  void drop_unwanted() override;
  unsigned concurrency() const override;

  const RemoteStatistics& statistics() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace spdld::source
