// Finds the program `spdld` that a client may start as this user's private daemon. Any thread.
#pragma once

#include <string>

namespace spdld::client {

// The absolute path of the first executable file among these places, in this order.
//   1. $SPDLD_DAEMON. Where it is set, no other place is looked at.
//   2. Beside this library: spdld and bin/spdld in its folder (a wheel of the Python package has the daemon there).
//   3. In the same installation: where this library lies in <prefix>/<libdir> or in the Python package below <prefix>,
//      <prefix>/<bindir>/spdld. The build's options name the three folders; the prefix may have moved since.
//   4. The folders of $PATH (relative folders are skipped).
// "This library" is the file that has this code: libspdld.so, the Python extension, or a program.
// Empty: there is none, and `looked_at` names the places.
std::string find_daemon_binary(std::string& looked_at);

// The third place, for a library in `folder` (absolute). Empty: the folder is neither `library_folder` nor
// `package_folder`. `library_folder`, `package_folder` and `program_folder`: relative to the prefix, or absolute
// folders outside of it.
std::string program_of_installation(const std::string& folder, const std::string& library_folder,
                                    const std::string& package_folder, const std::string& program_folder);

}  // namespace spdld::client
