#include "pipe/run_with_statistics.hpp"

#include <nlohmann/json.hpp>

namespace framewire {

std::string statistics_of_nothing(const std::string& error) {
  using Json = nlohmann::ordered_json;
  return Json{{"bytes", 0}, {"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace framewire
