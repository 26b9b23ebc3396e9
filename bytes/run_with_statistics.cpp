#include "bytes/run_with_statistics.hpp"

#include <nlohmann/json.hpp>

#include "command/json_text.hpp"

namespace framewire {

std::string statistics_of_nothing(const std::string& error) {
  return to_line({{"bytes", 0}, {"error", error}});
}

}  // namespace framewire
