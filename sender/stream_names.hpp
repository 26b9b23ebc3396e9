// What streams are called, so that viewers can ask for them as HOST/NAME.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// One name for each source: `given` where it is not empty, else `suggested` with whatever is not a letter, a digit,
/// '-', '_' or '.' as '-', and with -2, -3 … behind it where another stream has that name. Throws Error (usage): a
/// given name with other characters or of more than 64, or given twice.
struct StreamNaming {
  std::string given;
  std::string suggested;
};
std::vector<std::string> stream_names(const std::vector<StreamNaming>& namings);

/// For what libav opens: a file's name without its suffix, the last part of a URL's path (or its host; never its user,
/// password or query), a device's name, the first filter of lavfi. `input_format`: --input-format.
std::string media_stream_name(const std::string& source, std::string_view input_format = {});

}  // namespace framewire
