#include "gl/texture_planes.hpp"

#include <string_view>
#include <vector>

namespace framewire {

namespace {

/// GL formats for texels of 1 to 4 components of one or two bytes. Three are stored as four, as most drivers would do
/// anyway; libplacebo takes no others.
struct TexelFormat {
  GLenum internal_format, format;
};
constexpr std::array<TexelFormat, 4> of_bytes = {
    {{GL_R8, GL_RED}, {GL_RG8, GL_RG}, {GL_RGBA8, GL_RGB}, {GL_RGBA8, GL_RGBA}}};
constexpr std::array<TexelFormat, 4> of_words = {
    {{GL_R16, GL_RED}, {GL_RG16, GL_RG}, {GL_RGBA16, GL_RGB}, {GL_RGBA16, GL_RGBA}}};

/// The channel of `component` in a texel with `components`; `otherwise` if it has none.
GLint channel_of(std::string_view components, char component, GLint otherwise) noexcept {
  constexpr std::array<GLint, 4> channels = {GL_RED, GL_GREEN, GL_BLUE, GL_ALPHA};
  const std::size_t found = components.find(component);
  return found == std::string_view::npos ? otherwise : channels.at(found);
}

/// Gives the shader R, G, B, A or Y or U, V in this order. BGRA data is uploaded as RGBA and swizzled here, because
/// drivers that store RGBA would convert every texel during the upload.
std::array<GLint, 4> swizzle_of(std::string_view components, bool is_yuv) noexcept {
  const auto channel = [components](char component, GLint otherwise) {
    return channel_of(components, component, otherwise);
  };
  if (!is_yuv && components == "Y") {
    return {GL_RED, GL_RED, GL_RED, GL_ONE};  // grey
  }
  if (!is_yuv) {
    return {channel('R', GL_ZERO), channel('G', GL_ZERO), channel('B', GL_ZERO), channel('A', GL_ONE)};
  }
  if (components.find('U') == std::string_view::npos) {
    return {channel('Y', GL_RED), GL_ZERO, GL_ZERO, GL_ONE};  // luma, or V alone
  }
  return {channel('U', GL_ZERO), channel('V', GL_ZERO), GL_ZERO, GL_ONE};
}

/// A plane of depths.
constexpr TexturePlane depth_texture(std::uint32_t index) noexcept {
  return {.plane = index,
          .log2_width = 0,
          .log2_height = 0,
          .texel_bytes = sizeof(float),
          .component_bytes = sizeof(float),
          .internal_format = GL_R32F,
          .format = GL_RED,
          .type = GL_FLOAT,
          .swizzle = {GL_RED, GL_ZERO, GL_ZERO, GL_ONE}};
}

/// The texture of plane `index`; its texels have `components` and cover 2^log2_width pixels.
TexturePlane texture_of(const PixelFormatInfo& format, std::uint32_t index, std::string_view components,
                        std::uint8_t log2_width) noexcept {
  const auto component_bytes = static_cast<std::uint8_t>(format.depth > 8 ? 2 : 1);
  const TexelFormat& texel = (component_bytes == 2 ? of_words : of_bytes).at(components.size() - 1);
  return {.plane = index,
          .log2_width = log2_width,
          .log2_height = format.planes.at(index).log2_height,
          .texel_bytes = static_cast<std::uint8_t>(components.size() * component_bytes),
          .component_bytes = component_bytes,
          .internal_format = texel.internal_format,
          .format = texel.format,
          .type = component_bytes == 2 ? GLenum{GL_UNSIGNED_SHORT} : GLenum{GL_UNSIGNED_BYTE},
          .swizzle = swizzle_of(components, format.is_yuv)};
}

struct Textures {
  std::array<TexturePlane, max_texture_planes> planes{};
  std::size_t count = 0;
};

Textures textures_of(const PixelFormatInfo& format) noexcept {
  Textures textures;
  const PlaneShape& first = format.planes.front();
  if (format.is_yuv && format.plane_count == 1) {  // packed 4:2:2, the only one that is_drawable()
    const std::string_view luma_alone = first.components.front() == 'Y' ? "Y0" : "0Y";
    textures.planes.at(textures.count++) = texture_of(format, 0, luma_alone, 0);
    textures.planes.at(textures.count++) = texture_of(format, 0, first.components, first.log2_width);
    return textures;
  }
  for (std::uint32_t i = 0; i < format.plane_count; ++i) {
    const PlaneShape& plane = format.planes.at(i);
    textures.planes.at(textures.count++) =
        plane.components == "Z" ? depth_texture(i) : texture_of(format, i, plane.components, plane.log2_width);
  }
  return textures;
}

}  // namespace

std::span<const TexturePlane> texture_planes(PixelFormat format) noexcept {
  static const std::vector<Textures> all = [] {
    std::vector<Textures> made(1);  // there is no format 0
    while (const auto next = pixel_format_from_number(static_cast<std::uint32_t>(made.size()))) {
      made.push_back(*next == PixelFormat::bytes ? Textures{} : textures_of(info(*next)));
    }
    return made;
  }();
  const Textures& textures = all.at(static_cast<std::size_t>(format));
  return std::span(textures.planes).first(textures.count);
}

std::uint32_t texture_width(const TexturePlane& texture, std::uint32_t frame_width) noexcept {
  return ceil_rshift(frame_width, texture.log2_width);
}

std::uint32_t texture_height(const TexturePlane& texture, std::uint32_t frame_height) noexcept {
  return ceil_rshift(frame_height, texture.log2_height);
}

std::optional<RowStep> find_row_step(const TexturePlane& texture, std::uint32_t pitch_bytes,
                                     std::uint64_t start) noexcept {
  if (start % texture.component_bytes != 0 || pitch_bytes % texture.component_bytes != 0) {
    return std::nullopt;
  }
  const std::uint32_t row_length = pitch_bytes / texture.texel_bytes;
  for (const std::uint32_t alignment : {1U, 2U, 4U, 8U}) {
    const std::uint32_t whole = row_length * texture.texel_bytes;
    if ((whole + alignment - 1) / alignment * alignment == pitch_bytes) {
      return RowStep{static_cast<GLint>(row_length), static_cast<GLint>(alignment)};
    }
  }
  return std::nullopt;
}

}  // namespace framewire
