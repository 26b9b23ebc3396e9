// A driver of VA-API without a GPU, which libva loads as standin_drv_video.so. It "decodes" H.264 as tests/nvdec does:
// a pattern of each picture's place in the film. A surface is poison until it is waited for. The environment's
// FRAMEWIRE_STAND_IN_VA_FAULT names one function that fails. Names, places and numbers are those of libva's
// va_backend.h; what is not named is not used.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "tests/nvdec/pattern.hpp"

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
  count = 59,
};

struct ImageFormat {
  unsigned fourcc;
  unsigned byte_order;
  unsigned bits_per_pixel;
  std::array<unsigned, 9> unused;
};
constexpr ImageFormat nv12{.fourcc = 0x3231564E, .byte_order = 1, .bits_per_pixel = 12, .unused = {}};

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

struct Surface {
  unsigned width = 0;
  unsigned height = 0;
  unsigned number = 0;
  bool is_decoded = false;
  bool is_awaited = false;
};

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
  Id target = 0;  // of the picture that is begun
};

State& state() {
  static auto* state = new State;
  return *state;
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

Status profiles(DriverContext* /*context*/, int* list, int* length) {
  return guarded("vaQueryConfigProfiles", [&](State& /*state*/) {
    constexpr std::array known{profile_h264_constrained_baseline, profile_h264_main, profile_h264_high};
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

Status new_config(DriverContext* /*context*/, int /*profile*/, int /*entrypoint*/, void* /*attributes*/, int /*length*/,
                  Id* config) {
  return guarded("vaCreateConfig", [&](State& state) {
    *config = state.next_id++;
    return ok;
  });
}

Status surface_attributes(DriverContext* /*context*/, Id /*config*/, SurfaceAttribute* list, unsigned* length) {
  constexpr int integer = 1;
  constexpr std::array attributes{SurfaceAttribute{1, 1, integer, nv12.fourcc}, SurfaceAttribute{2, 1, integer, 16},
                                  SurfaceAttribute{3, 1, integer, 4096}, SurfaceAttribute{4, 1, integer, 16},
                                  SurfaceAttribute{5, 1, integer, 4096}};  // format, least and most width, and height
  if (list != nullptr) {
    std::ranges::copy(attributes, list);
  }
  *length = static_cast<unsigned>(attributes.size());
  return ok;
}

Status new_surfaces(DriverContext* /*context*/, unsigned /*format*/, unsigned width, unsigned height, Id* surfaces,
                    unsigned length, void* /*attributes*/, unsigned /*attribute_count*/) {
  return guarded("vaCreateSurfaces", [&](State& state) {
    for (unsigned i = 0; i < length; ++i) {
      surfaces[i] = state.next_id++;
      state.surfaces[surfaces[i]] = {.width = width, .height = height};
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

Status new_context(DriverContext* /*context*/, Id /*config*/, int /*width*/, int /*height*/, int /*flag*/,
                   const Id* /*surfaces*/, int /*length*/, Id* created) {
  return guarded("vaCreateContext", [&](State& state) {
    *created = state.next_id++;
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

/// The parameters of an H.264 picture begin with itself, whose order is after its id, number and flags.
Status render(DriverContext* /*context*/, Id /*of*/, const Id* buffers, int length) {
  return guarded("vaRenderPicture", [&](State& state) {
    constexpr int picture_parameters = 0;
    constexpr std::size_t order_at = 12;
    for (int i = 0; i < length; ++i) {
      const auto found = state.buffers.find(buffers[i]);
      if (found == state.buffers.end()) {
        return invalid_value;
      }
      if (found->second.type == picture_parameters) {
        std::uint32_t order = 0;
        std::memcpy(&order, found->second.bytes.data() + order_at, sizeof order);
        state.surfaces[state.target].number = (order & 0xFFFFU) / 2;  // libav begins at 65536
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
    return ok;
  });
}

Status await(DriverContext* /*context*/, Id surface) {
  return guarded("vaSyncSurface", [&](State& state) {
    state.surfaces[surface].is_awaited = true;
    return ok;
  });
}

Status image_formats(DriverContext* /*context*/, ImageFormat* list, int* length) {
  *list = nv12;
  *length = 1;
  return ok;
}

Status new_image(DriverContext* /*context*/, const ImageFormat* format, int width, int height, Image* image) {
  return guarded("vaCreateImage", [&](State& state) {
    const auto pitch = static_cast<unsigned>(width) + 64;
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
    const bool is_there = from->second.is_decoded && from->second.is_awaited;
    for (unsigned plane = 0; plane < 2; ++plane) {
      for (unsigned y = 0; y < height >> plane; ++y) {
        for (unsigned x = 0; x < width; ++x) {
          bytes[to->second.offsets.at(plane) + y * to->second.pitches.at(plane) + x] =
              is_there ? static_cast<std::byte>(decoded_8_bit(from->second.number, plane, x, y)) : std::byte{0xA5};
        }
      }
    }
    return ok;
  });
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
  context->max_profiles = 3;
  context->max_entrypoints = context->max_attributes = context->max_image_formats = 1;
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
