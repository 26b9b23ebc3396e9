// Quotes text for commands that people copy.
#pragma once

#include <string>
#include <string_view>

namespace framewire {

/// The text as one shell word, quoted if necessary: 'it'\''s here'. POSIX shell, section 2.2.2.
std::string shell_word(std::string_view text);

}  // namespace framewire
