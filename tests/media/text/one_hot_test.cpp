// Classes as vectors: each element's value, labels that are no class, and parameters that make no sense together.
#include <catch2/catch.hpp>
#include <cstring>

#include "config/checks/load.h"
#include "config/operation.h"
#include "daemon/media/chain.h"

namespace spdld::one_hot_test {
namespace {

config::OperationSpec one_hot(int64_t classes, double smoothing, const std::string& dtype) {
  return {"one-hot", {{"classes", classes}, {"smoothing", smoothing}, {"dtype", dtype}}, {}};
}

// The vector of a class.
template <typename T>
Result<std::vector<T>> vector_of(const config::OperationSpec& spec, int64_t value) {
  const std::vector ops = {spec};
  const media::Chain chain(ops, config::follow(ops, config::integer()), "target");
  std::vector<T> vector(static_cast<size_t>(spec.integer("classes")), T{77});
  const media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(vector.data())};
  media::Workspace workspace;
  const Status status = chain.run({.integer = value}, {0, {}, workspace, nullptr, {&out, 1}});
  if (!status) return status.error();
  return vector;
}

TEST_CASE("a class is 1 and the others are 0", "[media]") {
  CHECK(*vector_of<float>(one_hot(4, 0, "float32"), 0) == std::vector<float>{1, 0, 0, 0});
  CHECK(*vector_of<float>(one_hot(4, 0, "float32"), 3) == std::vector<float>{0, 0, 0, 1});
  CHECK(*vector_of<uint8_t>(one_hot(3, 0, "uint8"), 1) == std::vector<uint8_t>{0, 1, 0});
  CHECK(*vector_of<double>(one_hot(1, 0, "float64"), 0) == std::vector<double>{1});
}

// torch's label_smoothing: (1 - s) * one_hot + s / classes.
TEST_CASE("smoothing shares a part among all classes", "[media]") {
  const auto vector = *vector_of<double>(one_hot(4, 0.1, "float64"), 2);
  CHECK(vector[0] == Approx(0.025));
  CHECK(vector[2] == Approx(0.925));
  CHECK(vector[0] + vector[1] + vector[2] + vector[3] == Approx(1));
  CHECK((*vector_of<float>(one_hot(2, 1, "float32"), 0))[1] == Approx(0.5));
}

TEST_CASE("a label that is no class is bad content", "[media]") {
  for (const int64_t value : {int64_t{-1}, int64_t{4}, INT64_MIN, INT64_MAX}) {
    const auto vector = vector_of<float>(one_hot(4, 0, "float32"), value);
    REQUIRE_FALSE(vector);
    CHECK(vector.error().trouble == Trouble::kContent);
    CHECK(vector.error().message == "output 'target': " + std::to_string(value) + " is no class from 0 to 3");
  }
}

TEST_CASE("smoothed labels need fractions", "[media]") {
  const auto load = [](const std::string& rest) {
    return config::load_pipeline_toml(
        "name = \"t\"\n[source]\ntype = \"image-folder\"\nuri = \"/\"\n[batch]\nsize = 1\n[[output]]\nname = \"a\"\n"
        "from = \"class\"\nops = [{ op = \"one-hot\", classes = 10" +
            rest + " }]\n",
        "t.toml");
  };
  CHECK(load(", smoothing = 0.1"));
  CHECK(load(", dtype = \"uint8\""));
  const auto both = load(", smoothing = 0.1, dtype = \"uint8\"");
  REQUIRE(both.complaints.size() == 1);
  CHECK(both.complaints[0].key == "output[0].ops[0].smoothing");
}

}  // namespace
}  // namespace spdld::one_hot_test
