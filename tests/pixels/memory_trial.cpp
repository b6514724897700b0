// Compares what samples say that they take with what they take.
//
//   memory_trial OPERATIONS FILE...
//
// OPERATIONS is a file of lines "NAME OPS": a name for what is printed, and the operations of an output in TOML. Each
// file is decoded by each line's operations with objects that were never used before, so that all of its memory is
// taken anew. It prints a line for each fault: a sample that has taken more than it asked for, or has asked for far
// more than it took.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "daemon/pipeline/plan.h"
#include "tests/pipeline/fake_source.h"
#include "tests/support/allocations.h"

namespace {

using namespace spdld;

// Beside what is asked for: the decoders themselves, with their tables, and small things.
constexpr double kUnasked = 3 << 20;
// The sum that is asked for is at most so many times what is taken, where it is much: estimates know no more than a
// header. A JPEG XL may refer to four earlier frames, which few files have. libtiff's JPEG codec has up to 64 MiB.
constexpr double kFactor = 6, kFactorOfJxl = 12, kMuch = 72 << 20;

struct Way {
  std::string name;
  std::unique_ptr<pipeline::Plan> plan;
};

struct Trial {
  int faults = 0, trials = 0, refused = 0;
  double largest_share = 0;  // taken of what was asked for
};

Way way_of(const std::string& line, const source::Listing& listing) {
  std::istringstream words(line);
  std::string name, ops;
  words >> name;
  std::getline(words, ops);
  const auto spec = config::load_pipeline_toml(
      "name = \"t\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[batch]\nsize = 1\n"
      "[[output]]\nname = \"out\"\nfrom = \"text\"\nops = [" +
          ops + "]\n",
      "ops.toml");
  if (!spec) throw std::runtime_error(line + ": " + spec.sentences());
  return {name, std::make_unique<pipeline::Plan>(*spec.value, listing)};
}

void try_one(const std::string& file, const std::vector<uint8_t>& bytes, const Way& way, const source::Listing& listing,
             Trial& trial) {
  const batch::Layout layout(way.plan->tensors(), 1, size_t{1} << 30);
  std::vector<uint8_t> slot(layout.slot_bytes());
  pipeline::FieldBytes field;
  field.bytes = bytes;
  batch::Contents contents;
  batch::clear(layout, contents, 0);
  const long long before = test::allocated_bytes();
  test::restart_peak();
  Status status = Done{};
  double asked = 0;
  {
    pipeline::DecodeContext context;
    status = way.plan->run({listing, 1, {&field, 1}}, {1, 2, 3}, context, {layout, slot.data(), 0, &contents});
    asked = static_cast<double>(context.workspace.memory().needed_bytes());
  }
  const auto taken = static_cast<double>(test::allocated_peak_bytes() - before);
  ++trial.trials;
  if (!status) ++trial.refused;
  trial.largest_share = std::max(trial.largest_share, (taken - kUnasked) / std::max(asked, 1.0));
  const double factor = file.ends_with(".jxl") ? kFactorOfJxl : kFactor;
  const bool is_low = taken > asked + kUnasked, is_high = status && asked > kMuch && asked > factor * taken;
  if (std::getenv("SPDLD_ALL") != nullptr || is_low || is_high)
    std::printf("%s %s %s: asked for %.2f MiB, took %.2f MiB%s\n", is_low || is_high ? "FAILED" : "fine",
                way.name.c_str(), file.c_str(), asked / (1 << 20), taken / (1 << 20),
                status ? "" : (" (" + status.error().message + ")").c_str());
  trial.faults += is_low || is_high;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return std::fprintf(stderr, "usage: memory_trial OPERATIONS FILE...\n"), 2;
  const test::FakeListing listing(10);
  std::vector<Way> ways;
  std::ifstream lines(argv[1]);
  for (std::string line; std::getline(lines, line);) ways.push_back(way_of(line, listing));
  Trial trial;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    for (const Way& way : ways) try_one(argv[i], bytes, way, listing, trial);
  }
  std::printf("%d trials, %d refused, %d faults; at most %.2f of what was asked for was taken\n", trial.trials,
              trial.refused, trial.faults, trial.largest_share);
  return trial.faults == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
