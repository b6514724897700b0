// The advice of bench --headspace, in sentences that follow from its rows. Pure functions.
#include <algorithm>
#include <cmath>

#include "client/cli/bench/headspace.h"

namespace spdld::cli {
namespace {

constexpr double kWorthwhile = 1.1;   // gains below are noise, as a rule
constexpr double kFetchBound = 1.25;  // fetching alone is hardly faster than the whole
constexpr double kBusy = 0.8;         // of the decode threads' time
constexpr double kGetsCpu = 0.75;     // of the time in which the threads have work
constexpr double kScales = 0.7;       // of what as many times the threads should give
constexpr double kNoisy = 0.2;        // of a row's rate, between its rounds
constexpr double kHandOverMargin = 4;

std::string rate_of(double images_per_s) { return text::rate_text(images_per_s) + " images/s"; }
std::string times_text(double ratio) { return decimal_text(ratio, ratio < 10 ? 1 : 0) + " x"; }
std::string ms_text(double ms) { return decimal_text(ms, ms < 10 ? 2 : 0) + " ms"; }

const HeadspaceRow* row_of(const Headspace& headspace, HeadspaceSubject subject) {
  const auto found = std::find_if(headspace.rows.begin(), headspace.rows.end(),
                                  [subject](const auto& row) { return row.subject == subject && row.ran(); });
  return found == headspace.rows.end() ? nullptr : &*found;
}

std::string against_trainer(const Headspace& headspace) {
  const double demand = headspace.demand(), whole = headspace.loader_images_per_s();
  if (demand == 0) {
    return "The trainer's own speed is not known: run it with SPDLD_REPLAY=1, which tells its time for a batch, and "
           "give that as --trainer-ms.";
  }
  const std::string wants = "the trainer takes at most " + rate_of(demand) + " (" +
                            counted(headspace.step_samples, "sample") + " in " + ms_text(headspace.trainer_ms) + ")";
  if (whole >= demand * kWorthwhile) {
    return "The loader has headspace: " + wants + ", and the pipeline gives " + rate_of(whole) + ", " +
           times_text(whole / demand) + " as many. The trainer limits: a faster loader brings nothing.";
  }
  if (whole * kWorthwhile > demand) {
    return "The loader just keeps up: " + wants + ", and the pipeline gives " + rate_of(whole) +
           ". There is no headspace for a busier machine or a faster trainer.";
  }
  return "The loader holds the trainer back: " + wants + ", and the pipeline gives " + rate_of(whole) + ", " +
         percent_text(whole / demand) + " of that.";
}

// Which part takes the most CPU of the whole.
std::string where_cpu_goes(const Headspace& headspace, const HeadspaceRow& whole) {
  std::string text;
  double before = 0;
  for (const HeadspaceRow& row : headspace.rows) {
    const bool is_part = row.subject == HeadspaceSubject::kFetch || row.subject == HeadspaceSubject::kOutputs ||
                         row.subject == HeadspaceSubject::kWhole;
    if (!is_part || !row.ran()) continue;
    const std::string what = row.subject == HeadspaceSubject::kWhole ? "the rest" : row.name;
    text += (text.empty() ? "" : ", ") + what + " " + ms_text(std::max(0.0, row.cpu_ms() - before));
    before = std::max(before, row.cpu_ms());
  }
  return "Of " + ms_text(whole.cpu_ms()) + " of CPU for an image: " + text + ".";
}

// Whether other programs took the cores that the decode threads wanted.
bool is_robbed(const Headspace& headspace, const HeadspaceRow& whole) {
  return whole.cores() < kGetsCpu * whole.busy() * headspace.threads;
}

std::string limit_of(const Headspace& headspace, const HeadspaceRow& whole) {
  const double all = headspace.loader_images_per_s();
  if (all * kWorthwhile < whole.images_per_s()) {
    return "Storage limits the pipeline: samples that were not read just before come at only " + rate_of(all) +
           ", and the whole pipeline makes " + rate_of(whole.images_per_s()) + " of samples in the page cache.";
  }
  const HeadspaceRow* fetch = row_of(headspace, HeadspaceSubject::kFetch);
  const bool by_fetch = fetch && fetch->images_per_s() < whole.images_per_s() * kFetchBound;
  if (by_fetch && whole.busy() < kBusy) {
    return "Fetching limits the pipeline: alone, without any decoding, it gives only " +
           rate_of(fetch->images_per_s()) + ".";
  }
  const std::string threads = counted(headspace.threads, "decode thread") +
                              (headspace.threads == 1 ? " is " : " are ") + "busy for " + percent_text(whole.busy()) +
                              " of the time";
  if (whole.busy() >= kBusy) {
    return "The CPU limits the pipeline: " + threads + ". " + where_cpu_goes(headspace, whole) +
           (is_robbed(headspace, whole) ? " Other programs took CPU time meanwhile: the threads got only " +
                                              decimal_text(whole.cores(), 1) + " cores."
                                        : "");
  }
  return "Neither fetching nor the CPU limits the pipeline: " + threads +
         ". Batches wait for single slow samples, or the hand-over waits: a larger prefetch_depth may help.";
}

// Where the whole is not enough for the trainer: whether a change is.
std::string enough_text(const Headspace& headspace, double then) {
  const double demand = headspace.demand(), whole = headspace.loader_images_per_s();
  if (demand == 0 || whole >= demand * kWorthwhile) return "";
  return then >= demand * kWorthwhile ? ", enough for the trainer" : ", still not enough for the trainer";
}

std::string cache_sentence(const Headspace& headspace, const HeadspaceRow& row) {
  const double gain = row.images_per_s() / headspace.loader_images_per_s();
  std::string text = "`" + row.name + "` would give " + times_text(gain) + " the images/s (" +
                     text::rate_text(row.images_per_s()) + ")" + enough_text(headspace, row.images_per_s());
  if (row.kept == 0) return text + ".";
  const double bytes = row.kept_bytes / static_cast<double>(row.kept) * static_cast<double>(headspace.samples);
  text += ". All " + count_text(headspace.samples) + " samples take about " + bytes_text(bytes);
  if (bytes > headspace.memory_bytes && headspace.memory_bytes > 0) {
    text += ". This machine has " + bytes_text(headspace.memory_bytes) +
            " of memory: a cache folder on a local disk takes the rest, and only samples in memory gain as much";
  }
  if (row.kept < row.to_keep) {
    text += ". Only " + count_text(row.kept) + " of " + count_text(row.to_keep) + " samples were in the cache here";
  }
  return text + ".";
}

void add_caches(const Headspace& headspace, std::vector<std::string>& sentences) {
  std::vector<const HeadspaceRow*> worthwhile;
  bool any = false;
  for (const HeadspaceRow& row : headspace.rows) {
    if (row.subject != HeadspaceSubject::kCache || !row.ran()) continue;
    any = true;
    if (row.images_per_s() >= headspace.loader_images_per_s() * kWorthwhile) worthwhile.push_back(&row);
  }
  std::sort(worthwhile.begin(), worthwhile.end(),
            [](const auto* a, const auto* b) { return a->images_per_s() > b->images_per_s(); });
  for (const HeadspaceRow* row : worthwhile) sentences.push_back(cache_sentence(headspace, *row));
  if (any && worthwhile.empty())
    sentences.push_back("No form of the cache makes the pipeline faster by a tenth or more.");
}

std::string threads_sentence(const Headspace& headspace, const HeadspaceRow& whole) {
  const HeadspaceRow* fewer = row_of(headspace, HeadspaceSubject::kThreads);
  const bool by_storage = headspace.loader_images_per_s() * kWorthwhile < whole.images_per_s();
  if (!fewer || fewer->threads == 0 || by_storage || is_robbed(headspace, whole)) return "";
  const double gain = whole.images_per_s() / fewer->images_per_s();
  const double part = gain * fewer->threads / headspace.threads;
  const std::string text = counted(headspace.threads, "decode thread") + " give " + times_text(gain) +
                           " as many images/s as " + counted(fewer->threads, "thread");
  if (gain < kWorthwhile) {
    return counted(headspace.threads, "decode thread") + " give no more images/s than " +
           counted(fewer->threads, "thread") + ": more cores would not help.";
  }
  if (part >= kScales) return text + ": more cores would help about as much.";
  return text + ", which is " + percent_text(part) +
         " of what as many times the threads could give: more cores would help less.";
}

std::string hand_over_sentence(const Headspace& headspace) {
  const HeadspaceRow* hand_over = row_of(headspace, HeadspaceSubject::kHandOver);
  const double demand = headspace.demand();
  if (!hand_over || demand == 0 || hand_over->images_per_s() >= demand * kHandOverMargin) return "";
  return "Handing batches over gives only " + rate_of(hand_over->images_per_s()) +
         ": larger batches cost the trainer less time for each.";
}

std::string noise_sentence(const Headspace& headspace) {
  const HeadspaceRow* worst = nullptr;
  double most = kNoisy;
  for (const HeadspaceRow& row : headspace.rows) {
    if (!row.ran() || row.subject == HeadspaceSubject::kHandOver) continue;
    const double apart = (row.fastest() - row.slowest()) / row.images_per_s();
    if (apart > most) {
      most = apart;
      worst = &row;
    }
  }
  if (!worst) return "";
  return "The rounds of the row \"" + worst->name + "\" differ by " + percent_text(most) +
         ": run the bench again on a quiet machine, or with more --seconds.";
}

}  // namespace

std::vector<std::string> recommendation(const Headspace& headspace) {
  const HeadspaceRow* whole = headspace.whole();
  if (headspace.loader_images_per_s() <= 0) return {"The whole pipeline did not run, so nothing can be compared."};
  std::vector<std::string> sentences = {against_trainer(headspace), limit_of(headspace, *whole)};
  add_caches(headspace, sentences);
  for (std::string& sentence :
       std::vector{threads_sentence(headspace, *whole), hand_over_sentence(headspace), noise_sentence(headspace)}) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace spdld::cli
