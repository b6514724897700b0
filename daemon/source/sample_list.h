// A list of samples that a user wrote: a text file with one sample a line, by its name as Listing::name has it
// ("cat/3.jpg", "train-007.tar:000123") or by its id. Blank lines say nothing. A name that several samples have means
// all of them. No name consists of digits alone: an image folder's has a '/', a webdataset's a ':'.
//
// Or an exported listing, whole or with lines taken out: its first line is kExportedHead, lines that begin with '#' are
// its head, and each other one is "<id>\t<name>". In the name a backslash is written \\, and a byte that does not
// belong to printable UTF-8 \xNN. It is the name that counts, so that it still holds when the data set has grown.
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
// Its head, with what follows from the listing; and a line of it, with its end.
std::string exported_head(const Listing& listing);
void append_exported(std::string& text, const Listing& listing, uint64_t sample);

// The ids, in no order, some perhaps twice. `key` ("order.include") stands in messages; the file's state is added to
// `stamps`. Goes through the names of the whole listing where names are given. Throws SetupError: the file can't be
// read, is too large, or names what is not listed: the first such name, and how many there are.
std::vector<uint64_t> read_sample_list(const std::string& path, std::string_view key, const Listing& listing,
                                       Stamps& stamps, const std::stop_token& stop);

}  // namespace spdld::source
