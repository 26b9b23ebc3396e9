#include "gl/device_uuid.hpp"

namespace framewire {

bool context_draws_with(const DeviceUuid& uuid, const DeviceQueries& queries) noexcept {
  if (queries.get_number == nullptr || queries.get_uuid == nullptr) {
    return false;
  }
  GLint count = 0;
  queries.get_number(GL_NUM_DEVICE_UUIDS_EXT, &count);  // stays 0 where the driver does not know it
  for (GLint i = 0; i < count; ++i) {
    DeviceUuid one{};
    static_assert(sizeof one == GL_UUID_SIZE_EXT);
    queries.get_uuid(GL_DEVICE_UUID_EXT, static_cast<GLuint>(i), one.data());
    if (one == uuid) {
      return true;
    }
  }
  return false;
}

}  // namespace framewire
