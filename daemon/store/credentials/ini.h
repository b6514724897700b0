// Reads the INI text of AWS's profile files. Source: "Shared config and credentials files", AWS SDKs and Tools
// Reference Guide, https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html. Plain values; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld::store {

constexpr size_t kIniBytesMax = 1 << 20;
constexpr size_t kIniEntriesMax = 65536;  // sections and their settings together

// Settings by name in lower case.
using IniSection = std::map<std::string, std::string, std::less<>>;

// Sections by name, with one blank between the words of a name. A section that comes twice is one, and its later
// settings win. A line that begins with a blank belongs to the setting above it, as a part that credentials have none
// of, and is passed over; a comment is a line that begins with '#' or ';', or the end of a line after a blank and
// '#' or ';'.
using IniFile = std::map<std::string, IniSection, std::less<>>;

// An error (kUsage, kLimit) names `path` and the line's number, never what stands in the line: it may be a secret.
Result<IniFile> read_ini(std::string_view text, const std::string& path);

}  // namespace spdld::store
