#include "media/drm_picture.hpp"

#include <unistd.h>

#include <array>
#include <string>

#include "base/error.hpp"

namespace framewire::libav {

namespace {

constexpr std::uint32_t code(char a, char b, char c, char d) noexcept {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b) << 8 | static_cast<std::uint32_t>(c) << 16 |
         static_cast<std::uint32_t>(d) << 24;
}

/// The kernel's drm_fourcc.h. Some drivers say RG for GR, and have the same bytes.
struct Formats {
  std::uint32_t composed;
  std::uint32_t luma;
  std::array<std::uint32_t, 2> chroma;
  std::uint32_t component_bytes;
};
constexpr Formats eight_bits{
    code('N', 'V', '1', '2'), code('R', '8', ' ', ' '), {code('G', 'R', '8', '8'), code('R', 'G', '8', '8')}, 1};
constexpr Formats sixteen_bits{
    code('P', '0', '1', '0'), code('R', '1', '6', ' '), {code('G', 'R', '3', '2'), code('R', 'G', '3', '2')}, 2};

[[noreturn]] void refuse(const std::string& what) {
  throw Error::failed("the VA-API driver describes a DMA-BUF with " + what);
}

const Formats& formats_of(PixelFormat format) {
  return format == PixelFormat::nv12 ? eight_bits : sixteen_bits;
}

using DescribedPlanes = std::array<const AVDRMPlaneDescriptor*, 2>;

/// One layer of both planes, or a layer for each.
DescribedPlanes find_planes(const AVDRMFrameDescriptor& descriptor, const Formats& formats) {
  const AVDRMLayerDescriptor& first = descriptor.layers[0];
  if (descriptor.nb_layers == 1 && first.format == formats.composed && first.nb_planes == 2) {
    return {&first.planes[0], &first.planes[1]};
  }
  const AVDRMLayerDescriptor& second = descriptor.layers[1];
  if (descriptor.nb_layers == 2 && first.format == formats.luma && first.nb_planes == 1 && second.nb_planes == 1 &&
      (second.format == formats.chroma[0] || second.format == formats.chroma[1])) {
    return {&first.planes[0], &second.planes[0]};
  }
  refuse(std::to_string(descriptor.nb_layers) + " layers, the first of format " + std::to_string(first.format) +
         " with " + std::to_string(first.nb_planes) + " planes");
}

const AVDRMObjectDescriptor& object_of(const AVDRMPlaneDescriptor& plane, const AVDRMFrameDescriptor& descriptor) {
  if (plane.object_index < 0 || plane.object_index >= descriptor.nb_objects) {
    refuse("a plane in object " + std::to_string(plane.object_index) + " of " + std::to_string(descriptor.nb_objects));
  }
  return descriptor.objects[plane.object_index];
}

/// The kernel knows the size of a DMA-BUF, and the driver may say less.
std::uint64_t size_of(const AVDRMObjectDescriptor& object) {
  const off_t known = object.fd < 0 ? -1 : ::lseek(object.fd, 0, SEEK_END);
  if (known <= 0 || object.size > static_cast<std::uint64_t>(known)) {
    refuse("descriptor " + std::to_string(object.fd) + " and " + std::to_string(object.size) + " bytes of " +
           std::to_string(known));
  }
  return object.size != 0 ? object.size : static_cast<std::uint64_t>(known);
}

/// A tiled plane is as large as its modifier says, which only the driver knows; the driver's import checks that.
void require_inside(const AVDRMPlaneDescriptor& plane, const DmaBufPlane& shape, std::uint32_t texel_bytes,
                    std::uint64_t object_bytes) {
  const bool is_linear = shape.modifier == linear_modifier || shape.modifier == no_modifier;
  const std::uint64_t row_bytes = std::uint64_t{shape.width} * texel_bytes;
  const bool is_sane = plane.offset >= 0 && plane.offset <= INT32_MAX && plane.pitch > 0 && plane.pitch <= INT32_MAX &&
                       static_cast<std::uint64_t>(plane.offset) < object_bytes;
  if (!is_sane || (is_linear && (static_cast<std::uint64_t>(plane.pitch) < row_bytes ||
                                 static_cast<std::uint64_t>(plane.pitch) * (shape.height - 1) + row_bytes >
                                     object_bytes - static_cast<std::uint64_t>(plane.offset)))) {
    refuse("offset " + std::to_string(plane.offset) + " and pitch " + std::to_string(plane.pitch) + " for " +
           std::to_string(shape.width) + "x" + std::to_string(shape.height) + " texels in " +
           std::to_string(object_bytes) + " bytes");
  }
}

}  // namespace

bool has_dma_buf_planes(PixelFormat format) noexcept {
  return format == PixelFormat::nv12 || format == PixelFormat::p010le;
}

DmaBufPicture picture_in(const AVDRMFrameDescriptor& descriptor, const SurfacePart& part, const FrameLayout& layout) {
  if (!has_dma_buf_planes(layout.format) || layout != packed_layout(layout.format, layout.width, layout.height)) {
    throw Error::failed("pictures in " + std::string(info(layout.format).name) + " are not read from DMA-BUFs");
  }
  if (descriptor.nb_objects < 1 || descriptor.nb_objects > AV_DRM_MAX_PLANES || descriptor.nb_layers < 1 ||
      descriptor.nb_layers > AV_DRM_MAX_PLANES) {
    refuse(std::to_string(descriptor.nb_objects) + " objects and " + std::to_string(descriptor.nb_layers) + " layers");
  }
  if (part.surface_width > max_frame_side_pixels || part.surface_height > max_frame_side_pixels ||
      std::uint64_t{part.left} + layout.width > part.surface_width ||
      std::uint64_t{part.top} + layout.height > part.surface_height) {
    throw Error::failed("a decoded picture is smaller than the " + std::to_string(layout.width) + "x" +
                        std::to_string(layout.height) + " that it is said to have");
  }
  const Formats& formats = formats_of(layout.format);
  const DescribedPlanes planes = find_planes(descriptor, formats);
  DmaBufPicture picture{.planes = {}, .component_bytes = formats.component_bytes};
  for (std::uint8_t i = 0; i < 2; ++i) {
    const AVDRMObjectDescriptor& object = object_of(*planes.at(i), descriptor);
    const std::uint32_t components = i + 1U;
    const std::uint32_t texel_bytes = components * formats.component_bytes;
    DmaBufPlane& plane = picture.planes.at(i);
    plane = {.descriptor = object.fd,
             .modifier = object.format_modifier,
             .width = ceil_rshift(part.surface_width, i),
             .height = ceil_rshift(part.surface_height, i),
             .components = components,
             .first_column = part.left >> i,
             .first_row = part.top >> i,
             .columns = layout.planes.at(i).row_bytes / texel_bytes,
             .rows = layout.planes.at(i).rows};
    require_inside(*planes.at(i), plane, texel_bytes, size_of(object));
    plane.offset_bytes = static_cast<std::uint32_t>(planes.at(i)->offset);
    plane.pitch_bytes = static_cast<std::uint32_t>(planes.at(i)->pitch);
  }
  return picture;
}

}  // namespace framewire::libav
