// Names for files that the user asks for by a key.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace framewire {

/// "framewire-20260131-235959" and the extension, which begins with a dot; local time.
std::string timed_name(std::time_t at, std::string_view extension);

/// Creates an empty file, so that no other viewer takes its name. If `file` is there, the new one gets a number, as in
/// "NAME-2.png". Returns its name. Throws Error, with `what` the file is: "the screenshot".
std::string claim_new_file(const std::string& file, const std::string& what);

}  // namespace framewire
