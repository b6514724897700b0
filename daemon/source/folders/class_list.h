// The classes of a data set and the order of their numbers, as a user wrote them (`classes` of [source]): a list in the
// pipeline itself, or a file. A file whose name ends in .json holds a list of labels, or a table from labels to
// numbers, from numbers to labels, or from numbers to lists of a label and a name, as imagenet_class_index.json has it.
// Any other file has a label on each line; blank lines mean nothing. The file is not trusted. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/source/stamps.h"

namespace spdld::source {

class Bounds;

class ClassList {
 public:
  // `what` ("source.classes: /x/classes.txt") begins messages. `labels`: by number. `names`: for people; empty: the
  // labels. Throws SetupError where there is no label, one is empty, or one is there twice. A name that several classes
  // have gets its label behind it.
  ClassList(std::string what, std::vector<std::string> labels, std::vector<std::string> names = {});

  ClassList(ClassList&&) = default;
  ClassList& operator=(ClassList&&) = default;
  ClassList(const ClassList&) = delete;
  ClassList& operator=(const ClassList&) = delete;

  const std::string& what() const { return what_; }
  // The names that folders have, or the texts of a column.
  const std::vector<std::string>& labels() const { return labels_; }
  const std::vector<std::string>& names() const { return names_; }
  std::optional<uint32_t> number_of(std::string_view label) const;
  // Of the file; without one it has no stamp.
  Stamps stamps = {};

 private:
  std::string what_;
  std::vector<std::string> labels_, names_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // views of labels_, whose texts never move
};

// `classes`: as config::SourceSpec has it. Empty: none. Throws SetupError where the file can't be read, or is none of
// the above.
std::optional<ClassList> read_class_list(const std::string& classes, const Bounds* bounds);

// "the first are a, b and c" of texts that are made fit for a message.
std::string first_texts(const std::vector<std::string>& texts);

}  // namespace spdld::source
