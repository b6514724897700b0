#include "client/cli/state/error_news.h"

#include <catch2/catch.hpp>

#include "client/cli/cli.h"

namespace spdld::cli::error_news_test {

using config::Json;

Json error_of(uint64_t sample, uint64_t count, const std::string& first = "2026-01-01T00:00:00Z") {
  return {{"pipeline", "train"}, {"sample", sample}, {"name", "a.jpg"}, {"reason", "cut"},
          {"kind", "damaged"},   {"count", count},   {"first", first},  {"last", "2026-01-02T00:00:00Z"},
          {"last_epoch", 7}};
}

Json document_of(uint64_t total, const std::vector<Json>& errors) {
  Json list = Json::array();
  for (const Json& error : errors) list.push_back(error);
  return {{"daemon_id", "a"}, {"total", total}, {"errors", list}, {"missing", Json::array()}};
}

std::vector<uint64_t> samples_of(const ErrorNews::News& news) {
  std::vector<uint64_t> samples;
  for (const Json& entry : news.entries) samples.push_back(entry.find("sample")->count());
  return samples;
}

TEST_CASE("an error is news once, and again when it was met again") {
  ErrorNews news;
  CHECK(samples_of(news.note(document_of(3, {error_of(1, 1), error_of(2, 2)}))) == std::vector<uint64_t>{1, 2});
  CHECK(news.note(document_of(3, {error_of(1, 1), error_of(2, 2)})).entries.empty());
  const ErrorNews::News again = news.note(document_of(5, {error_of(2, 2), error_of(1, 2), error_of(3, 1)}));
  CHECK(samples_of(again) == std::vector<uint64_t>{1, 3});
  CHECK(again.more == 0);
}

TEST_CASE("a burst is bounded, and the rest of it is counted") {
  ErrorNews news;
  std::vector<Json> errors;
  for (uint64_t sample = 0; sample < 1000; sample++) errors.push_back(error_of(sample, 2));
  const ErrorNews::News burst = news.note(document_of(1'000'000, errors));
  REQUIRE(burst.entries.size() == ErrorNews::kShownMax);
  CHECK(samples_of(burst).back() == 999);
  CHECK(burst.more == 1'000'000 - 2 * ErrorNews::kShownMax);
  const ErrorNews::News after = news.note(document_of(1'000'000, errors));
  CHECK(after.entries.empty());
  CHECK(after.more == 0);
  // One error of many thousands that came and went between two looks.
  errors.erase(errors.begin());
  errors.push_back(error_of(5000, 1));
  const ErrorNews::News pushed_out = news.note(document_of(1'012'346, errors));
  CHECK(samples_of(pushed_out) == std::vector<uint64_t>{5000});
  CHECK(pushed_out.more == 12'345);
}

TEST_CASE("all errors of a daemon that was started anew are news") {
  ErrorNews news;
  Json first = document_of(9, {error_of(1, 9)}), second = document_of(12, {error_of(1, 9)});
  first["daemon_id"] = "a", second["daemon_id"] = "b";
  news.note(first);
  CHECK(news.note(first).entries.empty());
  const ErrorNews::News anew = news.note(second);
  CHECK(samples_of(anew) == std::vector<uint64_t>{1});
  CHECK(anew.more == 3);
}

TEST_CASE("errors of a pipeline that was opened anew are news") {
  ErrorNews news;
  news.note(document_of(9, {error_of(1, 9)}));
  CHECK(samples_of(news.note(document_of(1, {error_of(1, 1)}))) == std::vector<uint64_t>{1});
  const ErrorNews::News other_start = news.note(document_of(1, {error_of(1, 1, "2026-01-03T00:00:00Z")}));
  CHECK(samples_of(other_start) == std::vector<uint64_t>{1});
}

TEST_CASE("errors of a pipeline that was closed are not counted") {
  ErrorNews news;
  news.note(document_of(1000, {error_of(1, 1)}));
  const ErrorNews::News left = news.note(document_of(600, {error_of(1, 1)}));
  CHECK(left.entries.empty());
  CHECK(left.more == 0);
}

TEST_CASE("what a data set misses is news once") {
  ErrorNews news;
  Json document = document_of(0, {});
  Json missing = Json::array();
  missing.push_back({{"pipeline", "train"}, {"what", "no b.jpg"}});
  document["missing"] = missing;
  const ErrorNews::News first = news.note(document);
  REQUIRE(first.entries.size() == 1);
  CHECK(news_line(first.entries[0]) == "train  missing: no b.jpg");
  CHECK(news.note(document).entries.empty());
}

TEST_CASE("an error is one line, whatever its name holds") {
  Json error = error_of(12, 3);
  error["name"] = "a\nb\033[31m";
  const std::string line = news_line(error);
  CHECK(line.find_first_of("\n\033") == std::string::npos);
  CHECK(line.starts_with("2026-01-02T00:00:00Z  train  sample 12 ("));
  CHECK(line.ends_with("epoch 7  damaged: cut  (3 times since 2026-01-01T00:00:00Z)"));
  CHECK(news_line(error_of(1, 1)).ends_with("damaged: cut"));
  error["name"] = std::string(64 << 10, 'x');
  CHECK(news_line(error).size() < 8192);
  CHECK(more_line(12'345) == "... 12,345 more");
}

TEST_CASE("an answer without errors is refused") {
  ErrorNews news;
  CHECK_THROWS_AS(news.note(Json::object()), Failure);
}

}  // namespace spdld::cli::error_news_test
