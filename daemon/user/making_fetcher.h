// Gets the samples of sources that a crew makes, and hands on the requests for other sources' samples. Its requests are
// passages. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/pipeline/pipeline.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/user/crew.h"

namespace spdld::user {

class MakingFetcher final : public source::Fetcher, private source::FetchObserver, private Customer {
 public:
  // Borrows all.
  MakingFetcher(Crew& crew, const pipeline::Pipeline& pipeline, source::Fetcher& others);

  void fetch(source::FetchRequest& request) override;
  bool fetch_at_hand(source::FetchRequest& request) override;
  void end_loan(source::FetchRequest& request) override { others_.end_loan(request); }
  void drop_unwanted() override;
  unsigned concurrency() const override { return crew_.workers(); }

 private:
  struct Made {
    const pipeline::Making* making;
    std::vector<const pipeline::Errand*> errands;  // it alone
  };

  void on_fetched(source::FetchRequest& request) override;
  void on_done(const Job& job, Status status, ScratchPiece record) override;
  void make(source::FetchRequest& request, const store::Locator& place);
  bool may_be_placed(const source::FetchRequest& request, const pipeline::Making& making) const;
  // `placed`: whose values lie in the batch where they may; null: all lie in the record.
  Status take_values(pipeline::Passage& passage, ScratchPiece record, const pipeline::Making* placed,
                     std::optional<uint64_t>& wants_bytes) const;
  static void keep_copy(pipeline::Passage& passage, size_t i);
  void tell(source::FetchRequest& request) { customer_.load()->on_fetched(request); }

  Crew& crew_;
  source::Fetcher& others_;
  const pipeline::Pipeline& pipeline_;
  std::map<std::string_view, Made> made_;  // by the source's name
  // By field: whether all that read it read each of its bytes once. Then they may read them where the worker that made
  // them could still write to them.
  std::vector<bool> lends_;
  std::atomic<source::FetchObserver*> customer_{nullptr};  // the stage: all requests have the same one
};

}  // namespace spdld::user
