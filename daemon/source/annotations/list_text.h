// Numbers and texts from files of annotations, and the lists in JSON that are made of them. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace spdld::source {

std::string_view without_blanks(std::string_view text);  // at its ends
// None: the whole text is no finite number.
std::optional<double> finite_number(std::string_view text);

// Appends in JSON: the shortest text that is the same number.
void append_number(std::string& list, double number);

// A list that grows by elements in JSON.
class ListText {
 public:
  // The place where the next element's text is to be appended.
  std::string& next() {
    if (text_.size() > 1) text_ += ',';
    return text_;
  }
  void add(std::string_view element) { next() += element; }
  const std::string& finish() { return text_ += ']'; }

 private:
  std::string text_ = "[";
};

}  // namespace spdld::source
