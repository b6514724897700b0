// Makes .npy files as numpy writes them, with any type, shape and data.
#pragma once

#include <string>

namespace spdld::test {

// `descr` is numpy's ("<f4"), and `shape` a tuple of Python ("(3,)").
inline std::string make_npy(const std::string& descr, const std::string& shape, const std::string& data,
                            int version = 1, bool is_fortran = false) {
  std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': " + (is_fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t before = 8 + length_bytes;
  while ((before + dict.size() + 1) % 64 != 0) dict += ' ';  // numpy aligns the data
  dict += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(dict.size() >> (8 * i));
  return file + dict + data;
}

}  // namespace spdld::test
