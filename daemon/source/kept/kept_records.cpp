#include "daemon/source/kept/kept_records.h"

#include <utility>

namespace spdld::source {
namespace {

void write_sentences(KeptWriter& writer, const Remarks::Sentences& sentences) {
  writer.number(sentences.first.size());
  for (const std::string& sentence : sentences.first) writer.text(sentence);
  writer.number(sentences.count);
}

bool read_sentences(KeptReader& reader, Remarks::Sentences& sentences) {
  const uint64_t first = reader.number();
  for (uint64_t i = 0; i < first && reader.ok(); ++i) sentences.add(std::string(reader.text()));
  const uint64_t count = reader.number();
  if (!reader.ok() || count < sentences.count) return false;
  sentences.count = count;
  return true;
}

}  // namespace

KeptRecords::KeptRecords(std::string_view payload) {
  KeptReader reader(payload);
  while (!reader.rest().empty()) {
    const std::string_view start = reader.rest();
    const std::string_view path = reader.text();
    Kept kept;
    kept.state = KeptState::read(reader);
    reader.text();  // the index
    if (!reader.ok()) return;
    kept.record = start.substr(0, start.size() - reader.rest().size());
    files_.insert_or_assign(path, kept);
  }
}

std::string_view KeptRecords::find(const std::string& path, const KeptState& state) const {
  const auto found = files_.find(path);
  return found == files_.end() || found->second.state != state ? std::string_view() : found->second.record;
}

std::string KeptRecords::record_of(const std::string& path, const KeptState& state, std::string_view index) {
  KeptWriter writer;
  writer.text(path);
  state.write(writer);
  writer.text(index);
  return writer.take();
}

KeptRecords::Content KeptRecords::parts_of(std::string_view record) {
  KeptReader reader(record);
  reader.text();
  const KeptState state = KeptState::read(reader);
  return {state, reader.text()};
}

void write_remarks(KeptWriter& writer, const Remarks& remarks) {
  write_sentences(writer, remarks.all());
  write_sentences(writer, remarks.missing());
}

bool read_remarks(KeptReader& reader, Remarks& remarks) {
  Remarks::Sentences all, missing;
  if (!read_sentences(reader, all) || !read_sentences(reader, missing) || missing.count > all.count) return false;
  remarks = Remarks(std::move(all), std::move(missing));
  return true;
}

void keep_records(KeptFile& file, const std::vector<std::string_view>& records, bool has_new, size_t kept_before,
                  KeptUse& use) {
  if (has_new || use.taken != kept_before) {
    use.trouble = file.write(records);
  } else if (use.taken != 0) {
    file.touch();
  }
}

}  // namespace spdld::source
