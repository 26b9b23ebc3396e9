// Quotes text for commands that people copy.
#pragma once

#include <string>
#include <string_view>

namespace framewire {

/// The text as one shell word, quoted if necessary: 'it'\''s here'. POSIX shell, section 2.2.2. Text that would control
/// a terminal, or is not UTF-8, becomes $'\033[2J', of section 2.2.4: bash, zsh and ksh read it, dash does not.
std::string shell_word(std::string_view text);

}  // namespace framewire
