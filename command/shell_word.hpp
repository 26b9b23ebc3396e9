// Text from outside in commands that people copy.
#pragma once

#include <string>
#include <string_view>

namespace framewire {

/// The text as one word of a shell, quoted where it has to be: 'it'\''s here'. POSIX, 2.2.2.
std::string shell_word(std::string_view text);

}  // namespace framewire
