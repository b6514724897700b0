// Small operations on files; a failure is a Result with the system's words for it. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "daemon/base/result.h"
#include "proto/unique_fd.h"

namespace spdld::cache {

// "PATH can't be WHAT: No space left on device"
Error file_error(const std::filesystem::path& path, const char* what);  // by errno

// Made (0600) where it is missing; an error where it is no regular file.
Result<UniqueFd> open_for_writing(const std::filesystem::path& path);
// All of `bytes` at `offset`, or an error.
Status write_fully(int fd, const std::filesystem::path& path, std::span<const uint8_t> bytes, uint64_t offset);
// The file's text, of at most 64 KiB; nothing: it can't be read, or is no regular file.
std::optional<std::string> read_text(const std::filesystem::path& path);
uint64_t size_of(const std::filesystem::path& path);  // 0: there is no such file
bool is_file_or_missing(const std::filesystem::path& path);

}  // namespace spdld::cache
