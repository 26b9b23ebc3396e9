#include "tests/gpu/cuda_gl.hpp"

#include <glad/egl.h>

#include <string>

#include "base/error.hpp"
#include "tests/gpu/cuda_probe.hpp"

namespace framewire {

namespace {

constexpr std::size_t pitch_bytes = std::size_t{probed_size.width} * 4;

/// CUDA_MEMCPY2D.
struct Copy {
  CudaCopyEnd from;
  CudaCopyEnd to;
  std::size_t width_bytes;
  std::size_t height;
};
static_assert(sizeof(Copy) == 128);

/// A function of an extension.
template <typename... Arguments>
using GlFunction = void(GLAD_API_PTR*)(Arguments...);

template <typename... Arguments>
void call_gl(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<GlFunction<Arguments...>>(eglGetProcAddress(name));
  if (function == nullptr) {
    throw Error::failed(std::string("OpenGL has no ") + name);
  }
  function(arguments...);
}

}  // namespace

SharedTexture::SharedTexture(const CudaDriver& cuda, GLuint texture, Use use) : cuda_(cuda) {
  cuda_.call("cuGraphicsGLRegisterImage", &resource_, texture, GLenum{GL_TEXTURE_2D}, use);
}

SharedTexture::~SharedTexture() {
  cuda_.release("cuGraphicsUnregisterResource", resource_);
}

void* SharedTexture::map() const {
  void* resource = resource_;
  void* array = nullptr;
  void* const default_stream = nullptr;
  cuda_.call("cuGraphicsMapResources", 1U, &resource, default_stream);
  cuda_.call("cuGraphicsSubResourceGetMappedArray", &array, resource, 0U, 0U);
  return array;
}

void SharedTexture::unmap() const noexcept {
  void* resource = resource_;
  void* const default_stream = nullptr;
  cuda_.release("cuGraphicsUnmapResources", 1U, &resource, default_stream);
}

CudaCopyEnd host_end(std::byte* memory) {
  return {.memory_type = 1, .host = memory, .pitch_bytes = pitch_bytes};
}

CudaCopyEnd device_end(CudaAddress address) {
  return {.memory_type = 2, .device = address, .pitch_bytes = pitch_bytes};
}

CudaCopyEnd array_end(void* array) {
  return {.memory_type = 3, .array = array};
}

void copy(const CudaDriver& cuda, const CudaCopyEnd& from, const CudaCopyEnd& to) {
  const Copy copy{.from = from, .to = to, .width_bytes = pitch_bytes, .height = probed_size.height};
  cuda.call("cuMemcpy2D_v2", &copy);
}

ImportedBuffer::ImportedBuffer(FileDescriptor memory, std::size_t size_bytes, bool is_dedicated)
    : buffer_(GlBuffer::create()) {
  // Of GL_EXT_memory_object and GL_EXT_memory_object_fd.
  constexpr GLenum dedicated = 0x9581;
  constexpr GLenum opaque_descriptor = 0x9586;
  call_gl("glCreateMemoryObjectsEXT", GLsizei{1}, &memory_);
  const GLint yes = GL_TRUE;
  if (is_dedicated) {
    call_gl("glMemoryObjectParameterivEXT", memory_, dedicated, &yes);
  }
  call_gl("glImportMemoryFdEXT", memory_, GLuint64{size_bytes}, opaque_descriptor, GLint{memory.release()});
  call_gl("glNamedBufferStorageMemEXT", buffer_.id(), static_cast<GLsizeiptr>(size_bytes), memory_, GLuint64{0});
}

ImportedBuffer::~ImportedBuffer() {
  buffer_.reset();
  using Delete = GlFunction<GLsizei, const GLuint*>;
  if (const auto delete_objects = reinterpret_cast<Delete>(eglGetProcAddress("glDeleteMemoryObjectsEXT"))) {
    delete_objects(1, &memory_);
  }
}

}  // namespace framewire
