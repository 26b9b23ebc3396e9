#include "pipe/digest.hpp"

#include <new>

namespace framewire {

RunningDigest::RunningDigest() : state_(XXH3_createState()) {
  if (!state_) {
    throw std::bad_alloc();
  }
  XXH3_64bits_reset(state_.get());
}

}  // namespace framewire
