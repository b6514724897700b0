// The head of a reply: its status, and what its headers say (RFC 9110). A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/store/object.h"

namespace spdld::store::http {

struct Head {
  int status = 0;                        // 0: none came
  std::optional<uint64_t> length;        // Content-Length
  std::optional<uint64_t> range_start;   // Content-Range, of 206
  std::optional<uint64_t> object_bytes;  // the total of Content-Range
  std::string etag;                      // as it was sent, with its quotes
  std::string last_modified, retry_after, content_type;
  std::string encoding;         // Content-Encoding
  std::string stored_encoding;  // x-goog-stored-content-encoding: of an object that the store unpacks on the way
  std::string crc32c;           // x-amz-checksum-crc32c: of the whole object, in base64
  std::string content_md5;      // of this body, in base64 (RFC 1864)

  // Takes one line, without its end. A status line begins a new head: of the reply after a redirect, say. Numbers that
  // are none count as absent.
  void take_line(std::string_view line);
  // How the bytes are compressed, as the head says it: "gzip"; empty: they are not. Codings that compress nothing, such
  // as the "aws-chunked" that some programs leave at an object, are none.
  std::string_view compression() const;
  bool is_unpacked_on_the_way() const;
  // Of the whole object, as far as the head tells.
  Identity identity() const;
};

// An ETag's hash, without its quotes and without the W/ of a weak one; of an empty text 0.
int64_t etag_hash(std::string_view etag);

}  // namespace spdld::store::http
