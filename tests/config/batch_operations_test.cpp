// [batch] ops: what is read, what is refused and with which words, and that a spec without it keeps its text.
#include "config/batch_operation.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "config/catalogue.h"
#include "config/checks/load.h"

namespace spdld::config::batch_operations_test {

namespace {

std::string text_of(const std::string& batch) {
  return "name = \"m\"\n[source]\ntype = \"image-folder\"\nuri = \"/data\"\n"
         "[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, "
         "{ op = \"resize\", size = [8, 8] }]\n"
         "[[output]]\nname = \"small\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, "
         "{ op = \"resize\", size = [8, 6] }]\n"
         "[[output]]\nname = \"y\"\nfrom = \"class\"\nops = [{ op = \"one-hot\", classes = 3 }]\n"
         "[[output]]\nname = \"bits\"\nfrom = \"class\"\nops = [{ op = \"one-hot\", classes = 3, dtype = \"uint8\" }]\n"
         "[[output]]\nname = \"n\"\nfrom = \"class\"\n[batch]\nsize = 8\n" +
         batch;
}

std::string refusal(const std::string& batch) {
  const auto loaded = load_pipeline_toml(text_of(batch), "m.toml");
  CHECK_FALSE(loaded);
  return loaded.sentences();
}

std::string op(const std::string& name, const std::string& rest) {
  return "{ op = \"" + name + "\", images = [\"image\"]" + rest + " }";
}

}  // namespace

TEST_CASE("operations on batches are read, with their defaults", "[config]") {
  const auto loaded = load_pipeline_toml(text_of("ops = [" + op("mixup", ", labels = [\"y\"], share = 0.25") + ", " +
                                                 op("cutmix", ", share = 0.75") + "]\nlam = \"lam\"\n"),
                                         "m.toml");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  const BatchSpec& batch = loaded.value->batch;
  REQUIRE(batch.ops.size() == 2);
  CHECK(batch.group == 2);
  CHECK((batch.lam == "lam" && batch.partner.empty()));
  CHECK((batch.ops[0].op == "mixup" && batch.ops[0].share == 0.25 && batch.ops[0].number("alpha") == 0.2));
  CHECK(batch.ops[0].labels == std::vector<std::string>{"y"});
  CHECK((batch.ops[1].number("alpha") == 1 && batch.ops[1].labels.empty()));
}

TEST_CASE("a spec with operations on batches is read again as it was, and one without has no new key", "[config]") {
  std::mt19937 random(5);
  for (int i = 0; i < 200; i++) {
    const auto share = [&] { return ", share = 0." + std::to_string(1 + random() % 5); };
    const std::string alpha = random() % 2 ? ", alpha = " + std::to_string(1 + random() % 90) + ".25" : "";
    std::string ops =
        op(random() % 2 ? "mixup" : "cutmix", share() + alpha + (random() % 2 ? ", labels = [\"y\"]" : ""));
    if (random() % 2) ops += ", " + op("mixup", share());
    std::string text = text_of("ops = [" + ops + "]\n");
    if (random() % 2) text += "group = " + std::to_string(2 << random() % 3) + "\n";
    if (random() % 2) text += "lam = \"a\"\n";
    if (random() % 2) text += "partner = \"b\"\n";
    const auto loaded = load_pipeline_toml(text, "m.toml");
    INFO(text << loaded.sentences());
    REQUIRE(loaded);
    const auto again = load_pipeline_json(full_json(*loaded.value), "again");
    INFO(again.sentences());
    REQUIRE(again);
    REQUIRE(full_json(*again.value) == full_json(*loaded.value));
    REQUIRE(canonical_json(*again.value) == canonical_json(*loaded.value));
  }
  const auto plain = load_pipeline_toml(text_of(""), "m.toml");
  REQUIRE(plain);
  CHECK_THAT(canonical_json(*plain.value), Catch::Contains("\"batch\":{\"last\":\"short\"}"));
  const auto mixes = load_pipeline_toml(text_of("ops = [" + op("mixup", "") + "]\n"), "m.toml");
  CHECK(canonical_json(*mixes.value) != canonical_json(*plain.value));
}

TEST_CASE("what can't be mixed is refused with a sentence", "[config]") {
  using Catch::Contains;
  const auto one = [](const std::string& text) { return refusal("ops = [" + text + "]\n"); };
  CHECK_THAT(one(op("mixup", ", labels = [\"n\"]")), Contains("add { op = \"one-hot\", classes = N }"));
  CHECK_THAT(one(op("mixup", ", labels = [\"bits\"]")), Contains("dtype = \"float32\""));
  CHECK_THAT(one(op("mixup", ", labels = [\"image\"]")), Contains("again"));
  CHECK_THAT(one(op("mixup", ", labels = [\"yy\"]")), Contains("did you mean \"y\"?"));
  CHECK_THAT(one("{ op = \"mixup\", images = [\"n\"] }"), Contains("is int64"));
  CHECK_THAT(one("{ op = \"cutmix\", images = [\"y\"] }"), Contains("is no picture"));
  CHECK_THAT(one("{ op = \"cutmix\", images = [\"image\", \"small\"] }"), Contains("as high and as wide"));
  CHECK_THAT(one("{ op = \"cutmux\", images = [\"image\"] }"), Contains("did you mean \"cutmix\"?"));
  CHECK_THAT(one("{ op = \"mixup\" }"), Contains("must name one or more outputs"));
  CHECK_THAT(one(op("mixup", ", alpha = 0")), Contains("alpha"));
  CHECK_THAT(one(op("mixup", ", beta = 1")), Contains("beta"));
  CHECK_THAT(one(op("mixup", "") + ", " + op("cutmix", ", share = 0.5")), Contains("must say its share"));
  CHECK_THAT(one(op("mixup", ", share = 0.6") + ", " + op("cutmix", ", share = 0.5")), Contains("at most 1"));
  CHECK_THAT(one(""), Contains("must have 1 to 8 operations"));
  CHECK_THAT(refusal("ops = [" + op("mixup", "") + "]\ngroup = 3\n"), Contains("must divide size, which is 8"));
  CHECK_THAT(refusal("ops = [" + op("mixup", "") + "]\ngroup = 4\n[order]\nrepeats = 3\n"),
             Contains("must be at least 6") && Contains("order.repeats"));
  CHECK_THAT(refusal("ops = [" + op("mixup", "") + "]\nlam = \"y\"\n"), Contains("another tensor"));
  CHECK_THAT(refusal("ops = [" + op("mixup", "") + "]\nlam = \"a\"\npartner = \"a\"\n"), Contains("another tensor"));
  CHECK_THAT(refusal("group = 2\n"), Contains("may only stand beside ops"));
}

TEST_CASE("a mosaic takes a picture with all lists of its view", "[config]") {
  using Catch::Contains;
  const auto load = [](const std::string& keys, const std::string& further = "", const std::string& group = "4") {
    const auto list = [](const std::string& name, const std::string& ops) {
      return "[[output]]\nname = \"" + name + "\"\nfrom = \"" + name + "\"\nview = \"v\"\nops = [" + ops +
             "]\nragged = true\nlength_max = 9\n";
    };
    return load_pipeline_toml(
        "name = \"m\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[[output]]\nname = \"image\"\nfrom = "
        "\"jpg\"\nview = \"v\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size = [8, 8] }]\n[[output]]\n"
        "name = \"plain\"\nfrom = \"jpg\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size = [8, 8] }]\n" +
            list("boxes", "{ op = \"boxes\" }") + list("labels", "{ op = \"keep-with\", of = \"boxes\" }") +
            list("masks", "{ op = \"instance-masks\", of = \"boxes\" }") + further + "[batch]\nsize = 8\ngroup = " +
            group + "\nops = [{ " + (keys.starts_with("op =") ? "" : "op = \"mosaic\", ") + keys + " }]\n",
        "m.toml");
  };
  const std::string image = "images = [\"image\"], ", boxes = "boxes = \"boxes\", ",
                    labels = "labels = [\"labels\", \"masks\"]";
  const auto good = load(image + boxes + labels);
  INFO(good.sentences());
  REQUIRE(good);
  CHECK(good.value->batch.ops.front().numbers("center") == std::vector<double>{0, 1});
  CHECK_THAT(load(image + boxes + labels, "", "2").sentences(), Contains("must be at least 4"));
  CHECK_THAT(load(image + labels).sentences(), Contains("boxes: is missing"));
  CHECK_THAT(load("images = [\"image\", \"plain\"], " + boxes + labels).sentences(), Contains("must name one output"));
  CHECK_THAT(load("images = [\"plain\"], " + boxes + labels).sentences(),
             Contains("must name an output with boxes in the view of \"plain\""));
  CHECK_THAT(load(image + "boxes = \"labels\", " + labels).sentences(), Contains("\"labels\" is none"));
  CHECK_THAT(load(image + "boxes = \"x\", " + labels).sentences(), Contains("\"x\" is none"));
  CHECK_THAT(load("images = [\"boxes\"], " + boxes + labels).sentences(), Contains("several sizes"));
  CHECK_THAT(load(image + boxes + "labels = [\"labels\"]").sentences(), Contains("must name \"masks\" once"));
  CHECK_THAT(load(image + boxes + "labels = [\"labels\", \"masks\", \"masks\"]").sentences(),
             Contains("must name \"masks\" once"));
  CHECK_THAT(load(image + boxes + "labels = [\"labels\", \"masks\", \"plain\"]").sentences(),
             Contains("\"plain\" is no list that keeps the rows of \"boxes\""));
  const std::string paste = "op = \"copy-paste\", " + image + boxes + labels;
  const auto pastes = load(paste + ", masks = \"masks\"", "", "2");
  INFO(pastes.sentences());
  CHECK(pastes);
  CHECK_THAT(load(paste).sentences(), Contains("masks: is missing"));
  for (const char* name : {"labels", "boxes", "x"})
    CHECK_THAT(load(paste + ", masks = \"" + name + "\"").sentences(),
               Contains("must name one of labels with masks of objects"));
  const std::string points =
      "[[output]]\nname = \"points\"\nfrom = \"p\"\nview = \"v\"\nops = [{ op = \"points\" }]\nragged = "
      "true\nlength_max = 9\n";
  CHECK_THAT(load(image + boxes + labels, points).sentences(), Contains("must name \"points\" once"));
}

TEST_CASE("a warped mosaic takes a picture of uint8, and the box of its border", "[config]") {
  using Catch::Contains;
  const auto load = [](const std::string& end, const std::string& further) {
    return load_pipeline_toml(
        "name = \"m\"\n[source]\ntype = \"webdataset\"\nuri = \"/a.tar\"\n[[output]]\nname = \"image\"\nfrom = "
        "\"jpg\"\nview = \"v\"\nops = [{ op = \"decode-image\" }, { op = \"resize\", size = 8, side = \"longer\" }, { "
        "op = "
        "\"pad-to\", size = 8, box = \"lies\" }, { op = \"center-crop\", size = 8 }, " +
            end +
            "]\n[[output]]\nname = \"boxes\"\nfrom = \"boxes\"\nview = \"v\"\nops = [{ op = \"boxes\" }]\nragged = " +
            "true\nlength_max = 9\n[batch]\nsize = 8\ngroup = 4\nops = [{ op = \"mosaic-warp\", images = "
            "[\"image\"], " +
            "boxes = \"boxes\"" + further + " }]\n",
        "m.toml");
  };
  const std::string bytes = "{ op = \"convert\", dtype = \"uint8\" }",
                    floats = "{ op = \"convert\", dtype = \"float32\" }";
  for (const char* inside : {"", ", inside = \"lies\"", ", inside = \"\""}) {
    const auto good = load(bytes, inside);
    INFO(good.sentences());
    CHECK(good);
  }
  CHECK_THAT(load(bytes, ", inside = \"boxes\"").sentences(),
             Contains("must name the `box` of the pad-to of \"image\": \"boxes\" is none"));
  CHECK_THAT(load(floats, "").sentences(), Contains("is float32, and mosaic-warp takes pictures of uint8"));
  CHECK_THAT(load(bytes, ", shear = 45").sentences(), Contains("shear"));
  CHECK_THAT(load(bytes, ", scale = [0, 1]").sentences(), Contains("scale"));
}

TEST_CASE("the help names the operations on batches", "[config]") {
  for (const auto& operation : batch_operations()) {
    CHECK_THAT(operations_text(), Catch::Contains("\n  " + std::string(operation.name) + "  (batch -> batch)"));
    CHECK_THAT(operations_json(), Catch::Contains("\"" + std::string(operation.name) + "\""));
  }
}

}  // namespace spdld::config::batch_operations_test
