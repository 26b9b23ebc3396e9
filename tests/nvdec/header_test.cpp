// What media/cuda_decoder.hpp declares is what libav declares. Compiled where CUDA's header is installed, which libav's
// includes.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "media/cuda_decoder.hpp"

extern "C" {
#include <libavutil/hwcontext_cuda.h>
}

namespace framewire::libav {
namespace {

static_assert(sizeof(CudaDeviceContext) == sizeof(AVCUDADeviceContext));
static_assert(offsetof(CudaDeviceContext, context) == offsetof(AVCUDADeviceContext, cuda_ctx));
static_assert(offsetof(CudaDeviceContext, stream) == offsetof(AVCUDADeviceContext, stream));
static_assert(offsetof(CudaDeviceContext, internal) == offsetof(AVCUDADeviceContext, internal));

TEST(NvdecHeader, DeclaresWhatIsUsed) {
  SUCCEED() << "the compiler has compared them";
}

}  // namespace
}  // namespace framewire::libav
