// A libmlx5.so.1 without such a device: what it says comes from the test.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace framewire::test::mlx5_library {

struct Answers {
  bool (*is_supported)(ibv_device* device) = nullptr;
  int (*data_direct_path)(ibv_context* context, char* path, std::size_t path_bytes) = nullptr;
  ibv_mr* (*register_dma_buf)(ibv_pd* domain, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                              int descriptor, int access, int mlx5_access) = nullptr;
};

/// Until they are set, no device is one of it.
Answers& answers();

}  // namespace framewire::test::mlx5_library
