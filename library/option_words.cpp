#include "library/option_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace framewire {

namespace {

constexpr std::array<std::string_view, 20> option_names{"listen",  "to",       "transport",    "memory",
                                                        "key",     "insecure", "encrypt",      "timeout",
                                                        "tos",     "delivery", "slots",        "frames",
                                                        "viewers", "duration", "rdma-address", "spin",
                                                        "retry",   "read",     "reconnect",    "no-relaxed-ordering"};

constexpr std::string_view dashes = "--";

}  // namespace

std::string in_option_words(std::string_view message) {
  std::string words;
  std::size_t done = 0;
  for (std::size_t at = message.find(dashes); at != std::string_view::npos; at = message.find(dashes, at + 1)) {
    const std::size_t begin = at + dashes.size();
    const std::size_t end = std::min(message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin), message.size());
    const std::string_view name = message.substr(begin, end - begin);
    const bool begins_word = at == 0 || message[at - 1] == ' ' || message[at - 1] == '(';
    if (begins_word && std::ranges::find(option_names, name) != option_names.end()) {
      words += std::string(message.substr(done, at - done)) + "option " + std::string(name);
      done = end;
    }
  }
  return words + std::string(message.substr(done));
}

}  // namespace framewire
