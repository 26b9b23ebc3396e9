#include "gl/device_uuid.hpp"

#include <algorithm>

namespace framewire {

std::vector<DeviceUuid> devices_of_context(const DeviceQueries& queries) {
  constexpr GLint most = 16;  // a group of GPUs that draw as one has a few
  std::vector<DeviceUuid> devices;
  if (queries.get_number == nullptr || queries.get_uuid == nullptr) {
    return devices;
  }
  GLint count = 0;
  queries.get_number(GL_NUM_DEVICE_UUIDS_EXT, &count);  // stays 0 where the driver does not know it
  for (GLint i = 0; i < std::min(count, most); ++i) {
    DeviceUuid& one = devices.emplace_back();
    static_assert(sizeof one == GL_UUID_SIZE_EXT);
    queries.get_uuid(GL_DEVICE_UUID_EXT, static_cast<GLuint>(i), one.data());
  }
  return devices;
}

bool context_draws_with(const DeviceUuid& uuid, const DeviceQueries& queries) {
  const std::vector<DeviceUuid> devices = devices_of_context(queries);
  return std::ranges::find(devices, uuid) != devices.end();
}

}  // namespace framewire
