// [rows]: how rows are made of records, and what the rest of the pipeline may say beside that.
#include <algorithm>
#include <array>
#include <utility>

#include "config/checks/check.h"
#include "config/rows.h"
#include "config/text/field_path.h"
#include "config/views.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kTileSideMax = 16384;
constexpr double kRowBytesMax = 1u << 26;

// Keys that go with some kinds of rows alone.
struct OwnKey {
  std::string_view key;
  std::array<RowKind, 2> kinds;
  bool is_needed;
};
constexpr std::array<OwnKey, 5> kOwnKeys = {{{"size", {RowKind::kTiles, RowKind::kTiles}, true},
                                             {"length", {RowKind::kWindows, RowKind::kPacked}, true},
                                             {"stride", {RowKind::kTiles, RowKind::kWindows}, false},
                                             {"step", {RowKind::kClips, RowKind::kClips}, false},
                                             {"separator", {RowKind::kPacked, RowKind::kPacked}, false}}};

RowKind row_kind_named(std::string_view name) {
  for (const RowKind kind : {RowKind::kTiles, RowKind::kClips, RowKind::kWindows, RowKind::kPacked})
    if (row_kind_name(kind) == name) return kind;
  return RowKind::kRecords;
}

// False: a key is missing, or does not belong here.
bool check_own_keys(const TableReader& reader, RowKind kind) {
  const size_t before = reader.complaints().size();
  const std::string name = in_quotes(row_kind_name(kind));
  for (const OwnKey& own : kOwnKeys) {
    const bool is_given = reader.find(own.key) != nullptr,
               belongs = std::count(own.kinds.begin(), own.kinds.end(), kind) > 0;
    if (is_given && !belongs) reader.complain(own.key, "does not go with kind = " + name);
    if (!is_given && belongs && own.is_needed) reader.complain(own.key, "is missing: kind = " + name + " needs it");
  }
  return reader.complaints().size() == before;
}

void read_tiles(const TableReader& reader, RowsSpec& rows) {
  const auto size = std::get<std::vector<double>>(reader.value("size"));
  auto stride = std::get<std::vector<double>>(reader.value("stride"));
  if (stride.empty()) stride = size;
  rows.height = static_cast<uint32_t>(size.front());
  rows.width = static_cast<uint32_t>(size.back());
  rows.stride_y = static_cast<uint32_t>(stride.front());
  rows.stride_x = static_cast<uint32_t>(stride.back());
  if (rows.stride_y > rows.height || rows.stride_x > rows.width)
    reader.complain("stride", "must be at most size: a larger one would leave parts of the picture out");
}

void read_windows(const TableReader& reader, RowsSpec& rows) {
  rows.length = static_cast<uint64_t>(reader.integer("length"));
  const auto stride = std::get<std::vector<double>>(reader.value("stride"));
  if (stride.size() > 1) reader.complain("stride", "must be one number beside kind = \"windows\"");
  rows.stride = stride.empty() ? rows.length : static_cast<uint64_t>(stride.front());
  if (rows.stride > rows.length)
    reader.complain("stride", "must be at most length: a larger one would leave bytes out");
}

void read_packed(const TableReader& reader, RowsSpec& rows) {
  rows.length = static_cast<uint64_t>(reader.integer("length"));
  const int64_t separator = reader.integer("separator");
  if (separator >= 0) rows.separator = static_cast<uint8_t>(separator);
}

std::string key_of_output(size_t output, std::string_view key) {
  return "output[" + std::to_string(output) + "]." + std::string(key);
}

// The first operation that takes such a piece of a record.
const OperationType& first_taker(RowKind kind) {
  return kind == RowKind::kTiles
             ? first_operation([](const OperationType& type) { return type.row_piece.kind == RowKind::kTiles; })
             : first_operation([](const OperationType& type) { return type.row_piece.kind == RowKind::kClips; });
}

// The operation that takes the row's clip; null: the output has none.
const OperationSpec* clip_of_row(const OutputSpec& output) {
  if (output.ops.empty() || row_piece_of(output.ops.front()) != RowKind::kClips) return nullptr;
  return &output.ops.front();
}

void check_tile(const OutputSpec& output, size_t number, const RowsSpec& rows, Complaints& complaints) {
  size_t at = 0;
  const OperationSpec* const tile = find_tile(output, &at);
  if (tile == nullptr) return;
  const std::string key = key_of_output(number, "ops[" + std::to_string(at) + "]");
  if (rows.kind != RowKind::kTiles) {
    complaints.add(tile->where.line, key, "needs [rows] with kind = \"tiles\", which says what the tiles are");
    return;
  }
  if (at != 1) complaints.add(tile->where.line, key, "must stand right behind " + std::string(first_leader().name));
  const auto& size = tile->numbers("size");
  if (size.front() != rows.height || size.back() != rows.width)
    complaints.add(tile->where.line, key + ".size", "must be the size that [rows] has: leave it out");
}

void check_tiles(const PipelineSpec& spec, int line, Complaints& complaints) {
  std::optional<bool> upright;
  bool has_tile = false;
  for (const OutputSpec& output : spec.outputs) {
    size_t at = 0;
    if (find_tile(output, &at) == nullptr || output.from != spec.rows.from) continue;
    has_tile = true;
    if (at != 1) continue;  // complained about
    const bool here = output.ops.front().flag("exif");
    if (upright && *upright != here)
      complaints.add(output.where.line, "rows.from", "is turned by exif in one output and not in another");
    upright = here;
  }
  if (!has_tile) {
    complaints.add(line, "rows.from",
                   "is cut into tiles, and no output from it has the operation " +
                       in_quotes(std::string(first_taker(RowKind::kTiles).name)) + " behind " +
                       std::string(first_leader().name));
  }
}

// The rows are clips as the first operation with pick = "row" on the field has them; others begin where it begins.
void check_clips(PipelineSpec& spec, int line, Complaints& complaints) {
  RowsSpec& rows = spec.rows;
  const OperationSpec* leader = nullptr;
  for (const OutputSpec& output : spec.outputs) {
    if (!leader && output.from == rows.from) leader = clip_of_row(output);
  }
  if (leader == nullptr) {
    const OperationType& taker = first_taker(RowKind::kClips);
    complaints.add(line, "rows.from",
                   "is cut into clips, and no output from it begins with " + std::string(taker.name) + " and " +
                       std::string(taker.row_piece.parameter) + " = " + in_quotes(std::string(taker.row_piece.value)));
    return;
  }
  rows.clip_frames = static_cast<uint64_t>(leader->integer("frames"));
  rows.frame_stride = static_cast<uint64_t>(leader->integer("stride"));
  rows.fps = leader->number("fps");
  if (rows.clip_step == 0) rows.clip_step = rows.clip_frames;
  if (rows.clip_step > rows.clip_frames)
    complaints.add(line, "rows.step",
                   "must be at most the " + std::to_string(rows.clip_frames) +
                       " frames of a clip: a larger one would leave frames out");
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OperationSpec* const clip = clip_of_row(spec.outputs[i]);
    if (clip == nullptr) continue;
    const std::string key = key_of_output(i, "ops[0]");
    if ((clip->number("fps") > 0) != (rows.fps > 0))
      complaints.add(clip->where.line, key, "must have fps where the first output of the rows has it, and else stride");
    if (clip->text("beyond") == "bad" && rows.keeps_partial)
      complaints.add(clip->where.line, key + ".beyond",
                     "can't be \"bad\" beside partial = \"keep\" in [rows]: the last clips of videos may be shorter");
  }
}

void check_clip(const OutputSpec& output, size_t number, const RowsSpec& rows, Complaints& complaints) {
  const OperationSpec* const clip = clip_of_row(output);
  if (clip == nullptr || rows.kind == RowKind::kClips) return;
  complaints.add(clip->where.line, key_of_output(number, "ops[0].pick"),
                 "can't be \"row\" without [rows] with kind = \"clips\", which says where the clips lie");
}

void check_packed(const PipelineSpec& spec, int line, Complaints& complaints) {
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OutputSpec& output = spec.outputs[i];
    if (output.from != spec.rows.from && !is_row_field(output.from, spec.rows))
      complaints.add(
          output.where.line, key_of_output(i, "from"),
          "must be " + in_quotes(spec.rows.from) + " or a field of the row: a packed row is made of several records");
  }
  bool chooses = !spec.order.include.empty() || !spec.order.exclude.empty() || !spec.order.weights.empty();
  chooses |= spec.order.part.is_on();
  for (const SourceSpec& source : spec.sources)
    chooses |= !source.include.empty() || !source.exclude.empty() || source.part.is_on() || has_condition(source);
  if (chooses)
    complaints.add(line, "rows.kind",
                   "can't be \"packed\" beside include, exclude, part, weights or where: a packed row is made of "
                   "several records");
}

}  // namespace

const std::vector<Parameter>& rows_keys() {
  static const std::vector<Parameter> keys = {
      {.name = "kind",
       .type = Type::kChoice,
       .help = "a record gives tiles of its picture, clips of its video or windows of its bytes; or all records' bytes "
               "are packed",
       .choices = {"tiles", "clips", "windows", "packed"}},
      {.name = "from", .type = Type::kText, .help = "the field that is cut"},
      {.name = "size",
       .type = Type::kNumbers,
       .help = "of a tile in pixels: one number (a square) or [height, width]",
       .fallback = Value(std::vector<double>{1}),
       .min = 1,
       .max = kTileSideMax,
       .count_min = 1,
       .count_max = 2,
       .whole = true},
      {.name = "length",
       .type = Type::kInteger,
       .help = "of a window or a packed row, in bytes",
       .fallback = Value(int64_t{1}),
       .min = 1,
       .max = kRowBytesMax},
      {.name = "stride",
       .type = Type::kNumbers,
       .help = "from tile to tile ([down, across] or one number) or from window to window; by default their size",
       .fallback = Value(std::vector<double>{}),
       .min = 1,
       .max = kRowBytesMax,
       .count_min = 1,
       .count_max = 2,
       .whole = true},
      {.name = "step",
       .type = Type::kInteger,
       .help = "from clip to clip, in frames of a clip; by default as many as a clip has",
       .fallback = Value(int64_t{0}),
       .min = 1,
       .max = 1024},
      {.name = "partial",
       .type = Type::kChoice,
       .help = "rows at a border or at the end that are not full: a kept tile is filled up with black, and a kept clip "
               "as its beyond says",
       .fallback = Value(std::string("keep")),
       .choices = {"keep", "drop"}},
      {.name = "separator",
       .type = Type::kInteger,
       .help = "of packed rows: the value of a byte that follows each record",
       .fallback = Value(int64_t{-1}),
       .min = 0,
       .max = 255},
  };
  return keys;
}

RowsSpec check_rows(const Node& node, Sources sources, Complaints& complaints) {
  TableReader reader(node, "rows", rows_keys(), complaints);
  reader.refuse_unknown();
  RowsSpec rows;
  const RowKind kind = row_kind_named(reader.text("kind"));
  OutputSpec stand_in;
  const auto field = check_from(reader, sources, stand_in);
  if (field && (field->kind() != SignatureKind::kBytes || field->bytes().origin != Origin::kContent))
    reader.complain("from", "must be a field with bytes of its own, not " + in_quotes(stand_in.from));
  const bool is_known = !complaints.has("rows.kind");
  rows.kind = kind;
  if (kind == RowKind::kTiles) rows.height = rows.width = 1;  // a stand-in, so that a tile finds a size
  if (!is_known || !check_own_keys(reader, kind)) return rows;
  rows.from = stand_in.from;
  rows.keeps_partial = reader.text("partial") == "keep";
  if (kind == RowKind::kTiles) read_tiles(reader, rows);
  if (kind == RowKind::kClips) rows.clip_step = static_cast<uint64_t>(reader.integer("step"));
  if (kind == RowKind::kWindows) read_windows(reader, rows);
  if (kind == RowKind::kPacked) read_packed(reader, rows);
  return rows;
}

void check_beside_rows(PipelineSpec& spec, int line, Complaints& complaints) {
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const OutputSpec& output = spec.outputs[i];
    check_tile(output, i, spec.rows, complaints);
    check_clip(output, i, spec.rows, complaints);
    const FieldPath path = parse_field_path(output.from);
    const bool is_of_bytes = spec.rows.kind == RowKind::kWindows || spec.rows.kind == RowKind::kPacked;
    if (is_of_bytes && path.is_json() && path.field() == spec.rows.from)
      complaints.add(output.where.line, key_of_output(i, "from"), "can't be read as JSON: [rows] cuts this field");
  }
  if (spec.rows.kind == RowKind::kTiles) check_tiles(spec, line, complaints);
  if (spec.rows.kind == RowKind::kClips) check_clips(spec, line, complaints);
  if (spec.rows.kind == RowKind::kPacked) check_packed(spec, line, complaints);
}

}  // namespace spdld::config
