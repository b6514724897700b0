#include "daemon/node/reports/web.h"

#include <array>
#include <utility>

#include "config/text/json.h"
#include "config/text/words.h"
#include "daemon/base/formats/base64.h"
#include "daemon/base/system/cpu.h"
#include "daemon/metrics/prometheus.h"
#include "daemon/node/reports/description.h"
#include "daemon/node/reports/measuring.h"
#include "daemon/node/reports/page/page.h"
#include "daemon/node/reports/reports.h"

namespace spdld::node {
namespace {

using config::Json;

constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kHtml = "text/html; charset=utf-8";

http::Answer metrics_answer(const State& state, const http::Request&) {
  return {.type = kPrometheus, .body = metrics::prometheus_text(measure(state), SPDLD_VERSION)};
}

http::Answer document_answer(const State& state, std::string_view topic, const std::string& argument) {
  auto found = report(state, Asker::owner(), topic, argument);
  if (!found) return http::sentence(found.error().trouble == Trouble::kNotFound ? 404 : 400, found.error().message);
  return {.type = http::kJson, .body = std::move(*found)};
}

// The topics take a name as a word, and a name has no blank.
template <auto kTopic>
http::Answer document_about(const State& state, const http::Request& request) {
  return document_answer(state, kTopic, request.parameter("pipeline"));
}

constexpr char kMetricsTopic[] = "metrics", kStatusTopic[] = "status", kErrorsTopic[] = "errors";

Json sheet_document(const Sheet& sheet) {
  Json pictures = Json::array();
  for (const auto& picture : sheet.pictures) {
    Json one = {{"label", picture.label}, {"note", picture.note}, {"sample", Json()}};
    if (picture.sample) one["sample"] = *picture.sample;
    pictures.push_back(std::move(one));
  }
  return {{"output", sheet.output},
          {"dtype", sheet.dtype},
          {"shape", sheet.shape},
          {"epoch", sheet.epoch},
          {"step", sheet.step},
          {"samples", sheet.samples},
          {"width", sheet.width},
          {"height", sheet.height},
          {"is_stretched", sheet.is_stretched},
          {"age_s", seconds(monotonic_ns() - sheet.taken_ns)},
          {"pictures", pictures},
          {"rgb", written_base64(sheet.rgb)}};
}

// The sheet of the first ring that decodes its batches, and the wish for the next sheet.
http::Answer batch_answer(const State& state, const http::Request& request) {
  const std::string name = request.parameter("pipeline");
  const Pipelines::Entry* found = nullptr;
  for (const auto& [key, entry] : state.pipelines.entries())
    if (entry->shown_name == name && entry->pipeline && !entry->looks) found = entry.get();
  if (!found) return http::sentence(404, "no pipeline '" + config::printable(name) + "' is open here");
  std::string why = "No trainer takes batches.";
  for (const auto& [key, feed] : feeds_of(state, *found)) {
    if (feed->tap()) continue;
    if (!feed->sheets().has_pictures()) {
      why = "No output of this pipeline has pictures: samples of height, width and one or three channels.";
      break;
    }
    const uint64_t now_ns = monotonic_ns();
    const auto sheet = feed->sheets().latest(now_ns);
    feed->sheets().want(now_ns);
    if (sheet) return {.type = http::kJson, .body = sheet_document(*sheet).dump()};
    why = "The next batch is awaited.";
    break;
  }
  return {.type = http::kJson, .body = Json{{"pictures", Json::array()}, {"why", why}}.dump()};
}

http::Answer page_answer(const http::Request&) {
  return {.type = kHtml, .body = std::string(kPage), .policy = kPagePolicy};
}

struct OfNode {
  std::string_view path;
  http::Answer (*answer)(const State&, const http::Request&);
  bool of_page;
};

constexpr std::array kRoutes = {
    OfNode{"/metrics", metrics_answer, false}, OfNode{"/api/metrics", document_about<kMetricsTopic>, true},
    OfNode{"/api/status", document_about<kStatusTopic>, true},
    OfNode{"/api/errors", document_about<kErrorsTopic>, true}, OfNode{"/api/batch", batch_answer, true}};

// The page asks once a second: what it gets is never the answer to its question before.
constexpr uint32_t kKeptMs = 900;

}  // namespace

std::vector<http::Route> web_routes(std::function<State()> state, bool with_page) {
  std::vector<http::Route> routes;
  for (const OfNode& one : kRoutes) {
    if (one.of_page && !with_page) continue;
    routes.push_back(
        {.path = one.path,
         .answer = [state, answer = one.answer](const http::Request& request) { return answer(state(), request); },
         .kept_ms = kKeptMs,
         .parameters = one.of_page ? std::vector<std::string_view>{"pipeline"} : std::vector<std::string_view>{}});
  }
  // The page itself tells nothing, so it needs no token: it asks its reader for one.
  if (with_page)
    routes.push_back({.path = "/", .answer = page_answer, .thread = http::Route::Thread::kAny, .is_open = true});
  return routes;
}

}  // namespace spdld::node
