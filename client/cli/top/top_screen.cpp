#include "client/cli/top/top_screen.h"

#include <algorithm>
#include <utility>

#include "client/cli/query.h"

namespace spdld::cli::top {
namespace {

constexpr size_t kHeadRowsLeast = 16;   // screens with fewer rows have one head row
constexpr size_t kEmptyRowsLeast = 24;  // screens with fewer rows have no empty one below the head
constexpr size_t kListRowsLeast = 3;    // rows of a list that the panel below leaves
constexpr size_t kPanelRowsMost = 9;
constexpr size_t kSamplesPerS = 2, kSessionRate = 4;  // the columns by which lists are sorted at first

constexpr const char* kHelp[] = {
    "Up, Down, j, k    mark another row, or scroll",
    "Page Up, Down     the same, by a page; Home, End: to the ends",
    "Enter             open the marked pipeline",
    "Esc               go back",
    "v, Tab            the trainers of all pipelines, and back",
    "s, >, <           sort by the next or the previous column",
    "r                 turn the order of the rows around",
    "1, 2, 3           figures of the last 1, 10 or 60 seconds",
    "p, Space          pause, and go on",
    "h, ?              this help",
    "q                 quit",
    "",
    "WAIT     share of the time in which the trainer waited for a batch",
    "FULL     share of the time in which no slot was free: the trainer sets the pace",
    "FETCH    reads under way, out of the reads that the tuning allows now",
    "DECODE   busy decode threads, out of the threads that may work now; so for all stages",
    "READY    batches that wait for the trainers, out of all slots",
    "CPU      share of the decode threads' time that all pipelines take",
    "HIT      share of the look-ups in the cache that found their sample",
    "BAD      samples that were damaged, unsupported or too long",
    "LIMITER  what limits the pipeline; `spdlctl why --help` explains the words",
};

const PipelineSight* pipeline_of(const Sight& sight, const std::string& key) {
  for (const PipelineSight& pipeline : sight.pipelines)
    if (pipeline.key == key) return &pipeline;
  return nullptr;
}

void add_key(Line& line, const char* key, const char* meaning, size_t columns) {
  const size_t wide = columns_of(key) + columns_of(meaning) + 2;
  if (line.columns() + wide > columns) return;
  line.add(key, Style::kStrong, true).add(std::string(" ") + meaning + " ");
}

void cut_line(Line& line, size_t columns) {
  size_t room = columns;
  for (size_t s = 0; s < line.spans.size(); s++) {
    const size_t wide = columns_of(line.spans[s].text);
    if (wide > room) {
      line.spans[s].text = cut(line.spans[s].text, room);
      line.spans.resize(s + 1);
      return;
    }
    room -= wide;
  }
}

}  // namespace

TopScreen::TopScreen(std::string pipeline) : opened_(std::move(pipeline)) {
  pipelines_.sort = {kSamplesPerS, false};
  sessions_.sort = {kSessionRate, false};
  pipelines_.key = opened_;
  if (!opened_.empty()) pane_ = Pane::kPipeline;
}

void TopScreen::see(config::Json document) {
  lost_s_.reset();
  if (!is_paused_) document_ = std::move(document);
}

void TopScreen::lose(const std::string& why, double now_s) {
  if (!lost_s_) lost_s_ = now_s;
  why_lost_ = safe_text(why);
}

void TopScreen::Walk::find(std::vector<std::string> keys) {
  shown = std::move(keys);
  if (const auto found = std::find(shown.begin(), shown.end(), key); found != shown.end()) {
    at = static_cast<size_t>(found - shown.begin());
  } else {
    at = shown.empty() ? 0 : std::min(at, shown.size() - 1);  // the row that took its place
    if (!shown.empty()) key = shown[at];
  }
}

void TopScreen::Walk::fit(size_t room) {
  room = std::max<size_t>(room, 1);
  if (at < first) first = at;
  if (at >= first + room) first = at - room + 1;
  first = std::min(first, shown.size() - std::min(shown.size(), room));
}

void TopScreen::Walk::move(ptrdiff_t by) {
  if (shown.empty()) return;
  const auto last = static_cast<ptrdiff_t>(shown.size()) - 1;
  at = static_cast<size_t>(std::clamp(static_cast<ptrdiff_t>(at) + by, ptrdiff_t{0}, last));
  key = shown[at];
}

void TopScreen::move(ptrdiff_t by) {
  if (is_list()) return walk().move(by);
  scroll_ = static_cast<size_t>(std::max(ptrdiff_t{0}, static_cast<ptrdiff_t>(scroll_) + by));
}

void TopScreen::move_to(bool is_end) {
  constexpr ptrdiff_t kFar = 1'000'000;
  if (is_list()) return walk().move(is_end ? kFar : -kFar);
  scroll_ = is_end ? kFar : 0;
}

void TopScreen::open() {
  if (!is_list() || walk().shown.empty()) return;
  before_ = pane_;
  // The key of a session begins with its pipeline's.
  const Sight sight = sight_of(document_, window_s_);
  for (const PipelineSight& pipeline : sight.pipelines) {
    const bool is_it =
        pane_ == Pane::kPipelines ? pipeline.key == pipelines_.key : sessions_.key.starts_with(pipeline.key + " ");
    if (is_it) {
      opened_ = pipeline.key;
      pane_ = Pane::kPipeline;
      scroll_ = 0;
    }
  }
}

void TopScreen::back() {
  if (pane_ == Pane::kHelp) {
    pane_ = before_help_;
  } else if (pane_ == Pane::kPipeline) {
    pane_ = before_;
  } else {
    pane_ = Pane::kPipelines;
  }
  scroll_ = 0;
}

size_t TopScreen::column_count() const {
  const Sight nothing = sight_of(config::Json::object(), window_s_);
  return (pane_ == Pane::kSessions ? sessions_grid(nothing) : pipelines_grid(nothing)).columns().size();
}

void TopScreen::sort_by(ptrdiff_t by) {
  if (!is_list()) return;
  const auto count = static_cast<ptrdiff_t>(column_count());
  Sort& sort = walk().sort;
  sort.column = static_cast<size_t>((static_cast<ptrdiff_t>(sort.column) + by + count) % count);
}

bool TopScreen::press(Key key) {
  const auto page = static_cast<ptrdiff_t>(std::max<size_t>(page_, 1));
  switch (key) {
    case Key::kQuit:
      return false;
    case Key::kUp:
      move(-1);
      break;
    case Key::kDown:
      move(1);
      break;
    case Key::kPageUp:
      move(-page);
      break;
    case Key::kPageDown:
      move(page);
      break;
    case Key::kHome:
    case Key::kEnd:
      move_to(key == Key::kEnd);
      break;
    case Key::kEnter:
      open();
      break;
    case Key::kBack:
      back();
      break;
    case Key::kNextColumn:
    case Key::kPreviousColumn:
      sort_by(key == Key::kNextColumn ? 1 : -1);
      break;
    case Key::kReverse:
      if (is_list()) walk().sort.is_rising = !walk().sort.is_rising;
      break;
    case Key::kWindow1:
    case Key::kWindow10:
    case Key::kWindow60:
      window_s_ = key == Key::kWindow1 ? 1 : key == Key::kWindow10 ? 10 : 60;
      break;
    case Key::kPause:
      is_paused_ = !is_paused_;
      break;
    case Key::kSessions:
      pane_ = pane_ == Pane::kSessions ? Pane::kPipelines : Pane::kSessions;
      break;
    case Key::kHelp:
      if (pane_ == Pane::kHelp) {
        back();
      } else {
        before_help_ = std::exchange(pane_, Pane::kHelp);
        scroll_ = 0;
      }
      break;
    case Key::kRedraw:
    case Key::kNone:
      break;
  }
  return true;
}

void TopScreen::add_notices(Lines& lines, size_t columns, double now_s) const {
  const auto add = [&](const std::string& text, Style style) {
    lines.emplace_back();
    lines.back().add(padded(text, columns), style, true);
  };
  if (lost_s_)
    add("no answer for " + text::time_left_text(now_s - *lost_s_) + ", and below is what was seen before: " + why_lost_,
        Style::kBad);
  if (is_paused_) add("paused: p goes on", Style::kWarning);
}

Lines TopScreen::panel(const Sight& sight, const Size& size) const {
  const PipelineSight* const pipeline = pipeline_of(sight, pipelines_.key);
  if (pipeline == nullptr) return {};
  Lines lines = {Line(), line_of(pipeline->name, Style::kStrong), way_line(*pipeline, size.columns)};
  lines[1].is_reversed = true;
  for (Line& line : verdict_lines(*pipeline, size.columns)) lines.push_back(std::move(line));
  const size_t taken = lines.empty() ? 0 : kListRowsLeast + 3;  // beside a list, its head, the title and the keys
  const size_t room = std::min(kPanelRowsMost, size.rows - std::min(size.rows, taken));
  if (lines.size() > room) lines.erase(lines.begin());  // the empty one
  if (lines.size() > room) lines.erase(lines.begin());  // the name, which the marked row has as well
  if (lines.size() > room) lines.resize(room);
  return lines;
}

void TopScreen::add_list(Lines& lines, const Sight& sight, const Size& size) {
  Grid grid = pane_ == Pane::kSessions ? sessions_grid(sight) : pipelines_grid(sight);
  grid.sort(walk().sort);
  walk().find(grid.keys());
  const Lines below = pane_ == Pane::kPipelines ? panel(sight, size) : Lines();
  const size_t taken = lines.size() + 1 + below.size() + 1;  // with the grid's head and the keys
  size_t room = size.rows - std::min(size.rows, taken);
  const bool has_more = grid.size() > room && room > 1;
  if (has_more) room--;
  walk().fit(room);
  page_ = room;
  Grid::Window window{walk().first, room, std::nullopt, walk().sort};
  if (!grid.empty()) window.selected = walk().at;
  for (Line& line : grid.lines(size.columns, window)) lines.push_back(std::move(line));
  if (grid.empty())
    lines.push_back(line_of(pane_ == Pane::kSessions ? "no trainer is attached" : "no pipeline is open", Style::kDim));
  if (has_more)
    lines.push_back(line_of("rows " + std::to_string(walk().first + 1) + " to " + std::to_string(walk().first + room) +
                                " of " + std::to_string(grid.size()),
                            Style::kDim));
  while (lines.size() + below.size() + 1 < size.rows) lines.emplace_back();
  lines.insert(lines.end(), below.begin(), below.end());
}

void TopScreen::add_scrolled(Lines& lines, const Lines& all, const Size& size, const std::string& title) {
  lines.push_back(line_of(title, Style::kStrong));
  lines.back().is_reversed = true;
  const size_t room = size.rows - std::min(size.rows, lines.size() + 1);
  page_ = room;
  scroll_ = std::min(scroll_, all.size() - std::min(all.size(), room));
  const size_t end = scroll_ + std::min(room, all.size() - scroll_);
  if (all.size() > room)
    add_at_end(
        lines.back(),
        "lines " + std::to_string(scroll_ + 1) + " to " + std::to_string(end) + " of " + std::to_string(all.size()),
        size.columns, Style::kPlain);
  lines.insert(lines.end(), all.begin() + static_cast<ptrdiff_t>(scroll_), all.begin() + static_cast<ptrdiff_t>(end));
}

Line TopScreen::keys_line(size_t columns) const {
  Line line;
  const auto add = [&](const char* key, const char* meaning) { add_key(line, key, meaning, columns); };
  add("q", "quit");
  if (pane_ != Pane::kPipelines) add("Esc", "back");
  if (is_list()) add("Enter", "open");
  add("h", "help");
  if (is_list()) {
    add("s", "sort");
    add("r", "reverse");
  }
  if (pane_ != Pane::kHelp) {
    add("1 2 3", "window");
    add("v", pane_ == Pane::kSessions ? "pipelines" : "sessions");
  }
  if (pane_ != Pane::kHelp) add("p", is_paused_ ? "go on" : "pause");
  add("Up Down", is_list() ? "mark" : "scroll");
  return line;
}

Lines help_lines(size_t columns) {
  Lines lines;
  for (const char* const line : kHelp)
    for (const std::string& window : broken(line, columns)) lines.push_back(line_of(window));
  return lines;
}

Lines TopScreen::draw(const Size& size, double now_s) {
  const Sight sight = sight_of(document_, window_s_);
  Lines lines = head_lines(sight, size.columns, size.rows < kHeadRowsLeast ? 1 : SIZE_MAX);
  if (size.rows >= kEmptyRowsLeast) lines.emplace_back();
  add_notices(lines, size.columns, now_s);
  if (pane_ == Pane::kHelp) {
    add_scrolled(lines, help_lines(size.columns), size, "keys and columns");
  } else if (pane_ == Pane::kPipeline) {
    const PipelineSight* const pipeline = pipeline_of(sight, opened_);
    const Lines gone = {line_of("It is not open now.", Style::kDim)};
    add_scrolled(lines, pipeline ? pipeline_lines(sight, *pipeline, size.columns) : gone, size, safe_text(opened_));
  } else {
    add_list(lines, sight, size);
  }
  while (lines.size() + 1 < size.rows) lines.emplace_back();
  lines.resize(std::min(lines.size(), size.rows - std::min<size_t>(size.rows, 1)));
  lines.push_back(keys_line(size.columns));
  for (Line& line : lines) cut_line(line, size.columns);
  lines.resize(std::min(lines.size(), size.rows));
  return lines;
}

}  // namespace spdld::cli::top
