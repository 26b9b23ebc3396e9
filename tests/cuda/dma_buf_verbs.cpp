#include "tests/cuda/dma_buf_verbs.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <string_view>

#include "tests/cuda/machine.hpp"
#include "tests/cuda/stand_in.hpp"

// The linker prescribes these names (--wrap).
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
ibv_mr* __real_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access);
int __real_ibv_dereg_mr(ibv_mr* mr);
}

namespace framewire::test::dma_buf_verbs {

namespace {

struct Living {
  void* real_address = nullptr;  // what ibv_mr::addr was
  void* mapping = nullptr;       // of a DMA-BUF
  std::size_t length = 0;
};

struct Book {
  std::mutex mutex;  // guards everything
  int dma_buf_error = 0;
  int address_error = EFAULT;
  bool leads_astray = false;
  std::vector<Registered> registered;
  std::map<ibv_mr*, Living> living;
};

Book& book() {
  static Book one;
  return one;
}

ibv_mr* register_pages(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  if (domain != &domain_without_device()) {
    return __real_ibv_reg_mr_iova2(domain, address, length, iova, access);
  }
  return new ibv_mr{
      .context = domain->context, .pd = domain, .addr = address, .length = length, .handle = 0, .lkey = 1, .rkey = 1};
}

ibv_mr* fail(int error_number) {
  errno = error_number;
  return nullptr;
}

/// What the kernel checks.
int fault_of(std::uint64_t offset, std::size_t length, std::uint64_t iova, int descriptor, int access) {
  constexpr std::uint64_t page_bytes = 4096;
  constexpr auto known = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) |
                         static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return EBADF;
  }
  constexpr std::uint64_t bytes_around = cuda_stand_in::bytes_before_memory + cuda_stand_in::bytes_behind_memory;
  const std::uint64_t size_bytes = static_cast<std::uint64_t>(status.st_size) - bytes_around;
  const bool is_within = offset <= size_bytes && length <= size_bytes - offset;
  const bool is_valid = (static_cast<unsigned>(access) & ~known) == 0 && offset % page_bytes == iova % page_bytes;
  return is_within && is_valid ? 0 : EINVAL;
}

}  // namespace

ibv_mr* register_dma_buf(ibv_pd* domain, std::uint64_t offset, std::size_t length, std::uint64_t iova, int descriptor,
                         int access) {
  const std::scoped_lock lock(book().mutex);
  if (book().dma_buf_error != 0) {
    return fail(book().dma_buf_error);
  }
  if (const int error_number = fault_of(offset, length, iova, descriptor, access); error_number != 0) {
    return fail(error_number);
  }
  const bool is_astray = book().leads_astray;
  void* const mapping = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                               is_astray ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, is_astray ? -1 : descriptor,
                               is_astray ? 0 : static_cast<off_t>(cuda_stand_in::bytes_before_memory + offset));
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  ibv_mr* const mr = register_pages(domain, mapping, length, iova, static_cast<unsigned>(access));
  if (mr == nullptr) {
    const int error_number = errno;
    ::munmap(mapping, length);
    return fail(error_number);
  }
  book().living[mr] = {.real_address = mr->addr, .mapping = mapping, .length = length};
  mr->addr = reinterpret_cast<void*>(offset);  // as libibverbs has it: nobody may use this as an address
  book().registered.push_back({true, iova, length, static_cast<unsigned>(access)});
  return mr;
}

ibv_mr* register_address(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  std::byte* const on_device = cuda_stand_in::memory_at(reinterpret_cast<std::uint64_t>(address));
  if (on_device == nullptr) {
    return register_pages(domain, address, length, iova, access);
  }
  const std::scoped_lock lock(book().mutex);
  if (book().address_error != 0) {
    return fail(book().address_error);
  }
  ibv_mr* const mr = register_pages(domain, on_device, length, iova, access);
  if (mr != nullptr) {
    book().living[mr] = {.real_address = mr->addr};
    book().registered.push_back({false, iova, length, access});
  }
  return mr;
}

int deregister(ibv_mr* mr) {
  const std::scoped_lock lock(book().mutex);
  Living living;
  if (const auto found = book().living.find(mr); found != book().living.end()) {
    living = found->second;
    mr->addr = living.real_address;
    book().living.erase(found);
  }
  int result = 0;
  if (mr->pd == &domain_without_device()) {
    delete mr;
  } else {
    result = __real_ibv_dereg_mr(mr);
  }
  if (living.mapping != nullptr) {
    ::munmap(living.mapping, living.length);
  }
  return result;
}

void reset() {
  const std::scoped_lock lock(book().mutex);
  book().dma_buf_error = 0;
  book().address_error = EFAULT;
  book().leads_astray = false;
  book().registered.clear();
}

void refuse_dma_buf(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().dma_buf_error = error_number;
}

void pin_addresses(bool can_pin) {
  const std::scoped_lock lock(book().mutex);
  book().address_error = can_pin ? 0 : EFAULT;
}

void refuse_addresses(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().address_error = error_number;
}

void lead_astray(bool leads_astray) {
  const std::scoped_lock lock(book().mutex);
  book().leads_astray = leads_astray;
}

std::vector<Registered> registered() {
  const std::scoped_lock lock(book().mutex);
  return book().registered;
}

std::size_t living() {
  const std::scoped_lock lock(book().mutex);
  return book().living.size();
}

ibv_pd& domain_without_device() {
  static ibv_device device = [] {
    ibv_device named{};
    std::string_view("rxe0").copy(named.name, sizeof named.name - 1);
    return named;
  }();
  static ibv_context context = [] {
    ibv_context opened{};
    opened.device = &device;
    return opened;
  }();
  static ibv_pd domain{.context = &context, .handle = 0};
  return domain;
}

}  // namespace framewire::test::dma_buf_verbs

extern "C" {
ibv_mr* __wrap_ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int descriptor,
                                 int access) {
  return framewire::test::dma_buf_verbs::register_dma_buf(domain, offset, length, iova, descriptor, access);
}
ibv_mr* __wrap_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access) {
  return framewire::test::dma_buf_verbs::register_address(domain, address, length, iova, access);
}
int __wrap_ibv_dereg_mr(ibv_mr* mr) {
  return framewire::test::dma_buf_verbs::deregister(mr);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
