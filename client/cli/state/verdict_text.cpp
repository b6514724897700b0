#include "client/cli/state/verdict_text.h"

#include "client/cli/query.h"

namespace spdld::cli {
namespace {

using config::Json;

constexpr double kSure = 0.8, kLikely = 0.6;

std::string rate_text(double per_s) { return decimal_text(per_s, per_s < 10 ? 1 : 0); }

}  // namespace

Style limiter_style(std::string_view limiter) {
  if (limiter == "trainer") return Style::kGood;
  return limiter == "unknown" ? Style::kPlain : Style::kWarning;
}

std::string surety_text(double confidence) {
  return confidence >= kSure ? "sure" : confidence >= kLikely ? "likely" : "a guess";
}

std::string forecast_text(const Json& remedy) {
  const double speedup = number_or_zero(remedy, "speedup");
  return speedup > 0 ? decimal_text(speedup, 2) + " x" : "";
}

Cell limiter_cell(const Json& verdict) {
  const std::string limiter = text_or_empty(verdict, "limiter");
  if (limiter.empty()) return Cell("unknown");
  return Cell(limiter + ": " + text_or_empty(verdict, "sentence"), limiter_style(limiter));
}

std::string verdict_text(const Json& verdict, const Page& page) {
  const std::string limiter = text_at(verdict, "limiter");
  const bool is_known = limiter != "unknown";
  Facts facts;
  facts.add("pipeline", Cell(text_at(verdict, "pipeline"), Style::kStrong));
  facts.add("limited by",
            Cell(is_known ? limiter + " (" + surety_text(number_at(verdict, "confidence")) + ")" : limiter,
                 limiter_style(limiter)));
  facts.add("why", text_at(verdict, "sentence"));
  if (is_known) {
    const double trainer = number_at(verdict, "trainer_per_s");
    facts.add("samples/s", rate_text(number_at(verdict, "samples_per_s")) +
                               (trainer > 0 ? " now; the trainers would take " + rate_text(trainer) : " now"));
    facts.add("looked at", "the last " + decimal_text(number_at(verdict, "seconds"), 1) + " s");
  }
  Table remedies({{"SPEEDUP", Align::kRight, Role::kKey}, {"CHANGE", Align::kLeft, Role::kWords}});
  for (const auto& remedy : list_at(verdict, "remedies"))
    remedies.add({Cell(forecast_text(remedy), Style::kStrong), text_at(remedy, "change")});
  return facts.text(page) + (remedies.empty() ? "" : "\n" + remedies.text(page));
}

}  // namespace spdld::cli
