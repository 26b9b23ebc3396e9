// OpenGL's textures and buffers in memory that CUDA reaches.
#pragma once

#include <cstddef>

#include "base/file_descriptor.hpp"
#include "gl/gl.hpp"
#include "gl/handle.hpp"
#include "tests/gpu/cuda_driver.hpp"

namespace framewire {

/// A texture that CUDA maps. Used by the thread of both.
class SharedTexture {
 public:
  /// CUgraphicsRegisterFlags.
  enum class Use : unsigned { read = 1, write = 2 };

  /// `texture` is one of GL_TEXTURE_2D, and outlives this. Throws Error.
  SharedTexture(const CudaDriver& cuda, GLuint texture, Use use);
  SharedTexture(const SharedTexture&) = delete;
  SharedTexture& operator=(const SharedTexture&) = delete;
  SharedTexture(SharedTexture&&) = delete;
  SharedTexture& operator=(SharedTexture&&) = delete;
  ~SharedTexture();

  /// Maps it, hands its CUarray to `run`, and unmaps it. Throws Error.
  template <typename Run>
  void with_array(Run run) const {
    const Mapping mapping(*this);
    run(mapping.array);
  }

 private:
  struct Mapping {
    explicit Mapping(const SharedTexture& mapped) : texture(mapped), array(mapped.map()) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    Mapping(Mapping&&) = delete;
    Mapping& operator=(Mapping&&) = delete;
    ~Mapping() { texture.unmap(); }

    const SharedTexture& texture;
    void* array;
  };

  [[nodiscard]] void* map() const;
  void unmap() const noexcept;

  const CudaDriver& cuda_;
  void* resource_ = nullptr;
};

/// One end of a copy: a part of CUDA_MEMCPY2D.
struct CudaCopyEnd {
  std::size_t x_bytes = 0;
  std::size_t y = 0;
  int memory_type = 0;
  void* host = nullptr;
  CudaAddress device = 0;
  void* array = nullptr;
  std::size_t pitch_bytes = 0;
};
CudaCopyEnd host_end(std::byte* memory);
CudaCopyEnd device_end(CudaAddress address);
CudaCopyEnd array_end(void* array);

/// Copies the picture that is probed. Throws Error.
void copy(const CudaDriver& cuda, const CudaCopyEnd& from, const CudaCopyEnd& to);

/// An OpenGL buffer in another's memory. Used on the context's thread.
class ImportedBuffer {
 public:
  /// Takes the descriptor. OpenGL keeps errors for glGetError. Throws Error if OpenGL cannot import any memory.
  ImportedBuffer(FileDescriptor memory, std::size_t size_bytes, bool is_dedicated);
  ImportedBuffer(const ImportedBuffer&) = delete;
  ImportedBuffer& operator=(const ImportedBuffer&) = delete;
  ImportedBuffer(ImportedBuffer&&) = delete;
  ImportedBuffer& operator=(ImportedBuffer&&) = delete;
  ~ImportedBuffer();

  [[nodiscard]] GLuint buffer() const noexcept { return buffer_.id(); }

 private:
  GLuint memory_ = 0;
  GlBuffer buffer_;
};

}  // namespace framewire
