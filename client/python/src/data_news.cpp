#include "client/python/src/data_news.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "client/python/src/errors.h"
#include "client/python/src/loader.h"

namespace nb = nanobind;

namespace spdld::python {

std::vector<std::string> missing_news(const spdld_loader* loader, const std::string& pipeline) {
  const spdld::Stats stats = spdld::stats_of(loader);
  if (stats.counts.missing_count == 0) return {};
  std::string text = "pipeline " + pipeline +
                     ": the data set is not whole, and on_missing = \"warn\" goes on with the "
                     "rest";
  if (!stats.missing.empty()) text += ": " + stats.missing.front();
  if (stats.counts.missing_count > 1)
    text +=
        " There are " + std::to_string(stats.counts.missing_count) + " such faults: see loader.stats()[\"missing\"].";
  return {text};
}

std::vector<std::string> empty_news(const LoaderInfo& info) {
  if (info.empty_steps == 0) return {};
  const bool is_one = info.empty_steps == 1;
  return {"pipeline " + info.pipeline + ": in " + std::to_string(info.empty_steps) + " of the " +
          std::to_string(info.steps_per_epoch) + " steps of an epoch there are fewer samples than the " +
          std::to_string(info.world_size) + " ranks, so that some ranks get " + (is_one ? "a batch" : "batches") +
          " without samples, whose mean loss is not a number. Write last = \"pad\" or "
          "last = \"drop\" under [batch], or take larger batches."};
}

std::vector<std::string> BadNews::of(const spdld_loader* loader, const spdld_batch_info& batch,
                                     const std::string& pipeline) {
  std::vector<std::string> news;
  if (batch.substituted + batch.masked + batch.absent == 0 || told_ > kReasonsMax) return news;
  const spdld::Stats stats = spdld::stats_of(loader);
  const std::string place = "epoch " + std::to_string(batch.epoch) + ", step " + std::to_string(batch.step);
  const std::string fate = batch.masked > 0        ? "left zero"
                           : batch.substituted > 0 ? "replaced by another"
                                                   : "left out of its batch";
  for (; told_ < std::min(stats.reasons.size(), kReasonsMax); ++told_) {
    const auto& reason = stats.reasons[told_];
    if (reason.dropped) continue;  // the program itself leaves it out
    const bool is_sentence = reason.reason.ends_with('.') || reason.reason.ends_with('?');
    news.push_back("pipeline " + pipeline + ", " + place + ": the sample " + reason.name + " was " + fate + ": " +
                   reason.reason + (is_sentence ? "" : ".") +
                   " Further samples with this reason are counted in loader.stats() alone; `spdlctl "
                   "errors` names them.");
  }
  if (told_ == kReasonsMax && stats.reasons.size() > kReasonsMax) {
    ++told_;
    news.push_back("pipeline " + pipeline + ", " + place + ": there are more than " + std::to_string(kReasonsMax) +
                   " reasons for which samples cannot be used: see loader.stats().");
  }
  return news;
}

void tell(const std::vector<std::string>& news) {
  if (news.empty()) return;
  const nb::object errors = nb::module_::import_("spdld._errors");
  for (const std::string& text : news) errors.attr("warn")(text_of(text), errors.attr("DataWarning"));
}

nb::dict dict_of(const spdld::Stats& stats) {
  nb::list reasons, missing;
  for (const auto& reason : stats.reasons) {
    nb::dict entry;
    entry["reason"] = text_of(reason.reason);
    entry["kind"] = reason.dropped       ? "dropped"
                    : reason.too_long    ? "too_long"
                    : reason.unsupported ? "unsupported"
                                         : "damaged";
    entry["count"] = reason.count;
    entry["sample"] = reason.sample;
    entry["name"] = text_of(reason.name);
    reasons.append(entry);
  }
  for (const std::string& what : stats.missing) missing.append(text_of(what));
  nb::dict dict;
  dict["batches"] = stats.counts.batches;
  dict["samples"] = stats.counts.samples;
  dict["substituted"] = stats.counts.substituted;
  dict["masked"] = stats.counts.masked;
  dict["unsupported"] = stats.counts.unsupported;
  dict["absent"] = stats.counts.absent;
  dict["too_long"] = stats.counts.too_long;
  dict["dropped"] = stats.counts.dropped;
  dict["reasons"] = reasons;
  dict["missing"] = missing;
  dict["missing_count"] = stats.counts.missing_count;
  if (stats.counts.replayed > 0) dict["replay_step_ms"] = stats.counts.replay_step_ms;
  return dict;
}

}  // namespace spdld::python
