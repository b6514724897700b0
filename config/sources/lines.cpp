#include "config/source_types.h"

namespace spdld::config::source_types {

SourceType lines() {
  return {.name = "lines",
          .help =
              "The lines of text files: the field text has a line's bytes without its end, which is a line feed, or a "
              "carriage return and a line feed; __key__ is the sample's name. An empty line is a row as well. The uri "
              "may have braces and wildcards, be a folder of .txt files, or be a list of uris, which follow one "
              "another. Files may be compressed by gzip or zstd, so that order.shuffle must be \"window\" or \"off\".",
          .fields = {"text", kTableNameField},
          .parameters = {},
          .takes_patterns = true,
          .takes_stream_bytes = true,
          .name_field = kTableNameField};
}

}  // namespace spdld::config::source_types
