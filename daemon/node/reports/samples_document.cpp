#include "daemon/node/reports/samples_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

#include "config/text/json.h"
#include "config/text/words.h"
#include "daemon/node/reports/description.h"
#include "daemon/node/reports/words.h"
#include "daemon/pipeline/ledger.h"
#include "daemon/source/lists/sample_list.h"

namespace spdld::node {
namespace {

using config::Json;

constexpr size_t kSampleIdsMax = 1000;
constexpr size_t kBytesMax = size_t{1} << 20;  // some 10 ms of the control thread
constexpr uint64_t kWorldSizeMax = 1u << 20;
constexpr std::string_view kGroupWord = " group ";

Error usage(const std::string& what) { return {Trouble::kUsage, what}; }

// As many lines of an exported listing as an answer may have; the next query goes on behind them.
Result<std::string> lines_document(const Pipelines::Entry& entry, std::istringstream& words) {
  const source::Listing& listing = entry.pipeline->listing();
  uint64_t sample = 0;
  if (!(words >> sample) || sample > listing.size())
    return usage("\"from\" needs a sample of pipeline " + entry.shown_name + ", which has " +
                 std::to_string(listing.size()));
  std::string lines = sample == 0 ? source::exported_head(listing) : "";
  for (; sample < listing.size() && lines.size() < kBytesMax; sample++) source::append_exported(lines, listing, sample);
  return Json{
      {"fingerprint", listing.fingerprint()}, {"listed", listing.size()}, {"next", sample}, {"lines", std::move(lines)}}
      .dump();
}

Result<std::string> names_document(const Pipelines::Entry& entry, std::istringstream& ids) {
  const source::Listing& listing = entry.pipeline->listing();
  Json samples = Json::array();
  for (std::string word; ids >> word;) {
    const auto id = number_in<uint64_t>(word);
    if (!id || *id >= listing.size())
      return usage("'" + config::printable(word) + "' is no sample of pipeline " + entry.shown_name + ", which has " +
                   std::to_string(listing.size()));
    if (samples.size() == kSampleIdsMax) return Error{Trouble::kLimit, "at most 1000 samples can be asked for at once"};
    samples.push_back({{"id", *id}, {"name", listing.name(*id)}});
  }
  return Json{{"samples", samples}}.dump();
}

// A question about a step. A world size and a batch size of 0: as the job has them.
struct StepQuestion {
  sampler::Position at;
  uint64_t rank = 0, world_size = 0, batch_size = 0, from = 0;
};

std::optional<StepQuestion> step_question_in(std::istringstream& words) {
  std::array<uint64_t, 6> numbers{};
  for (uint64_t& number : numbers) {
    std::string word;
    const auto read = words >> word ? number_in<uint64_t>(word) : std::nullopt;
    if (!read) return std::nullopt;
    number = *read;
  }
  if (std::string more; words >> more) return std::nullopt;
  return StepQuestion{{numbers[0], numbers[1]}, numbers[2], numbers[3], numbers[4], numbers[5]};
}

// The cut of the pipeline's jobs, or of this job; none: there is no job. An error: its jobs differ.
Result<std::optional<sampler::Sharding>> cut_of_jobs(const State& state, const Pipelines::Entry& entry,
                                                     const std::string& group) {
  std::optional<sampler::Sharding> cut;
  for (const auto& [key, feed] : feeds_of(state, entry)) {
    if (!group.empty() && !feed->has_job(group)) continue;
    const sampler::Sharding& sharding = feed->sharding();
    const bool is_same =
        !cut || (cut->world_size() == sharding.world_size() && cut->global_size() == sharding.global_size());
    if (!is_same)
      return usage("the jobs of pipeline " + entry.shown_name +
                   " cut its epochs into other steps: say which by a world size and a batch size");
    if (!cut) cut = sharding;
  }
  return cut;
}

// Throws SetupError where there is no such cut.
Result<sampler::Sharding> cut_for(const State& state, const Pipelines::Entry& entry, const StepQuestion& question,
                                  const std::string& group) {
  const pipeline::Pipeline& pipeline = *entry.pipeline;
  const auto check_rank = [&](uint64_t world_size) {
    if (question.rank >= world_size)
      throw SetupError(Trouble::kUsage, "there is no rank " + std::to_string(question.rank) + " of " +
                                            std::to_string(world_size) + ", counted from 0");
  };
  if (question.world_size > kWorldSizeMax) return usage("a world size is at most " + std::to_string(kWorldSizeMax));
  if (question.world_size == 0 && question.batch_size == 0) {
    auto of_jobs = cut_of_jobs(state, entry, group);
    if (!of_jobs) return of_jobs.error();
    if (*of_jobs) {
      check_rank((*of_jobs)->world_size());
      return (*of_jobs)->of_rank(question.rank);
    }
  }
  config::BatchSpec batch = pipeline.spec().batch;
  if (question.batch_size > 0 && batch.cost)
    return usage("the batches of pipeline " + entry.shown_name +
                 " are bounded by their cost, and have no batch size of their own");
  if (question.batch_size > 0) {
    batch.size = question.batch_size;
    batch.global_size = 0;
  }
  const uint64_t world_size = std::max<uint64_t>(question.world_size, 1);
  check_rank(world_size);
  return pipeline.sharding(batch, question.rank, world_size);
}

Result<std::string> step_document(const State& state, const Pipelines::Entry& entry, const StepQuestion& question,
                                  const std::string& group) try {
  const auto cut = cut_for(state, entry, question, group);
  if (!cut) return cut.error();
  const auto page = pipeline::samples_of(*entry.pipeline, *cut, question.at, question.from);
  if (!page) return page.error();
  const source::Listing& listing = entry.pipeline->listing();
  Json samples = Json::array();
  if (*page) {
    size_t bytes = 0;
    for (const uint64_t id : (*page)->ids) {
      if (bytes >= kBytesMax) break;
      std::string name = listing.name(id);
      bytes += name.size();
      samples.push_back({{"id", id}, {"name", std::move(name)}});
    }
  }
  const sampler::Slice slice = *page ? (*page)->slice : sampler::Slice();
  const uint64_t next = std::min(question.from, slice.count) + samples.size();
  return Json{{"pipeline", entry.shown_name},
              {"fingerprint", entry.pipeline->fingerprint(*cut)},
              {"epoch", question.at.epoch},
              {"step", question.at.step},
              {"steps_per_epoch", cut->steps()},
              {"rank", question.rank},
              {"world_size", cut->world_size()},
              {"batch_size", cut->batch_size()},
              {"is_drawn", page->has_value()},
              {"first", slice.first},
              {"count", slice.count},
              {"padded", slice.padded},
              {"next", next},
              {"samples", std::move(samples)}}
      .dump();
} catch (const SetupError& error) {
  return error.error();
}

}  // namespace

Question question_in(std::string_view argument) {
  Question question;
  const size_t group = argument.find(kGroupWord);
  if (group != std::string_view::npos) {
    question.group = argument.substr(group + kGroupWord.size());
    argument = argument.substr(0, group);
  }
  std::istringstream words{std::string(argument)};
  words >> question.name;
  std::getline(words, question.rest);
  return question;
}

Result<std::string> samples_document(const State& state, const Pipelines::Entry& entry, const Question& question) {
  std::istringstream words(question.rest);
  std::string first;
  words >> first;
  if (first == "from") return lines_document(entry, words);
  if (first == "step") {
    const auto step = step_question_in(words);
    if (!step)
      return usage(
          "\"step\" takes an epoch, a step, a rank, a world size, a batch size and the first sample: six "
          "numbers");
    return step_document(state, entry, *step, question.group);
  }
  std::istringstream ids(question.rest);
  return names_document(entry, ids);
}

}  // namespace spdld::node
