#include "client/text/progress.h"

#include <catch2/catch.hpp>

#include "client/text/numbers.h"
#include "tests/cli/terminal.h"

namespace spdld::progress_test {

using namespace spdld::text;
using spdld::test::Terminal;

namespace {

Progress batches(uint64_t done, uint64_t total) {
  Progress progress;
  progress.what = "epoch 1 of 3:";
  progress.done = done, progress.total = total, progress.unit = "batches";
  progress.made = done * 64, progress.made_unit = "images";
  return progress;
}

std::string text_of(std::string_view what, uint64_t done, uint64_t total, Speed speed = {}, size_t columns = 200) {
  return progress_text(progress_of(what, done, total), speed, 0, columns);
}

}  // namespace

TEST_CASE("a rate is over the last seconds") {
  Rate rate;
  CHECK_FALSE(rate.per_s());
  rate.note(0, 0);
  rate.note(0.4, 40);
  CHECK_FALSE(rate.per_s());  // too little to judge by
  rate.note(1, 100);
  CHECK(*rate.per_s() == Approx(100));
  CHECK(*rate.left_s(1100) == Approx(10));
  for (int second = 2; second <= 40; second++) rate.note(second, 100 + (second - 1) * 10);
  CHECK(*rate.per_s() == Approx(10));
  for (int second = 41; second <= 60; second++) rate.note(second, 490);
  CHECK(*rate.per_s() == 0);
  CHECK_FALSE(rate.left_s(1000));  // a stall has no end that anybody knows
}

TEST_CASE("a count that falls begins a new rate") {
  Rate rate;
  rate.note(0, 1000);
  rate.note(5, 2000);
  rate.note(6, 10);
  CHECK_FALSE(rate.per_s());
  rate.note(8, 30);
  CHECK(*rate.per_s() == Approx(10));
}

TEST_CASE("a note each millisecond gives the same rate") {
  Rate rate;
  for (int i = 0; i <= 100000; i++) rate.note(i * 0.001, static_cast<uint64_t>(i));
  CHECK(*rate.per_s() == Approx(1000).epsilon(0.01));
}

TEST_CASE("progress is told in the words of the protocol") {
  CHECK(text_of("listing pictures", 1234567, 0) == "listing 1,234,567 pictures");
  CHECK(text_of("listing pictures", 500, 2000, {100, 15}) == "listing 500 of 2,000 pictures  25 %  100/s  15 s left");
  CHECK(text_of("listing bytes of archives", uint64_t{3} << 29, uint64_t{6} << 30, {1 << 20, 4608}) ==
        "listing 1.5 GiB of 6.0 GiB of archives  25 %  1.0 MiB/s  1 h 17 min left");
  CHECK(text_of("listing bytes", 1024, 0) == "listing 1.0 KiB");
  CHECK(text_of("waiting for the daemon", 0, 0) == "waiting for the daemon");
  CHECK(progress_text(progress_of("waiting for the daemon", 0, 0), {}, 12.3, 200) == "waiting for the daemon  12.3 s");
  CHECK(text_of("", 0, 0).empty());
  CHECK(text_of("listing", 5, 10) == "listing");  // it has not said yet what it counts
}

TEST_CASE("an estimate that was too low is no total") {
  CHECK(text_of("listing pictures", 2001, 2000, {100, std::nullopt}) == "listing 2,001 pictures  100/s");
}

TEST_CASE("all is done at 100 % and not before") {
  CHECK(percent_done_text(999999, 1000000) == "99 %");
  CHECK(percent_done_text(1000000, 1000000) == "100 %");
  CHECK(percent_done_text(UINT64_MAX - 1, UINT64_MAX) == "99 %");
  CHECK(percent_done_text(0, UINT64_MAX) == "0 %");
}

TEST_CASE("times left are whole seconds, and rates have the digits that matter") {
  CHECK(time_left_text(0.01) == "1 s");
  CHECK(time_left_text(41.2) == "42 s");
  CHECK(time_left_text(184) == "3 min 4 s");
  CHECK(rate_text(0) == "0");
  CHECK(rate_text(0.254) == "0.25");
  CHECK(rate_text(12.34) == "12.3");
  CHECK(rate_text(98123.4) == "98,123");
}

TEST_CASE("what does not fit is left out, and a line is never too wide") {
  const Speed speed{100, 15};
  CHECK(text_of("listing pictures", 500, 2000, speed, 54) == "listing 500 of 2,000 pictures  25 %  100/s  15 s left");
  CHECK(text_of("listing pictures", 500, 2000, speed, 52) == "listing 500 pictures  25 %  100/s  15 s left");
  CHECK(text_of("listing pictures", 500, 2000, speed, 40) == "listing  25 %  100/s  15 s left");
  CHECK(text_of("listing pictures", 500, 2000, speed, 28) == "listing  25 %  100/s");
  CHECK(text_of("listing pictures", 500, 2000, speed, 5) == "listi");
  for (size_t columns = 0; columns < 80; columns++)
    CHECK(display_width(text_of("listing Zürich's bilder", 1 << 20, 1 << 30, speed, columns)) <= columns);
}

TEST_CASE("a line is drawn after the first second, some times a second, and goes away") {
  Terminal terminal(80, 3);
  terminal.write("$ ");
  ProgressLine line("x: ");
  for (int tenth = 0; tenth < 10; tenth++) CHECK(line.show(batches(tenth, 1000), tenth * 0.1, 80).empty());
  terminal.write(line.show(batches(100, 1000), 1, 80));
  CHECK(terminal.shown() == "x: epoch 1 of 3: 100 of 1,000 batches  10 %  6,400 images/s  9 s left\n");
  CHECK(line.show(batches(101, 1000), 1.05, 80).empty());
  terminal.write(line.show(batches(200, 1000), 2, 80));
  CHECK(terminal.shown() == "x: epoch 1 of 3: 200 of 1,000 batches  20 %  6,400 images/s  8 s left\n");
  terminal.write(line.show(progress_of("waiting for the daemon", 0, 0), 2.01, 80));  // other work: at once
  CHECK(terminal.shown() == "x: waiting for the daemon\n");
  CHECK(terminal.column() == 25);
  terminal.write(line.clear());
  CHECK(terminal.shown() == "\n");
  CHECK(terminal.row() == 0);
  CHECK(terminal.column() == 0);
  CHECK(line.clear().empty());
  CHECK(terminal.scrolled().empty());
}

TEST_CASE("a line leaves the last column free, in terminals of any width") {
  for (const size_t columns : {20, 40, 61, 80}) {
    Terminal terminal(columns, 2);
    ProgressLine line("spdld: ");
    for (int second = 0; second < 20; second++)
      terminal.write(line.show(batches(100000 * static_cast<uint64_t>(second), 3000000), second, columns));
    CHECK(terminal.row() == 0);
    CHECK(terminal.column() < columns);
    CHECK(terminal.shown().rfind("spdld: epoch", 0) == 0);
  }
  ProgressLine line;
  line.show(batches(0, 10), 0, 0);
  CHECK(line.show(batches(5, 10), 2, 0).size() <= 20);  // a terminal that says it has no columns
}

TEST_CASE("a line that is too long keeps the percent, the rate and the time left") {
  Progress progress = progress_of("epoch batches", 1'350'000, 6'000'000);
  progress.what = "epoch 154,083 of 1,000,000:";
  const Speed speed{125'692, 66};
  CHECK(progress_text(progress, speed, 9, 100) ==
        "epoch 154,083 of 1,000,000: 1,350,000 of 6,000,000 batches  22 %  125,692/s  66 s left");
  CHECK(progress_text(progress, speed, 9, 78) ==
        "epoch 154,083 of 1,000,000: 1,350,000 batches  22 %  125,692/s  66 s left");
  CHECK(progress_text(progress, speed, 9, 65) == "epoch 154,083 of 1,000,000:  22 %  125,692/s  66 s left");
}

TEST_CASE("a new epoch goes on at the rate of the one before") {
  ProgressLine line;
  Progress progress = batches(100, 3000);
  line.show(progress, 0, 80);
  progress = batches(300, 3000);
  progress.what = "epoch 2 of 3:";
  CHECK(line.show(progress, 2, 80) == "\repoch 2 of 3: 300 of 3,000 batches  10 %  6,400 images/s  27 s left");
}

TEST_CASE("other work begins its own rate") {
  ProgressLine line;
  line.show(progress_of("listing pictures", 1000, 0), 0, 80);
  line.show(progress_of("listing pictures", 9000, 0), 2, 80);
  const std::string text = line.show(progress_of("listing bytes of archives", 10, 1 << 20), 3, 80);
  CHECK(text.find("/s") == std::string::npos);
  CHECK(text.find("10 B of 1.0 MiB of archives  0 %") != std::string::npos);
}

}  // namespace spdld::progress_test
