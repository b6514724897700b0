// Texts that were damaged at random: whatever they are, they give a value or a complaint, and a value goes round.
#include <array>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/config/expect.h"

namespace spdld::config::mutation_test {
namespace {

std::string example(const std::string& name) {
  std::ifstream stream(std::string(SPDLD_EXAMPLES) + "/" + name, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  REQUIRE(text.str().size() > 100);
  return text.str();
}

// One to four changes: a byte, a piece left out, a piece repeated elsewhere, or a word that means something.
class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    const size_t changes = 1 + pick(4);
    for (size_t i = 0; i < changes; ++i) change(text);
    return text;
  }

 private:
  size_t pick(size_t below) { return random_() % below; }  // mt19937 is the same everywhere, distributions are not

  void change(std::string& text) {
    static constexpr std::array<std::string_view, 20> kWords = {
        "[",       "]",           "{",   "}",   "\"",   "=",    "\n", ".",  ",",
        "-1",      "1e308",       "nan", "inf", "null", "\"\"", "[]", "{}", "99999999999999999999",
        "\\u0000", "[[output]]\n"};
    const size_t at = pick(text.size() + 1), length = pick(24);
    switch (pick(4)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(pick(256));
        return;
      case 1:
        text.erase(at, length);
        return;
      case 2:
        text.insert(pick(text.size() + 1), text.substr(at, length));
        return;
      default:
        text.insert(at, kWords[pick(kWords.size())]);
        return;
    }
  }

  std::mt19937 random_;
};

template <typename T>
bool is_value_or_complaint(const Loaded<T>& loaded) {
  if (loaded.value.has_value()) return loaded.complaints.empty();
  for (const auto& complaint : loaded.complaints) {
    if (complaint.text.empty() || complaint.sentence().find('\n') != std::string::npos) return false;
  }
  return !loaded.complaints.empty();
}

bool goes_round(const Loaded<PipelineSpec>& loaded) {
  if (!loaded) return true;
  const auto text = full_json(*loaded.value);
  const auto again = load_pipeline_json(text, "again");
  return again && full_json(*again.value) == text;
}

constexpr int kMutations = 3000;

}  // namespace

TEST_CASE("damaged TOML pipelines", "[config]") {
  const std::string text = example("imagenet-train.toml");
  Mutator mutator(1);
  int values = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto damaged = mutator.mutate(text);
    const auto loaded = load_pipeline_toml(damaged, "p.toml", "/files");
    if (!is_value_or_complaint(loaded) || !goes_round(loaded)) FAIL(damaged << loaded.sentences());
    values += loaded ? 1 : 0;
  }
  CHECK(values > 0);  // comments are most of an example
  CHECK(values < kMutations);
}

TEST_CASE("damaged JSON pipelines", "[config]") {
  const auto spec = load_pipeline_toml(example("webdataset.toml"), "p.toml", "/files");
  REQUIRE(spec);
  const std::string text = full_json(*spec.value);
  Mutator mutator(2);
  int values = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto damaged = mutator.mutate(text);
    const auto loaded = load_pipeline_json(damaged, "spec", "/files");
    if (!is_value_or_complaint(loaded) || !goes_round(loaded)) FAIL(damaged << loaded.sentences());
    values += loaded ? 1 : 0;
  }
  CHECK(values > 0);
  CHECK(values < kMutations);
}

TEST_CASE("damaged daemon files", "[config]") {
  const std::string text = example("spdld.toml");
  Mutator mutator(3);
  int values = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto damaged = mutator.mutate(text);
    const auto loaded = load_daemon_toml(damaged, "spdld.toml");
    if (!is_value_or_complaint(loaded)) FAIL(damaged << loaded.sentences());
    values += loaded ? 1 : 0;
  }
  CHECK(values > 0);
  CHECK(values < kMutations);
}

}  // namespace spdld::config::mutation_test
