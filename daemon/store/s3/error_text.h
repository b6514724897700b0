// The document in which S3 says what is wrong. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace spdld::store::s3 {

constexpr size_t kErrorBytesMax = 64 << 10;

// Printable and bounded, so that the parts may stand in a message. The code is for comparing, too: "NoSuchKey".
struct ErrorText {
  std::string code;     // at most 80 bytes
  std::string message;  // at most 300 bytes; may be empty
  std::string region;   // where the bucket is, in an error about the region; may be empty
  // "NoSuchKey (The specified key does not exist.)"
  std::string words() const;
};

// Nothing where the text is no such document, for example a proxy's page.
std::optional<ErrorText> read_error_text(std::string_view xml);

}  // namespace spdld::store::s3
