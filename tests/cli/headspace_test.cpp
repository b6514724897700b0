// What bench --headspace makes of a pipeline's spec, and what it says about made-up rows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/cli/bench/headspace.h"
#include "config/checks/load.h"

namespace spdld::headspace_test {

using namespace spdld::cli;
namespace {

constexpr Page kWide{false, 200};

HeadspaceRow row(HeadspaceSubject subject, const std::string& name, double images_per_s, double cpu_ms = 1,
                 double busy = 1) {
  HeadspaceRow row;
  row.subject = subject, row.name = name;
  const double cores = 4 * busy;
  row.rounds = {{images_per_s * 0.98, cpu_ms, cores, busy}, {images_per_s * 1.02, cpu_ms, cores, busy}};
  return row;
}

HeadspaceRow cache_row(const std::string& form, double images_per_s, uint64_t kept, double bytes) {
  HeadspaceRow cached = row(HeadspaceSubject::kCache, "cache = \"" + form + "\"", images_per_s);
  cached.form = form, cached.kept = kept, cached.to_keep = 1000, cached.kept_bytes = bytes;
  return cached;
}

// Four threads that are busy all the time.
Headspace made_up(double trainer_ms = 0) {
  Headspace headspace;
  headspace.pipeline = "p", headspace.threads = 4, headspace.samples = 10'000, headspace.measured = 1000;
  headspace.step_samples = 64, headspace.trainer_ms = trainer_ms, headspace.memory_bytes = 16e9;
  headspace.rows = {row(HeadspaceSubject::kHandOver, "hand-over", 1e6),
                    row(HeadspaceSubject::kFetch, "fetch", 50'000, 0.02),
                    row(HeadspaceSubject::kOutputs, "to resize", 1200, 0.8),
                    row(HeadspaceSubject::kWhole, "whole", 1000, 1.0),
                    cache_row("encoded", 1020, 1000, 1e8),
                    cache_row("decoded", 4800, 1000, 4e8)};
  HeadspaceRow one = row(HeadspaceSubject::kThreads, "1 thread", 250);
  one.threads = 1;
  headspace.rows.push_back(one);
  return headspace;
}

std::string advice(const Headspace& headspace) {
  std::string text;
  for (const std::string& sentence : recommendation(headspace)) text += sentence + "\n";
  return text;
}

HeadspaceRow& of_subject(Headspace& headspace, HeadspaceSubject subject) {
  return *std::find_if(headspace.rows.begin(), headspace.rows.end(),
                       [subject](const auto& r) { return r.subject == subject; });
}

config::PipelineSpec spec_of(const std::string& outputs, const std::string& rest = "") {
  const auto loaded = config::load_pipeline_toml(
      "name = \"p\"\n[source]\ntype = \"image-folder\"\nuri = \"/pictures\"\n" + outputs + "[batch]\nsize = 8\n" + rest,
      "p.toml", "/");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  return *loaded.value;
}

const char* const kTraining =
    "[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [ { op = \"decode-image\" }, "
    "{ op = \"random-resized-crop\", size = [32, 32] }, { op = \"horizontal-flip\" }, "
    "{ op = \"normalize\", mean = [0.5, 0.5, 0.5], std = [0.2, 0.2, 0.2] } ]\n"
    "[[output]]\nname = \"label\"\nfrom = \"class\"\n";

std::vector<std::string> names_of(const std::vector<HeadspacePart>& parts) {
  std::vector<std::string> names;
  for (const HeadspacePart& part : parts) names.push_back(part.name);
  return names;
}

const HeadspacePart& part_of(const std::vector<HeadspacePart>& parts, const std::string& name) {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.name == name; });
  REQUIRE(found != parts.end());
  return *found;
}

}  // namespace

TEST_CASE("a loader with headspace, one that just keeps up, and one that holds its trainer back") {
  CHECK_THAT(advice(made_up(160)), Catch::Contains("has headspace: the trainer takes at most 400 images/s (64 samples "
                                                   "in 160 ms), and the pipeline gives 1,000 images/s, 2.5 x") &&
                                       !Catch::Contains("enough for the trainer"));
  CHECK_THAT(advice(made_up(64)), Catch::Contains("just keeps up"));
  const std::string back = advice(made_up(16));
  CHECK_THAT(back, Catch::Contains("holds the trainer back") && Catch::Contains("25 % of that"));
  CHECK_THAT(back, Catch::Contains("4.8 x the images/s (4,800), enough for the trainer"));
  CHECK_THAT(advice(made_up(10)), Catch::Contains("(4,800), still not enough for the trainer"));
  CHECK_THAT(advice(made_up()), Catch::Contains("not known") && Catch::Contains("SPDLD_REPLAY=1"));
}

TEST_CASE("what limits is fetching, the CPU, or neither") {
  Headspace headspace = made_up();
  CHECK_THAT(advice(headspace), Catch::Contains("The CPU limits") &&
                                    Catch::Contains("Of 1.00 ms of CPU for an image: fetch 0.02 ms, to resize 0.78 "
                                                    "ms, the rest 0.20 ms."));
  of_subject(headspace, HeadspaceSubject::kWhole) = row(HeadspaceSubject::kWhole, "whole", 1000, 1.0, 0.3);
  CHECK_THAT(advice(headspace), Catch::Contains("Neither fetching nor the CPU"));
  of_subject(headspace, HeadspaceSubject::kFetch) = row(HeadspaceSubject::kFetch, "fetch", 1100, 0.02);
  CHECK_THAT(advice(headspace), Catch::Contains("Fetching limits") && Catch::Contains("only 1,100 images/s"));
  of_subject(headspace, HeadspaceSubject::kWhole) = row(HeadspaceSubject::kWhole, "whole", 1000, 1.0, 1);
  CHECK_THAT(advice(headspace), Catch::Contains("The CPU limits"));
}

TEST_CASE("storage that is slower than the pipeline limits it, and caches gain against storage") {
  Headspace headspace = made_up(100);
  headspace.rows.push_back(row(HeadspaceSubject::kFetchAll, "fetch, all", 2000));
  CHECK_THAT(advice(headspace), Catch::Contains("The CPU limits") && Catch::Contains("4.8 x"));
  headspace.rows.back() = row(HeadspaceSubject::kFetchAll, "fetch, all", 200);
  CHECK(headspace.loader_images_per_s() == Approx(200));
  const std::string text = advice(headspace);
  CHECK_THAT(text, Catch::Contains("holds the trainer back") && Catch::Contains("gives 200 images/s, 31 % of that"));
  CHECK_THAT(text, Catch::Contains("Storage limits") && Catch::Contains("come at only 200 images/s"));
  CHECK_THAT(text, Catch::Contains("`cache = \"decoded\"` would give 24 x the images/s (4,800), enough"));
  CHECK_THAT(text, Catch::Contains("`cache = \"encoded\"` would give 5.1 x") && !Catch::Contains("more cores"));
  headspace.rows.back().fault = "cannot be read";
  CHECK(headspace.loader_images_per_s() == Approx(1000));
}

TEST_CASE("a form of the cache is named with its gain and its price, where it is worth it") {
  Headspace headspace = made_up();
  CHECK_THAT(advice(headspace), Catch::Contains("`cache = \"decoded\"` would give 4.8 x the images/s (4,800). All "
                                                "10,000 samples take about 3.7 GiB.") &&
                                    !Catch::Contains("encoded\"` would"));
  headspace.memory_bytes = 2e9;
  CHECK_THAT(advice(headspace), Catch::Contains("This machine has 1.9 GiB of memory"));
  of_subject(headspace, HeadspaceSubject::kCache) = cache_row("encoded", 2000, 400, 1e8);
  CHECK_THAT(advice(headspace),
             Catch::Contains("Only 400 of 1,000 samples were in the cache") && Catch::Contains("take about 2.3 GiB"));
  const std::string text = advice(headspace);
  CHECK(text.find("decoded") < text.find("encoded"));  // the best one first
  std::erase_if(headspace.rows, [](const auto& r) { return r.subject == HeadspaceSubject::kCache; });
  CHECK_THAT(advice(headspace), !Catch::Contains("cache"));
  headspace.rows.push_back(cache_row("decoded", 1050, 1000, 1e8));
  CHECK_THAT(advice(headspace), Catch::Contains("No form of the cache"));
}

TEST_CASE("more cores help where more threads did, and nothing is said where others took the cores") {
  Headspace headspace = made_up();
  const auto with_one = [&](double images_per_s) {
    of_subject(headspace, HeadspaceSubject::kThreads) = row(HeadspaceSubject::kThreads, "1 thread", images_per_s);
    of_subject(headspace, HeadspaceSubject::kThreads).threads = 1;
    return advice(headspace);
  };
  CHECK_THAT(with_one(250),
             Catch::Contains("4 decode threads give 4.0 x as many images/s as 1 thread: more cores would"));
  CHECK_THAT(with_one(500),
             Catch::Contains("2.0 x") && Catch::Contains("50 % of what") && Catch::Contains("help less"));
  CHECK_THAT(with_one(980), Catch::Contains("more cores would not help"));
  for (HeadspaceRound& round : of_subject(headspace, HeadspaceSubject::kWhole).rounds) round.cores = 1;
  CHECK_THAT(with_one(250), !Catch::Contains("more cores") && Catch::Contains("Other programs took CPU time") &&
                                Catch::Contains("got only 1.0 cores"));
}

TEST_CASE("noise, a slow hand-over and a failed whole are told") {
  Headspace headspace = made_up(16);
  CHECK_THAT(advice(headspace), !Catch::Contains("differ") && !Catch::Contains("Handing"));
  of_subject(headspace, HeadspaceSubject::kFetch).rounds[0].images_per_s = 30'000;
  CHECK_THAT(advice(headspace), Catch::Contains("The rounds of the row \"fetch\" differ by"));
  of_subject(headspace, HeadspaceSubject::kHandOver) = row(HeadspaceSubject::kHandOver, "hand-over", 8000);
  CHECK_THAT(advice(headspace), Catch::Contains("Handing batches over gives only 8,000 images/s"));
  of_subject(headspace, HeadspaceSubject::kWhole).fault = "no such folder";
  CHECK(headspace.whole() == nullptr);
  CHECK_THAT(advice(headspace), Catch::Contains("did not run"));
}

TEST_CASE("the table and the document have every row, also a row that did not run") {
  Headspace headspace = made_up(16);
  of_subject(headspace, HeadspaceSubject::kOutputs).fault = "no such operation";
  const std::string text = headspace_text(headspace, kWide);
  for (const char* words : {"hand-over", "fetch", "did not run: no such operation", "cache = \"decoded\"", "1 thread",
                            "1.00 x", "4.80 x", "1000 x", "1,000 of 1,000 samples kept", "of 10,000 samples"}) {
    CHECK_THAT(text, Catch::Contains(words));
  }
  const auto json = nlohmann::json::parse(headspace_json(headspace));
  REQUIRE(json.at("rows").size() == headspace.rows.size());
  CHECK(json.at("trainer_images_per_s") == Approx(4000));
  CHECK(json.at("recommendation").size() == recommendation(headspace).size());
  const auto& cached = json.at("rows").at(5);
  CHECK(cached.at("cache") == "decoded");
  CHECK(cached.at("of_whole") == Approx(4.8));
  CHECK(cached.at("images_per_s_min") == Approx(4800 * 0.98));
  CHECK(cached.at("bytes_kept") == 4e8);
  CHECK(json.at("rows").at(2).at("fault") == "no such operation");
  CHECK(!json.at("rows").at(2).contains("images_per_s"));
}

TEST_CASE("a pipeline is taken apart by its chain") {
  const auto parts = headspace_parts(spec_of(kTraining), 4);
  CHECK(names_of(parts) == std::vector<std::string>{"hand-over", "fetch", "fetch, all", "to random-resized-crop",
                                                    "to horizontal-flip", "whole", "cache = \"encoded\"",
                                                    "cache = \"indexed\"", "cache = \"packed\"", "cache = \"decoded\"",
                                                    "1 thread", "2 threads"});
  for (const HeadspacePart& part : parts) {
    CHECK(part.spec.order.epochs == 0);
    CHECK((part.spec.cache == config::CacheForm::kOff) == (part.subject != HeadspaceSubject::kCache));
    CHECK(config::load_pipeline_json(config::full_json(part.spec), "p"));
  }
  const auto& fetch = part_of(parts, "fetch").spec.outputs;
  REQUIRE(fetch.size() == 2);
  CHECK(fetch[0].ops.front().op == "bytes");
  CHECK(fetch[0].varying.length_max == 1);
  CHECK(fetch[0].varying.too_long == config::TooLong::kCut);
  CHECK(fetch[1].ops.empty());
  CHECK(part_of(parts, "2 threads").threads == 2);
  CHECK(names_of(headspace_parts(spec_of(kTraining), 1)).back() == "cache = \"decoded\"");
}

TEST_CASE("a chain whose cut would be the whole is not cut there, and a long chain is cut three times") {
  const auto parts =
      headspace_parts(spec_of("[[output]]\nname = \"image\"\nfrom = \"image\"\n"
                              "ops = [ { op = \"decode-image\" }, { op = \"resize\", size = [8, 8] } ]\n"),
                      1);
  CHECK(names_of(parts) == std::vector<std::string>{"hand-over", "fetch", "fetch, all", "whole", "cache = \"encoded\"",
                                                    "cache = \"indexed\"", "cache = \"packed\"",
                                                    "cache = \"decoded\""});
  const auto many = headspace_parts(
      spec_of("[[output]]\nname = \"image\"\nfrom = \"image\"\n"
              "ops = [ { op = \"decode-image\" }, { op = \"resize\", size = [8, 8] }, { op = \"horizontal-flip\" }, "
              "{ op = \"vertical-flip\" }, { op = \"invert\" }, { op = \"grayscale\" }, { op = \"equalize\" } ]\n"),
      1);
  CHECK(std::count_if(many.begin(), many.end(),
                      [](const auto& part) { return part.subject == HeadspaceSubject::kOutputs; }) == 3);
  CHECK(names_of(many)[3] == "to resize");
  CHECK(names_of(many)[5] == "to grayscale");
}

TEST_CASE("batches are not mixed but in the whole") {
  const auto parts = headspace_parts(
      spec_of(
          std::string("[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [ { op = \"decode-image\" }, "
                      "{ op = \"resize\", size = [8, 8] }, { op = \"normalize\", mean = [0.5, 0.5, 0.5], std = [0.2, "
                      "0.2, 0.2] } ]\n"
                      "[[output]]\nname = \"label\"\nfrom = \"class\"\nops = [ { op = \"one-hot\", classes = 4 } ]\n"),
          "ops = [ { op = \"mixup\", alpha = 0.2, images = [\"image\"], labels = [\"label\"] } ]\n"),
      1);
  for (const HeadspacePart& part : parts) {
    const bool is_part = part.subject == HeadspaceSubject::kFetch || part.subject == HeadspaceSubject::kFetchAll ||
                         part.subject == HeadspaceSubject::kOutputs;
    CHECK(part.spec.batch.ops.empty() == is_part);
  }
  CHECK(names_of(parts)[4] == "to normalize");
}

TEST_CASE("so many samples are taken at most, of each source its part") {
  config::PipelineSpec spec = spec_of(kTraining);
  CHECK(with_first(spec, 100).order.first == 100);
  spec.order.first = 7;
  CHECK(with_first(spec, 100).order.first == 7);
  spec.order.first = 0;
  spec.sources.push_back(spec.sources.front());
  const auto mix = with_first(spec, 100);
  CHECK(mix.order.first == 0);
  CHECK(mix.sources[0].first == 50);
  CHECK(mix.sources[1].first == 50);
}

TEST_CASE("every example of a pipeline can be taken apart") {
  int taken_apart = 0;
  for (const auto& file : std::filesystem::directory_iterator(SPDLD_EXAMPLES)) {
    std::ifstream stream(file.path());
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    if (file.path().extension() != ".toml" || config::guess_kind(text) != config::FileKind::kPipeline) continue;
    INFO(file.path());
    const auto loaded = config::load_pipeline_file(file.path());
    if (!loaded) continue;  // it names further files
    const auto parts = headspace_parts(*loaded.value, 8);
    CHECK(part_of(parts, "hand-over").subject == HeadspaceSubject::kHandOver);
    CHECK(part_of(parts, "whole").subject == HeadspaceSubject::kWhole);
    // Rows that an operation takes, by tile or by clip, cannot be fetched without it.
    const config::RowKind rows = loaded.value->rows.kind;
    const bool is_cut = rows == config::RowKind::kTiles || rows == config::RowKind::kClips;
    CHECK(part_of(parts, "fetch").fault.empty() == !is_cut);
    for (const HeadspacePart& part : parts) {
      INFO(part.name);
      if (!part.fault.empty()) continue;
      const auto again = config::load_pipeline_json(config::full_json(with_first(part.spec, 64)), "p");
      INFO(again.sentences());
      CHECK(again);
    }
    ++taken_apart;
  }
  CHECK(taken_apart > 5);
}

}  // namespace spdld::headspace_test
