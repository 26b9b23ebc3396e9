#include "tests/viewer/program_fixture.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace framewire {

std::map<std::string, std::int64_t> numbers_in(const std::string& file) {
  std::ifstream text(file);
  const nlohmann::json all = nlohmann::json::parse(text);
  std::map<std::string, std::int64_t> numbers;
  for (const auto& [name, value] : all.items()) {
    if (value.is_number_integer()) {
      numbers[name] = value.get<std::int64_t>();
    }
  }
  return numbers;
}

}  // namespace framewire
