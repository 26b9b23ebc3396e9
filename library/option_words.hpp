// Messages of the core, which names options as command lines have them.
#pragma once

#include <string>
#include <string_view>

namespace framewire {

/// "start it with a larger --viewers" as "start it with a larger option viewers": options that the library has, too,
/// are named as fw_option names them. Others stay, since they are those of a program at the other end.
std::string in_option_words(std::string_view message);

}  // namespace framewire
