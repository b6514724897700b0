#include "client/cli/top/top_screen.h"

#include <catch2/catch.hpp>
#include <ctime>

#include "tests/cli/top_document.h"
#include "tests/support/rounds.h"

namespace spdld::top_screen_test {

using namespace spdld::cli::top;
using namespace spdld::test;
using Catch::Contains;
using config::Json;

const std::vector<MadePipeline> kThree = {
    {.name = "alpha", .samples_per_s = 50},
    {.name = "beta", .samples_per_s = 900, .limiter = "trainer", .rings = 2, .waiting = 0.01, .pid = 5000},
    {.name = "gamma", .samples_per_s = 300, .state = "failed", .damaged = 12}};

std::string drawn(TopScreen& screen, size_t columns = 80, size_t rows = 24, double now_s = 0) {
  return shown(screen.draw({columns, rows}, now_s));
}

TopScreen of_three() {
  TopScreen screen;
  screen.see(made_document(kThree));
  return screen;
}

TEST_CASE("the overview has the node, the pipelines by their rates, and the marked one's verdict") {
  TopScreen screen = of_three();
  const std::string text = drawn(screen);
  CHECK_THAT(text, Contains("spdld 0.1.0  up 1 h 0 min  3 sessions   ") && Contains("  last 10 s\n"));
  CHECK_THAT(text, Contains("cpu     2.31 cores: decode 1.90  ") && Contains("  memory 600 MiB, 1.0 MiB in slots\n"));
  CHECK_THAT(text, Contains("3.0/4 GiB") || Contains("3.0/4.0 GiB"));
  CHECK_THAT(text, Contains("120/1,024"));
  CHECK(text.find("beta ") < text.find("gamma "));
  CHECK(text.find("gamma ") < text.find("alpha "));
  CHECK_THAT(marked(screen.draw({80, 24}, 0)),
             Contains("beta") && Contains("900") && Contains("1 %") && Contains("1.2/4") && Contains("2/8"));
  CHECK_THAT(text, Contains("rings [") && Contains("] 2/8  -> 2 trainers"));
  CHECK_THAT(text, Contains("trainer (sure): Decoding of beta is busy"));
  CHECK_THAT(text, Contains("1.45 x  Take 6 cores."));
  CHECK_THAT(text, Contains("q quit"));
}

TEST_CASE("every screen is filled with no more rows and columns than it has") {
  TopScreen screen = of_three();
  for (const auto& keys :
       {std::vector<Key>{}, {Key::kEnter}, {Key::kBack, Key::kSessions}, {Key::kHelp}, {Key::kHelp, Key::kPause}}) {
    for (const Key key : keys) screen.press(key);
    for (const size_t columns : {1, 2, 3, 7, 20, 39, 40, 41, 63, 64, 80, 132, 300})
      for (const size_t rows : {1, 2, 3, 4, 5, 8, 10, 15, 16, 24, 60}) {
        CAPTURE(columns, rows);
        const Lines lines = screen.draw({columns, rows}, 0);
        CHECK(lines.size() == rows);
        for (const Line& line : lines) CHECK(line.columns() <= columns);
      }
  }
}

TEST_CASE("a small screen has what matters most") {
  TopScreen screen = of_three();
  const std::string text = drawn(screen, 40, 10);
  CHECK_THAT(text, Contains("SAMPLES/S") && Contains("WAIT") && Contains("LIMITER") && !Contains("STATE"));
  CHECK_THAT(text, Contains("alpha") && Contains("beta") && Contains("gamma"));
  CHECK_THAT(text, Contains("fetch 1.2/4  decode 3.9/4  rings 2/8"));
  CHECK_THAT(text, Contains("trainer (sure)"));
  CHECK_THAT(drawn(screen, 200, 24),
             Contains("STATE") && Contains("FULL") && Contains("HIT") && Contains("75 %") && Contains("123,456"));
}

TEST_CASE("windows have rates of their own") {
  TopScreen screen = of_three();
  screen.press(Key::kWindow1);
  CHECK_THAT(drawn(screen), Contains("1,800") && Contains("last 1 s"));
  screen.press(Key::kWindow60);
  CHECK_THAT(drawn(screen), Contains("450") && Contains("last 60 s"));
  screen.press(Key::kWindow10);
  CHECK_THAT(drawn(screen), Contains("900") && Contains("last 10 s"));
}

TEST_CASE("the sort column is chosen, and the order turned around") {
  TopScreen screen = of_three();
  drawn(screen);
  screen.press(Key::kPreviousColumn), screen.press(Key::kPreviousColumn), screen.press(Key::kReverse);
  const std::string by_name = drawn(screen);
  CHECK_THAT(by_name, Contains("PIPELINE^"));
  CHECK(by_name.find("alpha ") < by_name.find("beta "));
  screen.press(Key::kPreviousColumn);  // to the last one
  CHECK_THAT(drawn(screen), Contains("LIMITER"));
  screen.press(Key::kNextColumn);
  CHECK(drawn(screen) == by_name);
}

TEST_CASE("the marked pipeline stays marked while others come, go and change their places") {
  TopScreen screen = of_three();
  drawn(screen);
  screen.press(Key::kDown);
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("gamma"));
  auto more = kThree;
  more.insert(more.begin(), {.name = "delta", .samples_per_s = 5000});
  more[3].samples_per_s = 1;
  screen.see(made_document(more));
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("gamma"));
  more.pop_back();
  screen.see(made_document(more));  // it has gone: the last one takes its place
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("alpha"));
  screen.press(Key::kHome);
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("delta"));
  screen.press(Key::kUp);
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("delta"));
  screen.press(Key::kEnd);
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("alpha"));
}

TEST_CASE("a long list scrolls with the marked row, and says which rows it shows") {
  std::vector<MadePipeline> many;
  for (int i = 0; i < 100; i++) many.push_back({.name = "p" + std::to_string(1000 + i), .samples_per_s = 1000.0 - i});
  TopScreen screen;
  screen.see(made_document(many));
  CHECK_THAT(drawn(screen), Contains("rows 1 to ") && Contains(" of 100") && Contains("p1000"));
  for (int i = 0; i < 100; i++) {
    CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("p" + std::to_string(1000 + i)));
    screen.press(Key::kDown);
  }
  CHECK_THAT(drawn(screen), Contains(" to 100 of 100"));
  screen.press(Key::kPageUp);
  CHECK_THAT(marked(screen.draw({80, 24}, 0)), Contains("p108"));
}

TEST_CASE("Enter opens the marked pipeline with all of its parts, and Esc goes back") {
  TopScreen screen = of_three();
  drawn(screen);
  screen.press(Key::kEnter);
  const std::string text = drawn(screen, 132, 60);
  CHECK_THAT(text,
             Contains("STAGE") && Contains("1.5 ms") && Contains("90.0 ms") && Contains("CACHE") && Contains("75 %"));
  CHECK_THAT(text,
             Contains("RANK") && Contains("0/2") && Contains("1/2") && Contains("5001") && Contains("trainer.py"));
  CHECK_THAT(text, Contains("Decoding of beta") && !Contains("gamma") && !Contains("OPERATION"));
  screen.press(Key::kDown);
  CHECK_THAT(drawn(screen, 80, 12), Contains("lines 2 to"));
  screen.press(Key::kEnd);
  CHECK_THAT(drawn(screen, 80, 12), Contains("5001"));
  screen.see(made_document({kThree[0]}));
  CHECK_THAT(drawn(screen), Contains("It is not open now."));
  screen.press(Key::kBack);
  CHECK_THAT(drawn(screen), Contains("alpha"));
}

TEST_CASE("operations have their share of the time of all operations") {
  Json document = made_document({kThree[0]});
  Json pipeline = *document.find("last_10_s")->find("pipelines")->begin();
  pipeline["operations"] =
      std::vector<Json>{Json{{"output", "image"}, {"op", "decode-image"}, {"samples_per_s", 10.0}, {"busy", 0.03}},
                        Json{{"output", "image"}, {"op", "resize"}, {"samples_per_s", 10.0}, {"busy", 0.01}}};
  document["last_10_s"]["pipelines"] = std::vector<Json>{pipeline};
  TopScreen screen("alpha");
  screen.see(document);
  CHECK_THAT(drawn(screen, 100, 60),
             Contains("decode-image") && Contains("75 %") && Contains("3.0 ms") && Contains("25 %"));
}

TEST_CASE("the sessions are the trainers of all pipelines, and one of them leads to its pipeline") {
  TopScreen screen = of_three();
  screen.press(Key::kSessions);
  const std::string text = drawn(screen, 132, 24);
  CHECK_THAT(text, Contains("5000") && Contains("5001") && Contains("4000") && Contains("1/2") &&
                       Contains("trainer.py") && Contains("31 %"));
  CHECK(text.find("5000") < text.find("4000"));  // by their rates
  screen.press(Key::kEnter);
  CHECK_THAT(drawn(screen), Contains("Decoding of beta"));
  screen.press(Key::kBack);
  CHECK_THAT(drawn(screen, 132, 24), Contains("5001"));
  screen.press(Key::kSessions);
  CHECK_THAT(drawn(screen), Contains("Decoding of beta"));
}

TEST_CASE("a daemon that does not answer leaves the last view, and says since when") {
  TopScreen screen = of_three();
  screen.lose("no daemon is there.", 100);
  screen.lose("no daemon is there.", 105);
  CHECK(screen.is_lost());
  CHECK_THAT(drawn(screen, 120, 24, 112),
             Contains("no answer for 12 s") && Contains("no daemon is there.") && Contains("beta"));
  screen.see(made_document({kThree[0]}));
  CHECK(!screen.is_lost());
  CHECK_THAT(drawn(screen, 120, 24, 113), !Contains("no answer") && !Contains("beta"));
}

TEST_CASE("a pause keeps the view, and says so") {
  TopScreen screen = of_three();
  screen.press(Key::kPause);
  screen.see(made_document({}));
  CHECK_THAT(drawn(screen), Contains("paused") && Contains("beta"));
  screen.press(Key::kPause);
  screen.see(made_document({}));
  CHECK_THAT(drawn(screen), !Contains("paused") && Contains("no pipeline is open"));
}

TEST_CASE("help is a key away, and leads back to where it was asked for") {
  TopScreen screen = of_three();
  drawn(screen);
  screen.press(Key::kEnter);
  screen.press(Key::kHelp);
  CHECK_THAT(drawn(screen, 80, 40), Contains("go back") && Contains("LIMITER"));
  screen.press(Key::kHelp);
  CHECK_THAT(drawn(screen), Contains("Decoding of beta"));
  CHECK(!screen.press(Key::kQuit));
}

TEST_CASE("names that are long, wide or hostile stay in their places and steer nothing") {
  const std::string escape =
      "evil\033[2J\033]0;title\007\r\n\x9b"
      "31m";
  const std::string wide = "日本語の長い名前のパイプライン", very_long(5000, 'x');
  TopScreen screen;
  screen.see(made_document({{.name = escape}, {.name = wide}, {.name = very_long}, {.name = ""}, {.name = wide}}));
  for (const Key key : {Key::kNone, Key::kEnter, Key::kBack, Key::kSessions})
    for (const size_t columns : {10, 40, 80, 200}) {
      screen.press(key);
      for (const Line& line : screen.draw({columns, 30}, 0)) {
        CHECK(line.columns() <= columns);
        const std::string text = line.text();
        CHECK(std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
      }
    }
  const std::string batch = batch_text(made_document({{.name = escape}, {.name = wide}}), 10, "", 80);
  CHECK(std::none_of(batch.begin(), batch.end(), [](unsigned char c) { return c != '\n' && (c < 0x20 || c == 0x7F); }));
  CHECK_THAT(batch, Contains(wide));
}

TEST_CASE("an empty daemon and nonsense give an empty view") {
  for (const Json& document :
       {Json::object(), made_document({}), Json{{"now", 3}, {"last_10_s", "x"}, {"verdicts", Json::object()}},
        Json{{"daemon", 1}},
        Json{{"now", Json{{"pipelines", std::vector<Json>{Json(1), Json("x"), Json::object()}}}}}}) {
    TopScreen screen;
    screen.see(document);
    for (const Key key :
         {Key::kNone, Key::kDown, Key::kEnter, Key::kBack, Key::kSessions, Key::kEnter, Key::kEnd, Key::kReverse}) {
      screen.press(key);
      CHECK(screen.draw({80, 24}, 0).size() == 24);
    }
    CHECK_THAT(batch_text(document, 10, "", 80), Contains("daemon"));
    CHECK_THAT(batch_text(document, 10, "alpha", 80), Contains("no pipeline 'alpha' is open"));
  }
}

TEST_CASE("a look for logs is plain text of all that there is") {
  const Json document = made_document(kThree);
  const std::string text = batch_text(document, 10, "", 250);
  CHECK_THAT(text, Contains("of the last 10 s") && Contains("alpha") && Contains("123,456") && Contains("3,858") &&
                       Contains("75 %"));
  CHECK_THAT(text, Contains("gamma") && Contains("failed") && Contains("12") && !Contains("\033") && !Contains("|||"));
  CHECK_THAT(text, Contains("decode: Decoding of alpha is busy 97 % of its time."));
  for (const size_t columns : {40, 80})
    for (const auto& piece : {"SAMPLES", "LIMITER", "READY", "alpha"})
      CHECK_THAT(batch_text(document, 10, "", columns), Contains(piece));
  const std::string one = batch_text(document, 10, "beta", 120);
  CHECK_THAT(one, Contains("STAGE") && Contains("trainer (sure)") && Contains("1.45 x") && Contains("5001") &&
                      !Contains("alpha"));
}

TEST_CASE("two pipelines of one name keep their own numbers") {
  const Json document =
      made_document({{.name = "same", .samples_per_s = 11}, {.name = "same", .samples_per_s = 22, .limiter = "fetch"}});
  const Sight sight = sight_of(document, 10);
  REQUIRE(sight.pipelines.size() == 2);
  CHECK(sight.pipelines[0].key != sight.pipelines[1].key);
  CHECK(sight.pipelines[1].rates->find("samples_per_s")->number() == 22);
  CHECK(sight.pipelines[1].verdict->find("limiter")->text() == "fetch");
}

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Json with_many(int pipelines, size_t rings) {
  std::vector<MadePipeline> many;
  for (int i = 0; i < pipelines; i++) many.push_back({.name = "pipeline-" + std::to_string(i), .rings = rings});
  return made_document(many);
}

TEST_CASE("hundreds of pipelines with many rings are drawn in a moment") {
  TopScreen screen;
  screen.see(with_many(test::rounds(500), 64));
  const double before_s = cpu_s();
  drawn(screen);
  screen.press(Key::kSessions);
  drawn(screen);
  WARN("two views of many pipelines with 64 rings: " << cpu_s() - before_s << " s of CPU time");
  CHECK(cpu_s() - before_s < 20);  // also under a sanitizer
}

TEST_CASE("a look at the largest document that the protocol carries takes a moment") {
  const std::string text = with_many(test::rounds(220), 32).dump();
  const double before_s = cpu_s();
  TopScreen screen;
  screen.see(*Json::parse(text));
  drawn(screen);
  WARN("a look at " << text.size() / 1024 << " KiB: " << cpu_s() - before_s << " s of CPU time");
  CHECK(cpu_s() - before_s < 20);
}

}  // namespace spdld::top_screen_test
