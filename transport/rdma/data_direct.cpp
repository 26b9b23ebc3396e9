#include "transport/rdma/data_direct.hpp"

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/error.hpp"

namespace framewire {

namespace {

// Signatures are those of rdma-core's providers/mlx5/mlx5dv.h. Versions are those of providers/mlx5/libmlx5.map:
// mlx5dv_is_supported() is MLX5_1.8, the others came with MLX5_1.25 (rdma-core 54; Debian 12 has 44).
using IsSupported = bool(ibv_device* device);
using GetPath = int(ibv_context* context, char* path, std::size_t path_bytes);
using Register = ibv_mr*(ibv_pd* protection_domain, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                         int descriptor, int access, int mlx5_access);

/// MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT, which providers/mlx5/mlx5_api.h takes from
/// kernel-headers/rdma/mlx5_user_ioctl_verbs.h.
constexpr int access_data_direct = 1;

constexpr const char* too_old = "libmlx5.so.1 is older than rdma-core 54";

/// Those that are missing are null.
struct Functions {
  IsSupported* is_supported = nullptr;
  GetPath* get_path = nullptr;
  Register* register_memory = nullptr;
  const char* why_not = nullptr;  // null: all are there
};

/// Each call loads it anew, which costs nothing once it is there. Never unloaded: libibverbs may use it as well.
Functions load() noexcept {
  Functions loaded;
  void* const library = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.why_not = "libmlx5.so.1 is not here";
    return loaded;
  }
  loaded.is_supported = reinterpret_cast<IsSupported*>(::dlvsym(library, "mlx5dv_is_supported", "MLX5_1.8"));
  loaded.get_path = reinterpret_cast<GetPath*>(::dlvsym(library, "mlx5dv_get_data_direct_sysfs_path", "MLX5_1.25"));
  loaded.register_memory = reinterpret_cast<Register*>(::dlvsym(library, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25"));
  if (loaded.is_supported == nullptr || loaded.get_path == nullptr || loaded.register_memory == nullptr) {
    loaded.why_not = too_old;
  }
  return loaded;
}

}  // namespace

DataDirect data_direct_of(ibv_context& device) {
  const Functions mlx5 = load();
  // Of another maker's device libmlx5's age does not matter.
  if (mlx5.is_supported != nullptr && !mlx5.is_supported(device.device)) {
    return {.path = {}, .why_not = "the RDMA device is not of mlx5"};
  }
  if (mlx5.why_not != nullptr) {
    return {.path = {}, .why_not = mlx5.why_not};
  }
  std::array<char, PATH_MAX> path{};
  switch (const int error_number = mlx5.get_path(&device, path.data(), path.size() - 1)) {
    case 0:
      return {.path = std::string("/sys") + path.data(), .why_not = {}};
    case ENODEV:  // as mlx5dv_get_data_direct_sysfs_path(3) says it
      return {.path = {}, .why_not = "the RDMA device has none"};
    case EOPNOTSUPP:  // of a libmlx5 that drives the device without the kernel's verbs
    case EPROTONOSUPPORT:
    case ENOTTY:
      return {.path = {}, .why_not = "its driver does not know it"};
    default:
      return {.path = {}, .why_not = "asking its driver: " + errno_text(error_number)};
  }
}

ibv_mr* register_for_data_direct(ibv_pd& protection_domain, std::uint64_t offset_bytes, std::size_t size_bytes,
                                 std::uint64_t address, int descriptor, int access) noexcept {
  const Functions mlx5 = load();
  if (mlx5.why_not != nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return mlx5.register_memory(&protection_domain, offset_bytes, size_bytes, address, descriptor, access,
                              access_data_direct);
}

}  // namespace framewire
