// show: a sheet of a pipeline's samples, before and after its operations, as a PNG file or on the terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <spdld.hpp>
#include <stdexcept>

#include "client/cli/bench/bench.h"
#include "client/cli/format.h"
#include "client/cli/new_file.h"
#include "client/cli/progress.h"
#include "client/cli/query.h"
#include "client/cli/show/looking.h"
#include "client/cli/show/show_card.h"
#include "client/cli/show/show_plan.h"
#include "client/cli/show/show_values.h"
#include "client/sheet/png_file.h"
#include "client/sheet/terminal.h"
#include "config/checks/load.h"

namespace spdld::cli {
namespace {

constexpr uint64_t kSamplesMax = 64, kColumnsMax = 64;
constexpr int64_t kWidthMin = 16, kWidthMax = 8192, kWidth = 1600;
constexpr int kAcrossMax = 6;     // tiles of a sample beside each other
constexpr int kSideWished = 220;  // of a tile, where the number of columns is free
constexpr int kSideLeast = 16, kSideMost = 1024;
constexpr int kSideEnough = 288;       // of a tile, where nothing else was asked for
constexpr int kSideOfCharacters = 96;  // pictures of this side have room for labels
constexpr size_t kBlockColumnsMax = 400;

struct ShowWishes {
  std::string file, path;
  uint64_t samples = 8, epoch = 0, step = 0;
  uint32_t rank = 0, world_size = 1;
  std::optional<uint64_t> columns, width;
  std::string terminal = "auto";
  bool force = false;
};

// Where the sheet goes: into a file, or to stdout in one of several forms.
enum class Target : uint8_t { kFile, kPng, kBlocks, kKitty, kSixel };

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Target target_of(const ShowWishes& wishes) {
  if (wishes.path == "-") return Target::kPng;
  if (!wishes.path.empty()) return Target::kFile;
  if (wishes.terminal == "kitty") return Target::kKitty;
  if (wishes.terminal == "sixel") return Target::kSixel;
  if (wishes.terminal == "blocks") return Target::kBlocks;
  if (isatty(STDOUT_FILENO) == 0)
    throw Failure(kUsage, "the output is no terminal: name a file for the sheet, such as sheet.png, or - for stdout.");
  switch (sheet::graphics_of(variable)) {
    case sheet::Graphics::kKitty:
      return Target::kKitty;
    case sheet::Graphics::kSixel:
      return Target::kSixel;
    case sheet::Graphics::kBlocks:
      break;
  }
  return Target::kBlocks;
}

// A file that is no picture is not written over by mistake.
void refuse_other_file(const ShowWishes& wishes) {
  std::error_code error;
  if (wishes.force || !std::filesystem::is_regular_file(wishes.path, error)) return;
  std::ifstream file(wishes.path, std::ios::binary);
  std::string begin(sheet::kPngSignature.size(), '\0');
  if (!file || file.peek() == std::ifstream::traits_type::eof()) return;
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin != sheet::kPngSignature)
    throw Failure(kWrong, wishes.path + " is there already and is no PNG file: name another file, or write --force.");
}

// The pixels that the sheet is wide.
int width_of(const ShowWishes& wishes, Target target) {
  if (wishes.width) return static_cast<int>(*wishes.width);
  if (target == Target::kBlocks) return static_cast<int>(std::min<size_t>(page_of_stdout().columns, kBlockColumnsMax));
  winsize size{};
  const bool is_told = target != Target::kFile && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_xpixel > 0;
  return is_told ? std::clamp<int>(size.ws_xpixel, kWidthMin, kWidthMax) : static_cast<int>(kWidth);
}

sheet::Grid grid_of(const ShowWishes& wishes, Target target, int tiles) {
  sheet::Grid grid;
  const int width = width_of(wishes, target), samples = static_cast<int>(wishes.samples);
  grid.across = std::clamp(tiles, 1, kAcrossMax);
  const int side = target == Target::kBlocks ? kSideLeast * 2 : kSideWished;
  grid.columns = wishes.columns ? static_cast<int>(*wishes.columns) : width / (grid.across * side);
  grid.columns = target == Target::kBlocks ? 1 : std::clamp(grid.columns, 1, samples);
  const bool is_asked = wishes.columns || wishes.width || target == Target::kBlocks;
  grid.side = std::min(sheet::side_for(width, grid.columns, grid.across), is_asked ? kSideMost : kSideEnough);
  while (!wishes.columns && grid.side < kSideLeast && grid.across > 1)
    grid.side = sheet::side_for(width, grid.columns, --grid.across);
  if (grid.side < kSideLeast)
    throw Failure(kUsage, "the sheet's pictures would have " + std::to_string(grid.side) +
                              " pixels in a row: give fewer --columns or a larger --width.");
  return grid;
}

// Numbers of samples for a pipeline that waits for its trainer to name them.
void push_samples(Loader& loader, uint64_t samples) {
  const spdld_info info = loader.info();
  std::vector<uint64_t> ids(std::min({samples, info.samples, info.batch_size}));
  std::iota(ids.begin(), ids.end(), 0);
  const auto [epoch, step] = loader.tell();
  loader.push(epoch, step, ids);
  loader.push(epoch, step + 1, {}, true);
}

class Showing {
 public:
  Showing(const Globals& globals, const ShowWishes& wishes, const BenchPlan& bench, const ShowPlan& plan)
      : globals_(globals), wishes_(wishes), bench_(bench), plan_(plan) {}

  std::vector<sheet::Card> cards(const sheet::Grid& grid) {
    Loader loader(options());
    progress_.clear();
    if (loader.info().pushed != 0) push_samples(loader, wishes_.samples);
    Pen pen{grid.side, grid.side >= kSideOfCharacters, loader.classes()};
    std::vector<sheet::Card> cards;
    std::string ids;
    while (cards.size() < wishes_.samples) {
      const Loader::Next next = loader.next(bench_.timeout_ms);
      if (next.result == SPDLD_INTERRUPTED) continue;
      if (next.result == SPDLD_TIMEOUT)
        throw Failure(kTimedOut, "no batch came within " + std::to_string(bench_.timeout_ms) +
                                     " ms; `spdlctl describe` shows what the pipeline waits for.");
      if (!next.batch) break;  // the epoch's end
      const uint64_t valid = next.batch.info().valid;
      for (uint64_t i = 0; i < valid && cards.size() < wishes_.samples; ++i) {
        cards.push_back(card_of(next.batch, i, plan_.outputs, pen));
        ids += " " + std::to_string(static_cast<int64_t>(Values(next.batch, "sample_id", i).element(0)));
      }
    }
    add_names(loader, cards, ids);
    return cards;
  }

 private:
  // The samples' names, where the daemon tells them.
  void add_names(const Loader& loader, std::vector<sheet::Card>& cards, const std::string& ids) const {
    if (cards.empty()) return;
    const config::Json document = ask_of(globals_, loader, "samples", ids);
    const config::Json& names = list_at(document, "samples");
    for (size_t i = 0; i < std::min(cards.size(), names.size()); ++i)
      cards[i].title += ": " + safe_text(text_or_empty(names.values()[i], "name"));
  }

  AttachOptions options() {
    spec_ = config::full_json(plan_.spec);
    AttachOptions options;
    options.socket = globals_.socket_or_null();
    options.spec = spec_.c_str();
    options.spec_is_json = 1;
    options.spec_folder = bench_.spec_folder.c_str();
    options.group = bench_.group.c_str();
    options.rank = wishes_.rank;
    options.world_size = wishes_.world_size;
    options.epoch = wishes_.epoch;
    options.step = wishes_.step;
    options.device = "cpu";
    options.join = "alone";
    options.client_name = "spdlctl show";
    options.looks = 1;
    show_progress(options, progress_);
    return options;
  }

  const Globals& globals_;
  const ShowWishes& wishes_;
  const BenchPlan& bench_;
  const ShowPlan& plan_;
  std::string spec_;
  StderrProgress progress_;
};

// Blocks have no room for characters: the words stand between the pictures.
void print_blocks(std::vector<sheet::Card> cards, const sheet::Grid& grid) {
  for (sheet::Card& card : cards) {
    std::string names;
    for (const sheet::Tile& tile : card.tiles) names += (names.empty() ? "" : ", ") + tile.name;
    print(card.title + (names.empty() ? "" : " (" + names + ")") + "\n");
    if (!card.tiles.empty()) print(sheet::blocks_text(sheet::strip_of(card.tiles, grid)));
    for (const std::string& line : card.lines) print(line + "\n");
  }
}

// Returns whether the sheet stands in a file of its own, about which something may be said on standard output.
bool write_sheet(const ShowWishes& wishes, Target target, const sheet::Canvas& canvas) {
  const std::string png = target == Target::kSixel ? sheet::sixel_text(canvas) : sheet::png_of(canvas);
  if (target != Target::kFile) {
    print(target == Target::kKitty ? sheet::kitty_text(png) : png);
    return false;
  }
  NewFile file(wishes.path);
  file.write(png);
  const bool is_stdout = file.is_stdout();
  file.finish();
  return !is_stdout;
}

ExitCode show(const Globals& globals, const ShowWishes& wishes) {
  if (wishes.rank >= wishes.world_size)
    throw Failure(kUsage, "there is no rank " + std::to_string(wishes.rank) + " of " +
                              std::to_string(wishes.world_size) + ": give --world-size, and a --rank below it.");
  const Target target = target_of(wishes);
  if (target == Target::kFile) refuse_other_file(wishes);
  const BenchPlan bench = plan_for(globals, wishes.file);
  if (bench.spec.empty())
    throw Failure(kUsage, "show takes a pipeline file (.toml, .json), not the name of a pipeline.");
  const auto loaded = config::load_pipeline_file(wishes.file);
  if (!loaded) throw Failure(kWrong, loaded.sentences());
  const sheet::Grid grid = grid_of(wishes, target, tiles_of(*loaded.value));
  const ShowPlan plan = plan_of(*loaded.value, grid.side);
  std::vector<sheet::Card> cards;
  try {
    cards = Showing(globals, wishes, bench, plan).cards(grid);
  } catch (const Exception& error) {
    throw Failure(exit_code_of(error.result()), error.what());
  }
  if (cards.empty()) throw Failure(kWrong, "there is no sample at this place: the epoch has ended before.");
  if (target == Target::kBlocks) {
    print_blocks(std::move(cards), grid);
    return kFine;
  }
  const sheet::Canvas canvas = sheet_of(cards, grid);
  if (!write_sheet(wishes, target, canvas)) return kFine;
  if (globals.json())
    print_json(
        {{"file", wishes.path}, {"samples", cards.size()}, {"width", canvas.width()}, {"height", canvas.height()}});
  else
    print(safe_text(wishes.path) + ": " + counted(cards.size(), "sample") + ", " + std::to_string(canvas.width()) +
          " x " + std::to_string(canvas.height()) + " pixels\n");
  return kFine;
}

void declare_show(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<ShowWishes>();
  command.word("PIPELINE", wishes->file, "a pipeline file (.toml, .json)");
  command.optional_word("SHEET", wishes->path,
                        "the PNG file to write; - is stdout; without it, the terminal shows the sheet");
  command.number("--samples", wishes->samples, 1, kSamplesMax, "N", "how many samples to show, at most 64");
  command.number("--epoch", wishes->epoch, 0, kPlaceMax, "E", "the epoch, counted from 0");
  command.number("--step", wishes->step, 0, kPlaceMax, "S", "the first batch to show, counted from 0");
  command.number("--rank", wishes->rank, 0, kRanksMax, "R", "the rank whose samples to show, counted from 0");
  command.number("--world-size", wishes->world_size, 1, kRanksMax, "N", "how many ranks share the data (default 1)");
  command.number("--columns", wishes->columns, 1, kColumnsMax, "C",
                 "samples beside each other (default: as many as fit)");
  command.number("--width", wishes->width, kWidthMin, kWidthMax, "PX",
                 "the sheet's width in pixels (default: 1600, or the terminal's)");
  command.choice("--terminal", wishes->terminal, {"auto", "kitty", "sixel", "blocks"}, "HOW",
                 "how to show the sheet without a file");
  command.flag("--force", wishes->force, "write over a file that is no PNG file");
  run = [&globals, wishes] { return show(globals, *wishes); };
}

constexpr const char* kShowMore =
    "Each sample has a picture \"before\", as its file has it, and the pictures of its outputs, as a trainer gets "
    "them. Boxes, masks and points are drawn on the pictures of their view; labels and other values stand below. "
    "Colours are what they were before `normalize`.\n\n"
    "The samples come in the order in which a single rank gets them, or with --rank and --world-size one of several, "
    "from --epoch and --step on. The command takes them as a job of its own, which keeps nothing in the node's cache, "
    "counts in no statistic, and takes little of a busy daemon's time. If no daemon runs, it starts a private one.\n\n"
    "Without SHEET, the terminal shows the pictures: by kitty's graphics protocol or as sixels where the terminal's "
    "name says that it can, else as coloured blocks.\n\n"
    "Examples:\n"
    "  spdlctl show train.toml sheet.png\n"
    "  spdlctl show train.toml --samples 2 --epoch 3";

}  // namespace

Command show_command() {
  return {"draw a sheet of a pipeline's samples, before and after its operations", kShowMore, &declare_show};
}

}  // namespace spdld::cli
