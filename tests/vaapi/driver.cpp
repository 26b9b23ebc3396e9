// A driver of VA-API without a GPU, which libva loads as standin_drv_video.so. It "decodes" H.264, and HEVC of 10 bits,
// as tests/nvdec does: a pattern of each picture's place in the film. A surface is poison until it is waited for. The
// environment's FRAMEWIRE_STAND_IN_VA_FAULT names one function that fails ("no" before it: that is not there), from its
// use number FRAMEWIRE_STAND_IN_VA_FAULT_FROM on. Names, places and numbers are those of libva's va_backend.h; what is
// not named is not used.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/vaapi/surface.hpp"

namespace framewire::test {

namespace {

using Status = int;
using Id = unsigned;

constexpr Status ok = 0;
constexpr Status operation_failed = 1;
constexpr Status invalid_value = 0x12;
constexpr Status unimplemented = 0x14;

/// struct VADriverContext.
struct DriverContext {
  void* driver_data;
  void** functions;
  std::array<void*, 4> unused;
  int x11_screen;
  int version_major;
  int version_minor;
  int max_profiles;
  int max_entrypoints;
  int max_attributes;
  int max_image_formats;
  int max_subpicture_formats;
  int max_display_attributes;
  const char* vendor;
};
static_assert(offsetof(DriverContext, max_profiles) == 60);
static_assert(offsetof(DriverContext, vendor) == 88);

/// Places in struct VADriverVTable.
enum Function : std::size_t {
  terminate = 0,
  query_config_profiles = 1,
  query_config_entrypoints = 2,
  get_config_attributes = 3,
  create_config = 4,
  destroy_config = 5,
  destroy_surfaces = 8,
  create_context = 9,
  destroy_context = 10,
  create_buffer = 11,
  map_buffer = 13,
  unmap_buffer = 14,
  destroy_buffer = 15,
  begin_picture = 16,
  render_picture = 17,
  end_picture = 18,
  sync_surface = 19,
  query_image_formats = 23,
  create_image = 24,
  destroy_image = 26,
  get_image = 28,
  create_surfaces_2 = 45,
  query_surface_attributes = 46,
  export_surface_handle = 55,
  count = 59,
};

struct ImageFormat {
  unsigned fourcc;
  unsigned byte_order;
  unsigned bits_per_pixel;
  std::array<unsigned, 9> unused;
};
constexpr ImageFormat nv12{.fourcc = 0x3231564E, .byte_order = 1, .bits_per_pixel = 12, .unused = {}};
constexpr ImageFormat p010{.fourcc = 0x30313050, .byte_order = 1, .bits_per_pixel = 24, .unused = {}};

struct Image {
  Id id;
  ImageFormat format;
  Id buffer;
  std::uint16_t width;
  std::uint16_t height;
  unsigned data_bytes;
  unsigned planes;
  std::array<unsigned, 3> pitches;
  std::array<unsigned, 3> offsets;
};

/// Of integers.
struct SurfaceAttribute {
  int type;
  unsigned flags;
  int value_type;
  std::int64_t value;
};
static_assert(sizeof(SurfaceAttribute) == 24);
static_assert(offsetof(SurfaceAttribute, value) == 16);

struct Buffer {
  int type = 0;
  std::vector<std::byte> bytes;
};

struct State {
  std::mutex mutex;
  std::map<Id, Surface> surfaces;
  std::map<Id, Buffer> buffers;
  std::map<Id, Image> images;
  Id next_id = 1;
  Id target = 0;               // of the picture that is begun
  std::map<Id, int> profiles;  // of configurations
  int exports = 0;
};

State& state() {
  static auto* state = new State;
  return *state;
}

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

bool is_faulty(std::string_view function) {
  const char* const fault = std::getenv("FRAMEWIRE_STAND_IN_VA_FAULT");
  return fault != nullptr && function == fault;
}

template <typename Body>
Status guarded(std::string_view function, Body&& body) {
  const std::scoped_lock lock(state().mutex);
  return is_faulty(function) ? operation_failed : body(state());
}

constexpr int profile_h264_main = 6;
constexpr int profile_h264_high = 7;
constexpr int profile_h264_constrained_baseline = 13;
constexpr int profile_hevc_main_10 = 18;

Status profiles(DriverContext* /*context*/, int* list, int* length) {
  return guarded("vaQueryConfigProfiles", [&](State& /*state*/) {
    constexpr std::array known{profile_h264_constrained_baseline, profile_h264_main, profile_h264_high,
                               profile_hevc_main_10};
    std::ranges::copy(known, list);
    *length = static_cast<int>(known.size());
    return ok;
  });
}

Status entrypoints(DriverContext* /*context*/, int /*profile*/, int* list, int* length) {
  constexpr int decoding = 1;  // VAEntrypointVLD
  *list = decoding;
  *length = 1;
  return ok;
}

Status config_attributes(DriverContext* /*context*/, int /*profile*/, int /*entrypoint*/, void* /*list*/,
                         int /*length*/) {
  return ok;
}

Status new_config(DriverContext* /*context*/, int profile, int /*entrypoint*/, void* /*attributes*/, int /*length*/,
                  Id* config) {
  return guarded("vaCreateConfig", [&](State& state) {
    *config = state.next_id++;
    state.profiles[*config] = profile;
    return ok;
  });
}

/// Format, least and most width, and height.
Status surface_attributes(DriverContext* /*context*/, Id config, SurfaceAttribute* list, unsigned* length) {
  return guarded("vaQuerySurfaceAttributes", [&](State& state) {
    constexpr int integer = 1;
    const bool is_wide = state.profiles[config] == profile_hevc_main_10;
    const std::array attributes{SurfaceAttribute{1, 1, integer, is_wide ? p010.fourcc : nv12.fourcc},
                                SurfaceAttribute{2, 1, integer, 16}, SurfaceAttribute{3, 1, integer, 4096},
                                SurfaceAttribute{4, 1, integer, 16}, SurfaceAttribute{5, 1, integer, 4096}};
    if (list != nullptr) {
      std::ranges::copy(attributes, list);
    }
    *length = static_cast<unsigned>(attributes.size());
    return ok;
  });
}

Status new_surfaces(DriverContext* /*context*/, unsigned format, unsigned width, unsigned height, Id* surfaces,
                    unsigned length, void* /*attributes*/, unsigned /*attribute_count*/) {
  return guarded("vaCreateSurfaces", [&](State& state) {
    constexpr unsigned ten_bits = 0x100;  // VA_RT_FORMAT_YUV420_10
    for (unsigned i = 0; i < length; ++i) {
      surfaces[i] = state.next_id++;
      Surface& surface = state.surfaces[surfaces[i]];
      surface.width = width;
      surface.height = height;
      surface.component_bytes = format == ten_bits ? 2 : 1;
      surface.find_memory();
      surface.paint();
    }
    return ok;
  });
}

Status end_surfaces(DriverContext* /*context*/, const Id* surfaces, int length) {
  return guarded("vaDestroySurfaces", [&](State& state) {
    for (int i = 0; i < length; ++i) {
      state.surfaces.erase(surfaces[i]);
    }
    return ok;
  });
}

Status new_context(DriverContext* /*context*/, Id config, int /*width*/, int /*height*/, int /*flag*/,
                   const Id* /*surfaces*/, int /*length*/, Id* created) {
  return guarded("vaCreateContext", [&](State& state) {
    *created = state.next_id++;
    state.profiles[*created] = state.profiles[config];
    return ok;
  });
}

Status end_of_anything(DriverContext* /*context*/, Id /*id*/) {
  return ok;
}

Id new_buffer(State& state, int type, std::size_t bytes) {
  const Id id = state.next_id++;
  state.buffers[id] = {.type = type, .bytes = std::vector<std::byte>(bytes)};
  return id;
}

Status create_buffer_of(DriverContext* /*context*/, Id /*of*/, int type, unsigned bytes, unsigned elements,
                        const void* data, Id* buffer) {
  return guarded("vaCreateBuffer", [&](State& state) {
    *buffer = new_buffer(state, type, std::size_t{bytes} * elements);
    if (data != nullptr) {
      std::memcpy(state.buffers[*buffer].bytes.data(), data, std::size_t{bytes} * elements);
    }
    return ok;
  });
}

Status map_it(DriverContext* /*context*/, Id buffer, void** address) {
  return guarded("vaMapBuffer", [&](State& state) {
    const auto found = state.buffers.find(buffer);
    *address = found != state.buffers.end() ? found->second.bytes.data() : nullptr;
    return *address != nullptr ? ok : invalid_value;
  });
}

Status end_buffer(DriverContext* /*context*/, Id buffer) {
  return guarded("vaDestroyBuffer",
                 [&](State& state) { return state.buffers.erase(buffer) == 1 ? ok : invalid_value; });
}

Status begin(DriverContext* /*context*/, Id /*of*/, Id surface) {
  return guarded("vaBeginPicture", [&](State& state) {
    state.target = surface;
    return state.surfaces.contains(surface) ? ok : invalid_value;
  });
}

/// The parameters of a picture begin with itself. Its order is behind its id, in H.264 also behind number and flags.
Status render(DriverContext* /*context*/, Id of, const Id* buffers, int length) {
  return guarded("vaRenderPicture", [&](State& state) {
    constexpr int picture_parameters = 0;
    const bool is_hevc = state.profiles[of] == profile_hevc_main_10;
    for (int i = 0; i < length; ++i) {
      const auto found = state.buffers.find(buffers[i]);
      if (found == state.buffers.end()) {
        return invalid_value;
      }
      if (found->second.type == picture_parameters) {
        std::uint32_t order = 0;
        std::memcpy(&order, found->second.bytes.data() + (is_hevc ? 4 : 12), sizeof order);
        state.surfaces[state.target].number = is_hevc ? order : (order & 0xFFFFU) / 2;  // libav begins at 65536
      }
    }
    return ok;
  });
}

Status finish(DriverContext* /*context*/, Id /*of*/) {
  return guarded("vaEndPicture", [&](State& state) {
    Surface& surface = state.surfaces[state.target];
    surface.is_decoded = true;
    surface.is_awaited = false;
    surface.paint();
    return ok;
  });
}

Status await(DriverContext* /*context*/, Id surface) {
  return guarded("vaSyncSurface", [&](State& state) {
    Surface& awaited = state.surfaces[surface];
    if (!std::exchange(awaited.is_awaited, true)) {
      awaited.paint();
    }
    return ok;
  });
}

Status image_formats(DriverContext* /*context*/, ImageFormat* list, int* length) {
  list[0] = nv12;
  list[1] = p010;
  *length = 2;
  return ok;
}

Status new_image(DriverContext* /*context*/, const ImageFormat* format, int width, int height, Image* image) {
  return guarded("vaCreateImage", [&](State& state) {
    const unsigned pitch = static_cast<unsigned>(width) * (format->fourcc == p010.fourcc ? 2 : 1) + 64;
    const unsigned luma_bytes = pitch * static_cast<unsigned>(height);
    *image = {.id = state.next_id++,
              .format = *format,
              .buffer = new_buffer(state, -1, luma_bytes * 3 / 2),
              .width = static_cast<std::uint16_t>(width),
              .height = static_cast<std::uint16_t>(height),
              .data_bytes = luma_bytes * 3 / 2,
              .planes = 2,
              .pitches = {pitch, pitch, 0},
              .offsets = {0, luma_bytes, 0}};
    state.images[image->id] = *image;
    return ok;
  });
}

Status end_image(DriverContext* /*context*/, Id image) {
  return guarded("vaDestroyImage", [&](State& state) {
    const auto found = state.images.find(image);
    if (found == state.images.end()) {
      return invalid_value;
    }
    state.buffers.erase(found->second.buffer);
    state.images.erase(found);
    return ok;
  });
}

Status read_image(DriverContext* /*context*/, Id surface, int /*x*/, int /*y*/, unsigned width, unsigned height,
                  Id image) {
  return guarded("vaGetImage", [&](State& state) {
    const auto from = state.surfaces.find(surface);
    const auto to = state.images.find(image);
    if (from == state.surfaces.end() || to == state.images.end() || width > from->second.width ||
        height > from->second.height) {
      return invalid_value;
    }
    std::vector<std::byte>& bytes = state.buffers[to->second.buffer].bytes;
    for (unsigned plane = 0; plane < 2; ++plane) {
      for (unsigned y = 0; y < height >> plane; ++y) {
        const std::size_t at = to->second.offsets.at(plane) + std::size_t{y} * to->second.pitches.at(plane);
        from->second.write_row(plane, y, std::span(bytes).subspan(at, to->second.pitches.at(plane)));
      }
    }
    return ok;
  });
}

Status export_it(DriverContext* /*context*/, Id surface, unsigned type, unsigned /*flags*/, void* descriptor) {
  const std::scoped_lock lock(state().mutex);
  constexpr unsigned prime_2 = 0x40000000;  // VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
  const auto found = state().surfaces.find(surface);
  const bool fails =
      is_faulty("vaExportSurfaceHandle") && ++state().exports > number_in("FRAMEWIRE_STAND_IN_VA_FAULT_FROM");
  return !fails && type == prime_2 && found != state().surfaces.end() &&
                 found->second.describe(*static_cast<PrimeDescriptor*>(descriptor))
             ? ok
             : operation_failed;
}

Status end_driver(DriverContext* /*context*/) {
  return ok;
}

Status not_there() {
  return unimplemented;
}

template <typename Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

Status start(DriverContext* context) {
  if (is_faulty("vaInitialize")) {
    return operation_failed;
  }
  context->version_major = 1;
  context->version_minor = 0;
  context->max_profiles = 4;
  context->max_entrypoints = context->max_attributes = 1;
  context->max_image_formats = 2;
  context->max_subpicture_formats = context->max_display_attributes = 1;
  context->vendor = "framewire's stand-in";
  std::fill_n(context->functions, std::size_t{count}, address_of(not_there));
  context->functions[terminate] = address_of(end_driver);
  context->functions[query_config_profiles] = address_of(profiles);
  context->functions[query_config_entrypoints] = address_of(entrypoints);
  context->functions[get_config_attributes] = address_of(config_attributes);
  context->functions[create_config] = address_of(new_config);
  context->functions[destroy_config] = address_of(end_of_anything);
  context->functions[destroy_surfaces] = address_of(end_surfaces);
  context->functions[create_context] = address_of(new_context);
  context->functions[destroy_context] = address_of(end_of_anything);
  context->functions[create_buffer] = address_of(create_buffer_of);
  context->functions[map_buffer] = address_of(map_it);
  context->functions[unmap_buffer] = address_of(end_of_anything);
  context->functions[destroy_buffer] = address_of(end_buffer);
  context->functions[begin_picture] = address_of(begin);
  context->functions[render_picture] = address_of(render);
  context->functions[end_picture] = address_of(finish);
  context->functions[sync_surface] = address_of(await);
  context->functions[query_image_formats] = address_of(image_formats);
  context->functions[create_image] = address_of(new_image);
  context->functions[destroy_image] = address_of(end_image);
  context->functions[get_image] = address_of(read_image);
  context->functions[create_surfaces_2] = address_of(new_surfaces);
  context->functions[query_surface_attributes] = address_of(surface_attributes);
  if (!is_faulty("no vaExportSurfaceHandle")) {
    context->functions[export_surface_handle] = address_of(export_it);
  }
  return ok;
}

}  // namespace

}  // namespace framewire::test

// libva looks for the one of its own version, then of older ones.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" int __vaDriverInit_1_0(void* context) {
  return framewire::test::start(static_cast<framewire::test::DriverContext*>(context));
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
