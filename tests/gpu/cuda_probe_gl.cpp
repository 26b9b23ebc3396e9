// The questions of gpu_cuda_probe about OpenGL: copies between textures and memory of 3840x2160 rgba, whether they are
// exact, and how long they take (medians of 31).
#include <glad/egl.h>

#include <array>
#include <cstring>
#include <memory>

#include "gl/egl_context.hpp"
#include "gl/handle.hpp"
#include "gl/offscreen_target.hpp"
#include "memory/host_block.hpp"
#include "tests/gpu/cuda_gl.hpp"
#include "tests/gpu/cuda_memory.hpp"
#include "tests/gpu/cuda_probe.hpp"
#include "tests/gpu/median_time.hpp"

namespace framewire {

namespace {

constexpr auto width = static_cast<GLsizei>(probed_size.width);
constexpr auto height = static_cast<GLsizei>(probed_size.height);
constexpr std::size_t word_count = probed_bytes / sizeof(std::uint32_t);

std::string exact_and_time(const Words& words, std::uint32_t number, double milliseconds) {
  return require_test_words(words, number) + ", " + in_ms(milliseconds);
}

void require_no_gl_error(const char* call) {
  if (const GLenum error = glGetError(); error != GL_NO_ERROR) {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "0x%04X", error);
    throw Error::failed(std::string(call) + " gave the GL error " + text.data());
  }
}

/// From the buffer that is bound as GL_PIXEL_UNPACK_BUFFER, or from memory.
void fill_texture(GLuint texture, const void* from) {
  glTextureSubImage2D(texture, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, from);
}

Words words_of_texture(GLuint texture) {
  Words words(word_count);
  glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, static_cast<GLsizei>(probed_bytes), words.data());
  return words;
}

Words words_at(const CudaDriver& cuda, CudaAddress address) {
  Words words(word_count);
  cuda.call("cuMemcpyDtoH_v2", words.data(), address, probed_bytes);
  return words;
}

/// A picture's memory in the device, and one in the host that CUDA has registered.
class Buffers {
 public:
  explicit Buffers(const CudaDriver& cuda)
      : cuda_(cuda),
        host_(HostBlock::create("gpu check", probed_bytes)),
        registration_(cuda, host_->bytes(), 0),
        device_(cuda, probed_bytes) {}

  [[nodiscard]] std::byte* host() const { return host_->bytes().data(); }
  [[nodiscard]] CudaAddress device() const { return device_.address(); }
  [[nodiscard]] Words host_words() const {
    Words words(word_count);
    std::memcpy(words.data(), host(), probed_bytes);
    return words;
  }
  void fill(std::uint32_t number) const {
    const Words words = test_words(word_count, number);
    std::memcpy(host(), words.data(), probed_bytes);
    cuda_.call("cuMemcpyHtoD_v2", device(), words.data(), probed_bytes);
  }

 private:
  const CudaDriver& cuda_;
  std::shared_ptr<HostBlock> host_;
  CudaRegistration registration_;
  CudaAllocation device_;
};

template <typename Function>
Function* find_egl(const char* name) {
  void* address = reinterpret_cast<void*>(eglGetProcAddress(name));
  if (address == nullptr) {
    throw Error::failed(std::string("there is no ") + name);
  }
  return reinterpret_cast<Function*>(address);
}

void ask_about_devices(const CudaDriver& cuda) {
  ask("the CUDA device of OpenGL's EGL device", [&] {
    const auto of_display = find_egl<EGLBoolean(EGLDisplay, EGLint, EGLAttrib*)>("eglQueryDisplayAttribEXT");
    const auto of_device = find_egl<EGLBoolean(EGLDeviceEXT, EGLint, EGLAttrib*)>("eglQueryDeviceAttribEXT");
    constexpr EGLint device_of_display = 0x322C;  // EGL_DEVICE_EXT
    constexpr EGLint cuda_device = 0x323A;        // EGL_CUDA_DEVICE_NV
    EGLAttrib device = 0;
    EGLAttrib number = -1;
    if (of_display(eglGetCurrentDisplay(), device_of_display, &device) == EGL_FALSE) {
      throw Error::failed("EGL does not name the display's device");
    }
    if (of_device(reinterpret_cast<EGLDeviceEXT>(device), cuda_device, &number) == EGL_FALSE) {
      throw Error::failed("EGL does not name the device's CUDA device");
    }
    return std::to_string(number) + (number == cuda.device() ? ", the same" : ", another one");
  });
  ask("the CUDA device of OpenGL, by cuGLGetDevices", [&] {
    constexpr int all_devices = 1;  // CU_GL_DEVICE_LIST_ALL
    unsigned count = 0;
    int device = -1;
    cuda.call("cuGLGetDevices_v2", &count, &device, 1U, all_devices);
    return std::to_string(device) + " of " + std::to_string(count);
  });
}

void ask_about_textures(const CudaDriver& cuda, const Buffers& buffers) {
  const OffscreenTarget target(probed_size);
  const auto from_texture = [&](const CudaCopyEnd& to, const SharedTexture& texture) {
    return median_ms([&] {
      texture.with_array([&](void* array) {
        copy(cuda, array_end(array), to);
        cuda.call("cuCtxSynchronize");
      });
    });
  };
  const auto into_texture = [&](const CudaCopyEnd& from, const SharedTexture& texture) {
    return median_ms([&] {
      texture.with_array([&](void* array) {
        copy(cuda, from, array_end(array));
        cuda.call("cuCtxSynchronize");
      });
    });
  };
  ask("mapping and unmapping a texture", [&] {
    const SharedTexture texture(cuda, target.texture(), SharedTexture::Use::read);
    return in_ms(median_ms([&] { texture.with_array([](void*) {}); }));
  });
  ask("texture to registered host memory", [&] {
    fill_texture(target.texture(), test_words(word_count, 1).data());
    const SharedTexture texture(cuda, target.texture(), SharedTexture::Use::read);
    const double milliseconds = from_texture(host_end(buffers.host()), texture);
    return exact_and_time(buffers.host_words(), 1, milliseconds);
  });
  ask("texture to device memory", [&] {
    fill_texture(target.texture(), test_words(word_count, 2).data());
    const SharedTexture texture(cuda, target.texture(), SharedTexture::Use::read);
    const double milliseconds = from_texture(device_end(buffers.device()), texture);
    return exact_and_time(words_at(cuda, buffers.device()), 2, milliseconds);
  });
  ask("device memory to texture", [&] {
    buffers.fill(3);
    const SharedTexture texture(cuda, target.texture(), SharedTexture::Use::write);
    const double milliseconds = into_texture(device_end(buffers.device()), texture);
    return exact_and_time(words_of_texture(target.texture()), 3, milliseconds);
  });
  ask("registered host memory to texture", [&] {
    buffers.fill(4);
    const SharedTexture texture(cuda, target.texture(), SharedTexture::Use::write);
    const double milliseconds = into_texture(host_end(buffers.host()), texture);
    return exact_and_time(words_of_texture(target.texture()), 4, milliseconds);
  });
}

/// The same copies without CUDA.
void ask_about_gl_alone() {
  const OffscreenTarget target(probed_size);
  target.bind();
  fill_texture(target.texture(), test_words(word_count, 5).data());
  Words words(word_count);
  const auto read = [&](void* to) { glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, to); };
  ask("glReadPixels to host memory", [&] {
    const double milliseconds = median_ms([&] { read(words.data()); });
    return exact_and_time(words, 5, milliseconds);
  });
  const auto buffer = GlBuffer::create();
  constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  glNamedBufferStorage(buffer.id(), static_cast<GLsizeiptr>(probed_bytes), nullptr, access | GL_CLIENT_STORAGE_BIT);
  const void* mapped = glMapNamedBufferRange(buffer.id(), 0, static_cast<GLsizeiptr>(probed_bytes), access);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer.id());
  ask("glReadPixels to a persistent buffer", [&] {
    const double milliseconds = median_ms([&] {
      read(nullptr);
      glFinish();
    });
    std::memcpy(words.data(), mapped, probed_bytes);
    return exact_and_time(words, 5, milliseconds);
  });
  ask("glReadPixels to a persistent buffer, copied from there", [&] {
    const double milliseconds = median_ms([&] {
      read(nullptr);
      glFinish();
      std::memcpy(words.data(), mapped, probed_bytes);
    });
    return exact_and_time(words, 5, milliseconds);
  });
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

void ask_about_imported_buffer(const CudaDriver& cuda, const ProbedMemory& memory, GLuint buffer) {
  const OffscreenTarget target(probed_size);
  ask("cuMemCreate's memory to texture, by glTextureSubImage2D", [&] {
    const Words words = test_words(word_count, 6);
    cuda.call("cuMemcpyHtoD_v2", memory.address(), words.data(), probed_bytes);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
    const double milliseconds = median_ms([&] {
      fill_texture(target.texture(), nullptr);
      glFinish();
    });
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    return exact_and_time(words_of_texture(target.texture()), 6, milliseconds);
  });
  ask("texture to cuMemCreate's memory, by glReadPixels", [&] {
    fill_texture(target.texture(), test_words(word_count, 7).data());
    target.bind();
    glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
    const double milliseconds = median_ms([&] {
      glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
      glFinish();
    });
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    return exact_and_time(words_at(cuda, memory.address()), 7, milliseconds);
  });
}

/// Drivers may tell dedicated memory from other.
void ask_about_import(const CudaDriver& cuda, bool is_dedicated) {
  const std::string question =
      std::string("glImportMemoryFdEXT of cuMemCreate's memory") + (is_dedicated ? ", as dedicated" : "");
  ask_about(question, [&] {
    constexpr auto use = ProbedMemory::Use::gpu;
    const ProbedMemory memory(cuda, ProbedMemory::size_for(cuda, probed_bytes, use), use);
    const ImportedBuffer imported(memory.export_descriptor(), memory.size_bytes(), is_dedicated);
    require_no_gl_error("the import");
    ask(question, [] { return "taken"; });
    ask_about_imported_buffer(cuda, memory, imported.buffer());
    require_no_gl_error("a copy");
  });
}

}  // namespace

void ask_about_gl(const CudaDriver& cuda) {
  EglContext context = EglContext::create();
  context.make_current();
  ask("OpenGL renderer", [] { return gl_renderer(); });
  ask_about_devices(cuda);
  ask_about("copies between textures and memory", [&] {
    const Buffers buffers(cuda);
    ask_about_textures(cuda, buffers);
  });
  ask_about_gl_alone();
  ask_about_import(cuda, false);
  ask_about_import(cuda, true);
}

}  // namespace framewire
