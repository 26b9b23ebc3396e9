#include "command/suggestion.hpp"

#include <algorithm>
#include <cstddef>

namespace framewire {

namespace {

constexpr std::size_t max_letters = 64;  // longer words are no typing errors
constexpr std::size_t most_errors = 3;
constexpr std::size_t shortest_beginning = 3;

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

/// The number of typing errors between two words: optimal string alignment, row by row.
std::size_t typing_errors(std::string_view typed, std::string_view meant) {
  const std::size_t columns = meant.size() + 1;
  std::vector<std::size_t> before(columns);
  std::vector<std::size_t> last(columns);
  std::vector<std::size_t> row(columns);
  for (std::size_t j = 0; j < columns; ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= typed.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t wrong = typed[i - 1] == meant[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + wrong});
      if (i > 1 && j > 1 && typed[i - 1] == meant[j - 2] && typed[i - 2] == meant[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[meant.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view typed = without_dashes(word);
  if (typed.size() > max_letters) {
    return std::nullopt;
  }
  std::size_t fewest = std::min((typed.size() + 1) / 3, most_errors) + 1;
  std::optional<std::string> nearest;
  for (const std::string& name : names) {
    const std::string_view meant = without_dashes(name);
    const bool is_beginning = typed.size() >= shortest_beginning && meant.starts_with(typed);
    const std::size_t errors = is_beginning ? 1 : typing_errors(typed, meant);
    // A name of one or two letters is near to everything short.
    if (errors < fewest && errors < meant.size()) {
      fewest = errors;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace framewire
