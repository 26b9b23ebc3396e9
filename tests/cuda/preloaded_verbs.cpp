// dma_buf_verbs in front of libibverbs for whole programs, by LD_PRELOAD: they then register the memory of tests/cuda's
// GPU, and a real device reads and writes it.
#include <dlfcn.h>

#include <cstdlib>

#include "tests/cuda/dma_buf_verbs.hpp"

namespace {

template <typename Function>
Function* next(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::abort();  // the program is without libibverbs
  }
  return reinterpret_cast<Function*>(found);
}

[[gnu::constructor]] void begin() {
  framewire::test::dma_buf_verbs::reset();
}

}  // namespace

// What dma_buf_verbs.cpp calls and gives where the linker wraps.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
ibv_mr* __wrap_ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int descriptor,
                                 int access);
ibv_mr* __wrap_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access);
int __wrap_ibv_dereg_mr(ibv_mr* mr);

ibv_mr* __real_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access) {
  return next<ibv_mr*(ibv_pd*, void*, size_t, uint64_t, unsigned int)>("ibv_reg_mr_iova2")(domain, address, length,
                                                                                           iova, access);
}
int __real_ibv_dereg_mr(ibv_mr* mr) {
  return next<int(ibv_mr*)>("ibv_dereg_mr")(mr);
}
void* __real_dlopen(const char* name, int flags) {
  return ::dlopen(name, flags);
}

// With libibverbs's names of the arguments.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  return __wrap_ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned int access) {
  return __wrap_ibv_reg_mr_iova2(pd, addr, length, iova, access);
}
int ibv_dereg_mr(ibv_mr* mr) {
  return __wrap_ibv_dereg_mr(mr);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
