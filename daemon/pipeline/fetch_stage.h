// The first stage of a sample's way: its bytes, from the cache or from its source. Any thread.
#pragma once

#include <utility>

#include "daemon/base/trace.h"
#include "daemon/pipeline/stage.h"

namespace spdld::pipeline {

StageAccount account_of_fetch(bool is_remote);

class FetchStage final : public Stage, private source::FetchObserver {
 public:
  // Borrows the caching and the fetcher.
  FetchStage(StageAccount account, const Caching& caching, source::Fetcher& fetcher, const source::Listing& listing,
             uint64_t subject)
      : Stage(std::move(account)),
        caching_(caching),
        fetcher_(fetcher),
        store_concurrency_(listing.store_concurrency()),
        is_at_hand_(listing.is_at_hand()),
        subject_(subject) {}

  StageOutcome start(Passage& passage, Caller& caller) override;
  void let_go(Passage& passage, Keep keep) const override;
  void drop_unwanted() const override { fetcher_.drop_unwanted(); }
  uint64_t busy_ns() const override { return statistics_.duration_ns.sum(); }
  uint64_t waiting() const override;
  unsigned concurrency() const override { return store_concurrency_ > 0 ? store_concurrency_ : fetcher_.concurrency(); }

 private:
  void on_fetched(source::FetchRequest& request) override;
  void note(Passage& passage);
  void trace_read(const Passage& passage);
  void trace(trace::What what, const Passage& passage, uint64_t start_ns, uint64_t end_ns) const;

  const Caching& caching_;
  source::Fetcher& fetcher_;
  const unsigned store_concurrency_;  // 0: the fetcher alone limits its reads
  const bool is_at_hand_;
  const uint64_t subject_;            // of recordings
  StripedCounter handed_, returned_;  // samples that the fetcher got during recordings, and has given back
};

}  // namespace spdld::pipeline
