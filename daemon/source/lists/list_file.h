// A user's text file that names samples, one on each line: shared code of sample_list.h and weight_list.h. A sample is
// named as by Listing::name ("cat/3.jpg", "train-007.tar:000123") or by its id. No name consists of digits alone: an
// image folder's has a '/', a webdataset's a ':'. Messages name the file and the line, and never what the line says:
// who reads the message may not be allowed to read the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

// The bytes of a user's file beside the data set, without a byte order mark; its state is added to `stamps`. `what`
// ("order.include: /x/list") begins messages. Throws SetupError: it can't be read, is no file, has more than
// `bytes_max`, or lies outside the bounds of lists (nullptr: none).
std::string read_user_file(const std::string& path, const std::string& what, uint64_t bytes_max, const Bounds* bounds,
                           Stamps& stamps);
// The bytes of a list of samples, as read_user_file() reads them: at most kSampleListBytesMax, within the listing's
// bounds.
std::string read_list_file(const std::string& path, const std::string& what, const Listing& listing, Stamps& stamps);

// A sample's name, made fit for a message: a long name is cut, and nothing steers a terminal.
std::string shown(std::string_view name);

// Calls see(line's text, its number from 1 on) for each line that is not blank.
template <typename See>
void for_each_line(std::string_view text, const See& see) {
  for (uint64_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) see(line, number);
  }
}

// A line's name. The text must outlive it.
struct NamedLine {
  std::string_view name;
  uint64_t line = 0;
};

// A line and a sample that it names. A name that several samples have means all of them, and lines may name a sample
// twice.
struct NamedSample {
  uint64_t line;  // index into the lines
  uint64_t id;
};

// The samples that the lines name, in no order. Where lines give names, it reads the names of the whole listing. Throws
// SetupError where lines name samples that are not listed (the first such line, and how many there are), or where
// `stop` is asked for.
std::vector<NamedSample> find_samples(std::span<const NamedLine> lines, const std::string& what, const Listing& listing,
                                      const std::stop_token& stop);

}  // namespace spdld::source
