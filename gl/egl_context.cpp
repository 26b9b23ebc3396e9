#include "gl/egl_context.hpp"

#include <glad/egl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "gl/device_uuid.hpp"
#include "gl/process_limits.hpp"

namespace framewire {

namespace {

constexpr EGLint max_devices = 16;

const char* egl_error_text(EGLint error) {
  switch (error) {
    case EGL_SUCCESS:
      return "no error";
    case EGL_NOT_INITIALIZED:
      return "EGL_NOT_INITIALIZED";
    case EGL_BAD_ACCESS:
      return "EGL_BAD_ACCESS";
    case EGL_BAD_ALLOC:
      return "EGL_BAD_ALLOC";
    case EGL_BAD_ATTRIBUTE:
      return "EGL_BAD_ATTRIBUTE";
    case EGL_BAD_CONFIG:
      return "EGL_BAD_CONFIG";
    case EGL_BAD_MATCH:
      return "EGL_BAD_MATCH";
    case EGL_BAD_PARAMETER:
      return "EGL_BAD_PARAMETER";
    case EGL_CONTEXT_LOST:
      return "EGL_CONTEXT_LOST";
    default:
      return "another EGL error";
  }
}

/// The attempts so far, for the final error.
class Attempts {
 public:
  void add(const std::string& platform, const std::string& why) {
    text_ += (text_.empty() ? "" : "; ") + platform + ": " + why;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool names_extension(const char* list, std::string_view wanted) {
  std::string_view rest(list != nullptr ? list : "");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == wanted) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// Creates a context on `display`, or returns EGL_NO_CONTEXT and sets `why`.
EGLContext make_context(EGLDisplay display, std::string& why) {
  if (eglInitialize(display, nullptr, nullptr) == EGL_FALSE) {
    why = std::string("eglInitialize: ") + egl_error_text(eglGetError());
    return EGL_NO_CONTEXT;
  }
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  for (const char* needed : {"EGL_KHR_no_config_context", "EGL_KHR_surfaceless_context"}) {
    if (!names_extension(extensions, needed)) {
      why = std::string("the driver has no ") + needed;
      return EGL_NO_CONTEXT;
    }
  }
  constexpr std::array<EGLint, 9> attributes = {EGL_CONTEXT_MAJOR_VERSION,
                                                4,
                                                EGL_CONTEXT_MINOR_VERSION,
                                                5,
                                                EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                                EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                                EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY,
                                                EGL_LOSE_CONTEXT_ON_RESET,
                                                EGL_NONE};
  auto without_resets = attributes;
  without_resets.at(6) = EGL_NONE;
  eglBindAPI(EGL_OPENGL_API);
  EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes.data());
  if (context == EGL_NO_CONTEXT) {  // EGL 1.5 has the reset strategy, but not every driver supports it
    context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, without_resets.data());
  }
  if (context == EGL_NO_CONTEXT) {
    why = std::string("no OpenGL 4.5 core context: ") + egl_error_text(eglGetError());
  }
  return context;
}

template <typename Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(eglGetProcAddress(name));
  return function != nullptr;
}

/// Once in a process: other threads call by these pointers. Each is the same for all displays. Without a display glad
/// knows no version, and loads those of EGL 1.0; the rest of what is used here is newer.
void load_functions() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (eglGetPlatformDisplay != nullptr) {
    return;
  }
  if (gladLoaderLoadEGL(EGL_NO_DISPLAY) != 0) {
    find(eglQueryDevicesEXT, "eglQueryDevicesEXT");
    if (find(eglBindAPI, "eglBindAPI") && find(eglGetCurrentContext, "eglGetCurrentContext") &&
        find(eglGetPlatformDisplay, "eglGetPlatformDisplay")) {
      return;
    }
  }
  throw Error::failed(
      "EGL 1.5 is not on this machine (libEGL.so.1); install libegl1 and a driver, such as libegl-mesa0");
}

struct DisplayAndContext {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
};

DisplayAndContext try_display(EGLDisplay display, const std::string& platform, Attempts& attempts) {
  std::string why = "no display";
  if (display != EGL_NO_DISPLAY) {
    EGLContext context = make_context(display, why);
    if (context != EGL_NO_CONTEXT) {
      return {display, context};
    }
  }
  attempts.add(platform, why);
  return {};
}

/// Before glad has loaded the functions of a context.
template <typename Function>
Function gl_function(const char* name) {
  return reinterpret_cast<Function>(eglGetProcAddress(name));
}

bool draws_with(const DisplayAndContext& made, const DeviceUuid& wanted) {
  if (eglMakeCurrent(made.display, EGL_NO_SURFACE, EGL_NO_SURFACE, made.context) == EGL_FALSE) {
    return false;
  }
  const bool is_there =
      context_draws_with(wanted, {.get_number = gl_function<PFNGLGETINTEGERVPROC>("glGetIntegerv"),
                                  .get_uuid = gl_function<PFNGLGETUNSIGNEDBYTEI_VEXTPROC>("glGetUnsignedBytei_vEXT")});
  eglMakeCurrent(made.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  return is_there;
}

DisplayAndContext try_devices(const char* extensions, const std::optional<DeviceUuid>& wanted, Attempts& attempts) {
  if (!names_extension(extensions, "EGL_EXT_platform_device") || eglQueryDevicesEXT == nullptr) {
    attempts.add("device platform", "EGL does not have it");
    return {};
  }
  std::array<EGLDeviceEXT, max_devices> devices{};
  EGLint count = 0;
  if (eglQueryDevicesEXT(max_devices, devices.data(), &count) == EGL_FALSE || count == 0) {
    attempts.add("device platform", "EGL lists no device");
    return {};
  }
  DisplayAndContext first;
  for (EGLint i = 0; i < count; ++i) {
    EGLDisplay display =
        eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, devices.at(static_cast<std::size_t>(i)), nullptr);
    const auto made = try_display(display, "device " + std::to_string(i), attempts);
    if (made.context == EGL_NO_CONTEXT) {
      continue;
    }
    const bool is_wanted = !wanted || draws_with(made, *wanted);
    if (is_wanted || first.context == EGL_NO_CONTEXT) {
      if (first.context != EGL_NO_CONTEXT) {
        eglDestroyContext(first.display, first.context);
      }
      first = made;
    } else {
      eglDestroyContext(made.display, made.context);
    }
    if (is_wanted) {
      break;
    }
  }
  return first;
}

/// The device of a DRM node, in /sys; empty if there is none.
std::filesystem::path device_of_node(const char* node) {
  struct stat status {};
  if (node == nullptr || ::stat(node, &status) != 0 || !S_ISCHR(status.st_mode)) {
    return {};
  }
  std::error_code ignored;
  return std::filesystem::canonical("/sys/dev/char/" + std::to_string(::major(status.st_rdev)) + ":" +
                                        std::to_string(::minor(status.st_rdev)) + "/device",
                                    ignored);
}

bool is_on(EGLDeviceEXT device, const std::filesystem::path& wanted, PFNEGLQUERYDEVICESTRINGEXTPROC query) {
  const char* extensions = query(device, EGL_EXTENSIONS);
  const auto names = [&](const char* extension, EGLint file) {
    return names_extension(extensions, extension) && device_of_node(query(device, file)) == wanted;
  };
  return names("EGL_EXT_device_drm_render_node", EGL_DRM_RENDER_NODE_FILE_EXT) ||
         names("EGL_EXT_device_drm", EGL_DRM_DEVICE_FILE_EXT);
}

/// EGL's device of that node; throws Error (failed) if it has none.
EGLDeviceEXT find_device(const char* extensions, const std::string& drm_node) {
  const std::filesystem::path wanted = device_of_node(drm_node.c_str());
  if (wanted.empty()) {
    throw Error::failed(quote(drm_node) + " is no node of a GPU");
  }
  const auto query = reinterpret_cast<PFNEGLQUERYDEVICESTRINGEXTPROC>(eglGetProcAddress("eglQueryDeviceStringEXT"));
  std::array<EGLDeviceEXT, max_devices> devices{};
  EGLint count = 0;
  if (!names_extension(extensions, "EGL_EXT_platform_device") || eglQueryDevicesEXT == nullptr || query == nullptr ||
      eglQueryDevicesEXT(max_devices, devices.data(), &count) == EGL_FALSE) {
    throw Error::failed("EGL lists no devices");
  }
  const auto end = devices.begin() + std::clamp(count, 0, max_devices);
  const auto found =
      std::find_if(devices.begin(), end, [&](EGLDeviceEXT device) { return is_on(device, wanted, query); });
  if (found == end) {
    throw Error::failed("EGL has no device of " + drm_node);
  }
  return *found;
}

/// Mesa's own words for such values.
bool asks_for_software() {
  const char* value = std::getenv("LIBGL_ALWAYS_SOFTWARE");
  constexpr std::array<std::string_view, 4> yes = {"1", "true", "y", "yes"};
  return value != nullptr && std::ranges::find(yes, value) != yes.end();
}

DisplayAndContext try_surfaceless(const char* extensions, Attempts& attempts) {
  if (!names_extension(extensions, "EGL_MESA_platform_surfaceless")) {
    attempts.add("surfaceless platform", "EGL does not have it");
    return {};
  }
  return try_display(eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, nullptr, nullptr), "surfaceless platform",
                     attempts);
}

}  // namespace

EglContext EglContext::create(const std::optional<DeviceUuid>& wanted) {
  require_room_for_opengl();
  load_functions();
  Attempts attempts;
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  DisplayAndContext made = try_devices(extensions, wanted, attempts);
  if (made.context == EGL_NO_CONTEXT) {
    made = try_surfaceless(extensions, attempts);
  }
  if (made.context == EGL_NO_CONTEXT) {
    throw Error::failed(
        "no OpenGL context without a window (" + attempts.text() +
        "); install a driver with OpenGL 4.5, such as Mesa's libgl1-mesa-dri, and allow access to /dev/dri");
  }
  return {made.display, made.context};
}

/// Mesa's EGL for one device refuses to draw by the processor. Without that wish, a renderer on the processor would
/// read the GPU's memory slower than the processor by itself.
EglContext EglContext::create_on(const std::string& drm_node) {
  require_room_for_opengl();
  load_functions();
  Attempts attempts;
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  const DisplayAndContext made =
      asks_for_software()
          ? try_surfaceless(extensions, attempts)
          : try_display(eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, find_device(extensions, drm_node), nullptr),
                        drm_node, attempts);
  if (made.context == EGL_NO_CONTEXT) {
    throw Error::failed("no OpenGL context (" + attempts.text() + ")");
  }
  EglContext context{made.display, made.context};
  if (!asks_for_software()) {
    context.make_current_beside_others();
    const std::string renderer = gl_renderer();
    const bool is_software = is_software_renderer();
    context.release_current();
    if (is_software) {
      throw Error::failed("OpenGL draws by the processor there (" + renderer + ")");
    }
  }
  return context;
}

EglContext::EglContext(EglContext&& other) noexcept
    : display_(std::exchange(other.display_, nullptr)),
      context_(std::exchange(other.context_, nullptr)),
      is_loaded_(other.is_loaded_) {}

EglContext::~EglContext() {
  if (context_ == nullptr) {
    return;
  }
  release_current();
  // The display stays initialised: EGL has one per device and process, and terminating it would end all its contexts.
  eglDestroyContext(display_, context_);
}

void EglContext::make_current() {
  eglBindAPI(EGL_OPENGL_API);  // per thread
  if (eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) == EGL_FALSE) {
    throw Error::failed(std::string("the OpenGL context cannot be used by this thread (") +
                        egl_error_text(eglGetError()) + "); it may be current in another");
  }
  if (!is_loaded_) {
    load_gl(eglGetProcAddress);
    is_loaded_ = true;
  }
}

void EglContext::make_current_beside_others() {
  is_loaded_ = is_loaded_ || glGetString != nullptr;
  make_current();
}

bool EglContext::has_extension(std::string_view name) const noexcept {
  return names_extension(eglQueryString(display_, EGL_EXTENSIONS), name);
}

void EglContext::release_current() noexcept {
  if (eglGetCurrentContext() == context_) {
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  }
}

}  // namespace framewire
