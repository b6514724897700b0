// Rows of comma-separated values, as RFC 4180 has them and Python's csv module reads them: values in quotes may hold
// separators, ends of lines and doubled quotes; a row ends at LF, CR LF or CR. Quotes within a value that does not
// begin with one are characters like any other. Nothing in the text is trusted. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace spdld::source {

struct CsvValue {
  std::string_view text;            // as it is written, without the quotes around it
  bool has_doubled_quotes = false;  // each pair stands for one quote
};

struct CsvRow {
  enum class State : uint8_t {
    kWhole,
    kCut,  // the text ends within the row
    kBad   // something stands between a value's closing quote and the next separator
  };
  State state = State::kCut;
  uint64_t bytes = 0;            // with the end of its line; of a bad row up to the fault
  std::vector<CsvValue> values;  // of a blank line: none
};

// Reads the row that begins at the start of `text`. `is_all`: nothing comes behind the text, so that its end is a row's
// end as well. `row` is filled anew, so that its memory is used again.
void read_csv_row(std::string_view text, char separator, bool is_all, CsvRow& row);

// Writes the value, with one quote for each pair, and returns its bytes. `to` has room for value.text.size().
uint64_t plain_csv(const CsvValue& value, uint8_t* to);

}  // namespace spdld::source
