// Stream names, by which viewers request streams (HOST/NAME).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// One name for each source: `given`, or `suggested` if `given` is empty. In `suggested`, '-' replaces every character
/// but letters, digits, '-', '_' and '.'; a duplicate gets -2, -3 … appended. Throws Error (usage) if a given name has
/// other characters, has more than 64, or is given twice.
struct StreamNaming {
  std::string given;
  std::string suggested;
};
std::vector<std::string> stream_names(const std::vector<StreamNaming>& namings);

/// For libav inputs: a file's name without its suffix, the last part of a URL's path (or its host; never its user,
/// password or query), a device's name, or the first filter of lavfi. `input_format`: --input-format.
std::string media_stream_name(const std::string& source, std::string_view input_format = {});

}  // namespace framewire
