#include "tests/cuda/mlx5_library.hpp"

namespace framewire::test::mlx5_library {

Answers& answers() {
  static Answers ones;
  return ones;
}

}  // namespace framewire::test::mlx5_library

// NOLINTBEGIN(readability-identifier-naming): rdma-core's names
extern "C" {

bool mlx5dv_is_supported(ibv_device* device) {
  const auto is_supported = framewire::test::mlx5_library::answers().is_supported;
  return is_supported != nullptr && is_supported(device);
}

int mlx5dv_get_data_direct_sysfs_path(ibv_context* context, char* path, size_t path_bytes) {
  return framewire::test::mlx5_library::answers().data_direct_path(context, path, path_bytes);
}

ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int descriptor, int access,
                             int mlx5_access) {
  return framewire::test::mlx5_library::answers().register_dma_buf(domain, offset, length, iova, descriptor, access,
                                                                   mlx5_access);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
