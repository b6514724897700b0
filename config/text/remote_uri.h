// The uris of objects in remote stores: "s3://bucket/folder/a.tar", "https://data.example.org/a.tar". Pure functions;
// any thread.
//
// An S3 name is taken as it is written, byte for byte. A web address is written as it is asked for: a character that
// has a meaning in an address stands there as %XX.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spdld::config {

// Whether the text begins as one: with s3://, http:// or https://.
bool is_remote(std::string_view uri);

// Says what is wrong with a remote uri, as the end of a sentence about it; empty: nothing is. Credentials, queries and
// steps upwards ("..") are refused: who may read what is decided by the operator's file, by the beginnings of uris.
std::string remote_uri_fault(std::string_view uri);

struct RemoteUri {
  std::string_view scheme;     // "s3"
  std::string_view authority;  // the bucket, or the server: "data.example.org:8080"
  std::string_view object;     // behind the '/' after it; may be empty
};
// Precondition: remote_uri_fault is empty. Views of `uri`.
RemoteUri split_remote_uri(std::string_view uri);

// A path as it stands in a uri of the same scheme as `uri`: of a web server with %XX for what has a meaning in an
// address.
std::string written_in_uri(std::string_view uri, std::string_view path);

// Whether `uri` is `beginning` or lies below it: "s3://a/b" has "s3://a/b/c" and not "s3://a/bc"; "s3://" has all
// of S3.
bool lies_below(std::string_view uri, std::string_view beginning);
bool lies_below_any(std::string_view uri, std::span<const std::string> beginnings);

}  // namespace spdld::config
