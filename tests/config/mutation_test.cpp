// Texts that were damaged at random: whatever they are, they give a value or a complaint, and a value goes round.
#include <array>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/config/expect.h"
#include "tests/support/rounds.h"

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

constexpr int kMutations = test::rounds(3000);

// `load` takes a text and gives a Loaded; `is_right` says whether that is as it must be.
template <typename Load, typename IsRight>
void damage(const std::string& text, uint32_t seed, const Load& load, const IsRight& is_right) {
  Mutator mutator(seed);
  int values = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto damaged = mutator.mutate(text);
    const auto loaded = load(damaged);
    if (!is_value_or_complaint(loaded) || !is_right(loaded)) FAIL(damaged << loaded.sentences());
    values += loaded ? 1 : 0;
  }
  CHECK(values > 0);  // comments are most of an example
  CHECK(values < kMutations);
}

Loaded<PipelineSpec> load_toml(const std::string& text) { return load_pipeline_toml(text, "p.toml", "/files"); }

}  // namespace

TEST_CASE("damaged TOML pipelines", "[config]") { damage(example("imagenet-train.toml"), 1, load_toml, goes_round); }

TEST_CASE("damaged views", "[config]") {
  for (const char* name : {"segmentation.toml", "detection.toml"}) damage(example(name), 4, load_toml, goes_round);
}

TEST_CASE("damaged functions", "[config]") {
  damage(example("python.toml"), 5, load_toml, goes_round);
  const std::string chain = with_line(
      11, R"(ops = [{ op = "python", call = "a.b:C.d", code = "0f", gives = { dtype = "uint8", shape = [-1, 4] } }]
ragged = true
length_max = 9
[python]
processes = 2)");
  damage(chain, 6, load_toml, goes_round);
  const std::string plugin = with_line(
      11,
      R"(ops = [{ op = "plugin", library = "a.so", call = "b", settings = "c=1", code = "0f", gives = "uint8 [-1, 4]" }]
ragged = true
length_max = 9)");
  damage(plugin, 7, load_toml, goes_round);
}

TEST_CASE("damaged JSON pipelines", "[config]") {
  const auto spec = load_pipeline_toml(example("webdataset.toml"), "p.toml", "/files");
  REQUIRE(spec);
  const auto load = [](const std::string& text) { return load_pipeline_json(text, "spec", "/files"); };
  damage(full_json(*spec.value), 2, load, goes_round);
}

TEST_CASE("damaged daemon files", "[config]") {
  const auto load = [](const std::string& text) { return load_daemon_toml(text, "spdld.toml"); };
  damage(example("spdld.toml"), 3, load, [](const auto&) { return true; });
}

}  // namespace spdld::config::mutation_test
