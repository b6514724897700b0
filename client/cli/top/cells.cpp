#include "client/cli/top/cells.h"

#include "client/cli/query.h"

namespace spdld::cli::top {
namespace {

constexpr double kWaitingNoticed = 0.05;  // the share of time from which on it is yellow

}  // namespace

GridCell rate_cell(double per_s) { return {per_s > 0 ? text::rate_text(per_s) : "-", Style::kPlain, per_s}; }

GridCell share_cell(double share) { return {percent_text(share), Style::kPlain, share}; }

GridCell waiting_cell(double share) {
  return {percent_text(share), share >= kWaitingNoticed ? Style::kWarning : Style::kGood, share};
}

GridCell count_cell(uint64_t count, Style style) { return {count_text(count), style, static_cast<double>(count)}; }

GridCell bytes_cell(double bytes, const char* behind) {
  return {bytes > 0 ? bytes_text(bytes) + behind : "-", Style::kPlain, bytes};
}

GridCell bar_cell(std::string text, double part, Style style) {
  GridCell cell(std::move(text), style, part);
  cell.bar = part;
  return cell;
}

GridCell time_cell(const config::Json& part, const char* key) {
  const double us = number_or_zero(part, key);
  return {us > 0 ? duration_text(us * 1e-6) : "-", Style::kPlain, us};
}

GridCell count_cell(const config::Json& part, const char* key) { return count_cell(count_or_zero(part, key)); }

}  // namespace spdld::cli::top
