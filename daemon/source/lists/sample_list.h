// A list of samples that a user wrote: a text file with one sample on each line, by its name as Listing::name gives it
// ("cat/3.jpg", "train-007.tar:000123") or by its id. Blank lines mean nothing. A name that several samples have means
// all of them. No name consists of digits alone: an image folder's has a '/', a webdataset's a ':'.
//
// The list may be an exported listing, whole or with lines taken out: its first line is kExportedHead, lines that begin
// with '#' are its head, and each other line is "<id>\t<name>". In the name a backslash is written \\, and a byte that
// does not belong to printable UTF-8 \xNN. The name counts, not the id, so that the list still holds when the data set
// has grown.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/source/listing.h"
#include "daemon/source/stamps.h"

namespace spdld::source {

inline constexpr uint64_t kSampleListBytesMax = uint64_t{1} << 30;

inline constexpr std::string_view kExportedHead = "# spdld listing 1";
// exported_head() is the head of an exported listing, with the listing's own properties. append_exported() adds one
// line, with its end.
std::string exported_head(const Listing& listing);
void append_exported(std::string& text, const Listing& listing, uint64_t sample);

// The ids, in no order, some perhaps twice. `path`: as an entry of config::Selection, which may be the list itself.
// `key` ("order.include") stands in messages; the file's state is added to `stamps`. Where the file gives names, it
// reads the names of the whole listing. Throws SetupError: the file can't be read, is too large, or names samples that
// are not listed (the first such line, and how many there are).
std::vector<uint64_t> read_sample_list(const std::string& path, std::string_view key, const Listing& listing,
                                       Stamps& stamps, const std::stop_token& stop);

}  // namespace spdld::source
