// What the viewer sends on a tcp data connection: 8 bytes for each released slot.
#pragma once

#include <cstdint>

namespace framewire {

struct CreditWord {
  std::uint32_t epoch = 0;
  std::uint16_t slot = 0;
  std::uint16_t reserved = 0;
};
static_assert(sizeof(CreditWord) == 8);

}  // namespace framewire
