// "did you mean …?" for a mistyped option or subcommand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// The name that was probably meant: the first with the fewest typing errors, as far as one letter in three is wrong at
/// most, or a name that begins with `word`. A typing error is a letter too many, a missing one, a wrong one, or two
/// that changed places (the restricted Damerau-Levenshtein distance). Dashes in front do not count. Nothing if no name
/// is that near.
std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace framewire
