#include "daemon/source/tables/table_index.h"

#include <utility>

#include "daemon/base/result.h"
#include "daemon/source/bounds.h"
#include "daemon/source/kept_records.h"
#include "daemon/source/parts.h"
#include "daemon/source/tables/block_reader.h"

namespace spdld::source {
namespace {

void write_texts(KeptWriter& writer, const std::vector<std::string>& texts) {
  writer.number(texts.size());
  for (const std::string& text : texts) writer.text(text);
}

std::vector<std::string> read_texts(KeptReader& reader) {
  std::vector<std::string> texts;
  const uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) texts.emplace_back(reader.text());
  return texts;
}

bool read_rows(KeptReader& reader, TableIndex& index, uint64_t file_bytes) {
  uint64_t end = 0;
  for (uint64_t rows = reader.number(); rows > 0 && reader.ok(); --rows) {
    const uint64_t gap = reader.number(), length = reader.number();
    if (gap > file_bytes - end || length > file_bytes - end - gap || length > kTableRowBytesMax) return false;
    index.add_row(end + gap, length);
    end += gap + length;
  }
  return reader.ok();
}

bool read_absent(KeptReader& reader, TableIndex& index) {
  for (size_t column = 0; column < index.columns.size(); ++column) {
    const uint64_t count = reader.number();
    if (count > index.rows() / 64 + 1) return false;
    std::vector<uint64_t> words;
    for (uint64_t i = 0; i < count; ++i) words.push_back(reader.number());
    index.absent.push_back(RowSet::of(std::move(words)));
  }
  return reader.ok();
}

bool read_text_columns(KeptReader& reader, TableIndex& index) {
  for (uint64_t count = reader.number(); count > 0 && reader.ok(); --count) {
    TextColumn& column = index.texts.emplace_back();
    for (std::string_view rest = reader.text(); !rest.empty();) {
      const size_t end = rest.find('\0');
      if (end == std::string_view::npos) return false;
      column.add(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (column.size() != index.rows()) return false;
  }
  return reader.ok();
}

bool read_classes(KeptReader& reader, TableIndex& index) {
  index.classes = read_texts(reader);
  for (uint64_t row = 0; row < (index.classes.empty() ? 0 : index.rows()); ++row) {
    index.class_of.push_back(static_cast<uint32_t>(reader.number()));
    if (!reader.ok() || index.class_of.back() >= index.classes.size()) return false;
  }
  return reader.ok();
}

// The result of indexing one file.
struct Indexed {
  TableIndex index;
  uint64_t file_bytes = 0;
  std::string_view taken;  // its record, where it is as it was kept
  std::string record;      // else, if it is settled
};

class Indexer {
 public:
  Indexer(const TableSource& source, const KeptRecords& kept, bool keeping, const Bounds* bounds)
      : source_(source), kept_(kept), keeping_(keeping), bounds_(bounds) {}

  Indexed index(const std::string& path, std::atomic<uint64_t>& done) const {
    const int64_t now_ns = file_time_now_ns();  // before its state is asked for
    KeptState state = kept_state(look_at_archive(path, bounds_, source_.kind));
    Indexed indexed;
    indexed.file_bytes = state.size;
    indexed.taken = kept_.find(path, state);
    if (!indexed.taken.empty()) {
      auto index = index_in(KeptRecords::parts_of(indexed.taken).index, state.size);
      if (index) {
        indexed.index = std::move(*index);
        done.fetch_add(state.size, std::memory_order_relaxed);
        return indexed;
      }
      indexed.taken = {};
    }
    struct stat status;
    const UniqueFd fd = open_table_file(path, bounds_, source_.kind, status);
    indexed.index = source_.read(fd.get(), path, done);
    state = kept_state(status);
    indexed.file_bytes = state.size;
    if (keeping_ && is_settled(state, now_ns))
      indexed.record = KeptRecords::record_of(path, state, kept_bytes_of(indexed.index));
    return indexed;
  }

 private:
  const TableSource& source_;
  const KeptRecords& kept_;
  const bool keeping_;
  const Bounds* const bounds_;
};

}  // namespace

void TableIndex::fit() {
  offsets.shrink_to_fit();
  lengths.shrink_to_fit();
  class_of.shrink_to_fit();
  for (TextColumn& column : texts) column.fit();
}

std::string kept_bytes_of(const TableIndex& index) {
  KeptWriter writer;
  write_texts(writer, index.columns);
  writer.text({reinterpret_cast<const char*>(index.kinds.data()), index.kinds.size()});
  writer.number(index.rows());
  uint64_t end = 0;
  for (uint64_t row = 0; row < index.rows(); ++row) {
    writer.number(index.offsets[row] - end);  // the file's order: never before it
    writer.number(index.lengths[row]);
    end = index.offsets[row] + index.lengths[row];
  }
  for (const RowSet& rows : index.absent) {
    writer.number(rows.words().size());
    for (const uint64_t word : rows.words()) writer.number(word);
  }
  writer.number(index.texts.size());
  for (const TextColumn& column : index.texts) writer.text(column.texts());
  write_texts(writer, index.classes);
  for (const uint32_t number : index.class_of) writer.number(number);
  writer.text(index.content);
  write_remarks(writer, index.remarks);
  return writer.take();
}

std::optional<TableIndex> index_in(std::string_view bytes, uint64_t file_bytes) {
  KeptReader reader(bytes);
  TableIndex index;
  index.columns = read_texts(reader);
  if (index.columns.size() > kTableColumnsMax) return std::nullopt;
  const std::string_view kinds = reader.text();
  index.kinds.assign(kinds.begin(), kinds.end());
  if (!read_rows(reader, index, file_bytes) || !read_absent(reader, index) || !read_text_columns(reader, index) ||
      !read_classes(reader, index))
    return std::nullopt;
  index.content = reader.text();
  if (!read_remarks(reader, index.remarks) || !reader.rest().empty()) return std::nullopt;
  index.fit();
  return index;
}

TableFiles index_files(const TableSource& source, const Progress& progress, const std::stop_token& stop,
                       const std::filesystem::path& kept_folder, KeptUse& use, const Bounds* bounds) {
  TableFiles files{find_archives(source.uris, stop, bounds, source.kind), {}, {}};
  std::string key = source.key;
  for (const std::string& uri : source.uris) key.append(1, '\n').append(uri);
  KeptFile kept_file(kept_folder, key);
  const KeptRecords kept(kept_file.read());
  const Indexer indexer(source, kept, kept_file.is_on(), bounds);
  const auto& paths = files.found.paths;
  std::vector<Indexed> all(paths.size());
  std::atomic<uint64_t> done{0};
  run_parts(
      paths.size(), [&](uint64_t i) { all[i] = indexer.index(paths[i], done); }, {source.what, done, files.found.bytes},
      progress, stop);
  keep_indexed(kept_file, all, kept.size(), use);
  for (Indexed& one : all) {
    files.indexes.push_back(std::move(one.index));
    files.file_bytes.push_back(one.file_bytes);
  }
  return files;
}

}  // namespace spdld::source
