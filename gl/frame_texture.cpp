#include "gl/frame_texture.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/texture_planes.hpp"

namespace framewire {

namespace {

/// Far longer than a working GPU needs for three uploads. One that needs longer hangs.
constexpr std::int64_t staging_wait_ns = 2 * ns_per_s;

constexpr std::uint64_t plane_alignment_bytes = 64;

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + plane_alignment_bytes - 1) / plane_alignment_bytes * plane_alignment_bytes;
}

/// Copies rows of a plane, from the payload to rows without padding.
void copy_rows(const std::byte* payload, const PlaneLayout& plane, std::uint32_t first, std::uint32_t end,
               std::byte* to) noexcept {
  const std::byte* from = payload + plane.offset_bytes + std::size_t{first} * plane.pitch_bytes;
  to += std::size_t{first} * plane.row_bytes;
  if (plane.pitch_bytes == plane.row_bytes) {
    std::memcpy(to, from, std::size_t{plane.row_bytes} * (end - first));
    return;
  }
  for (std::uint32_t row = first; row < end; ++row) {
    std::memcpy(to, from, plane.row_bytes);
    to += plane.row_bytes;
    from += plane.pitch_bytes;
  }
}

/// How many rows of a plane lie completely in the first `arrived_bytes` of the payload.
std::uint32_t rows_in(const PlaneLayout& plane, std::uint64_t arrived_bytes) noexcept {
  const std::uint64_t first_row_end = plane.offset_bytes + plane.row_bytes;
  if (arrived_bytes < first_row_end) {
    return 0;
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>((arrived_bytes - first_row_end) / plane.pitch_bytes + 1, plane.rows));
}

/// Whether GL can read the rows of plane `index` without a copy.
bool can_step(const FrameLayout& layout, std::uint32_t index, std::uint64_t start) noexcept {
  const auto textures = texture_planes(layout.format);
  return std::ranges::all_of(textures, [&](const TexturePlane& texture) {
    return texture.plane != index || find_row_step(texture, layout.planes.at(index).pitch_bytes, start).has_value();
  });
}

bool is_on_device(const FrameView& view) noexcept {
  return view.block != nullptr && *view.block != nullptr && (*view.block)->host() == nullptr;
}

bool lies_in_host_block(const FrameView& view) noexcept {
  if (view.block == nullptr || *view.block == nullptr || (*view.block)->host() == nullptr) {
    return false;
  }
  const auto bytes = (*view.block)->host()->bytes();
  return view.offset_in_block_bytes <= bytes.size() &&
         view.layout.size_bytes <= bytes.size() - view.offset_in_block_bytes &&
         view.payload.data() == bytes.data() + view.offset_in_block_bytes;
}

}  // namespace

bool can_be_read_in_place(const FrameLayout& layout) noexcept {
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    if (!can_step(layout, i, layout.planes.at(i).offset_bytes)) {
      return false;
    }
  }
  return true;
}

const char* name(UploadMethod method) noexcept {
  switch (method) {
    case UploadMethod::pinned_memory:
      return "pinned memory";
    case UploadMethod::device_memory:
      return "GPU memory";
    case UploadMethod::gpu_copy:
      return "GPU copies";
    case UploadMethod::persistent_buffer:
      return "persistent buffer";
    case UploadMethod::client_pointer:
      return "client pointer";
  }
  return "unknown";
}

FrameTexture::FrameTexture(std::optional<UploadMethod> wanted, GpuCopies* copies)
    : preferred_(wanted.value_or(WrappedBlocks::takes_host_memory() ? UploadMethod::pinned_memory
                                                                    : UploadMethod::persistent_buffer)),
      method_(preferred_) {
  if (preferred_ == UploadMethod::pinned_memory && !WrappedBlocks::takes_host_memory()) {
    throw Error::failed("uploading from pinned memory needs GL_AMD_pinned_memory, which " + quote(gl_renderer()) +
                        " does not have; take another upload method");
  }
  // A software renderer always copies; a staging buffer would add a second copy.
  if (is_software_renderer()) {
    fallback_ = UploadMethod::client_pointer;
    preferred_ = wanted.has_value() || WrappedBlocks::takes_host_memory() ? preferred_ : fallback_;
    method_ = preferred_;
  }
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &max_side_);
  if (copies != nullptr) {
    gpu_upload_.emplace(*copies);
  }
}

void FrameTexture::forget_blocks() noexcept {
  forget_arrived();
  wrapped_.forget_all();
  if (gpu_upload_) {
    gpu_upload_->forget();
  }
  fence_.reset();
}

bool FrameTexture::upload(const FrameView& view) noexcept {
  waited_ = GpuWait::done;
  has_refused_memory_ = false;
  if (!fits(view) || (!is_arriving_ && !begin_upload(view, shown_))) {
    forget_arrived();
    return false;
  }
  Textures& textures = is_arriving_ ? next_ : shown_;
  if (method_ == UploadMethod::gpu_copy && !finish_gpu_copy(view) && !begin_upload(view, textures)) {
    is_arriving_ = false;
    return false;
  }
  fill_rows(view, textures, view.layout.size_bytes);
  textures.painted.conversion = colour_conversion(view.layout.format, view.colour, view.layout.height);
  textures.painted.chroma_site = chroma_site(view.chroma_location);
  if (is_arriving_) {
    std::swap(shown_, next_);
  }
  end_upload();
  return true;
}

bool FrameTexture::upload_arrived(const FrameView& view, std::uint64_t arrived_bytes) noexcept {
  if (!fits(view) || (!is_arriving_ && !begin_upload(view, next_))) {
    return false;
  }
  is_arriving_ = true;
  fill_rows(view, next_, method_ == UploadMethod::gpu_copy ? gpu_upload_->copy(arrived_bytes) : arrived_bytes);
  return true;
}

void FrameTexture::forget_arrived() noexcept {
  if (is_arriving_) {
    end_upload();
  }
}

bool FrameTexture::begin_upload(const FrameView& view, Textures& textures) noexcept {
  if (!find_sources(view)) {
    return false;
  }
  if (prepare_textures(view.layout, textures)) {
    return true;
  }
  release_staging();
  return false;
}

/// False if the frame has to be uploaded by another method, from its first row on.
bool FrameTexture::finish_gpu_copy(const FrameView& view) noexcept {
  gpu_upload_->copy(view.layout.size_bytes);
  if (gpu_upload_->wait(monotonic_ns() + staging_wait_ns)) {
    return true;
  }
  release_staging();
  return false;
}

void FrameTexture::release_staging() noexcept {
  if (method_ == UploadMethod::gpu_copy) {
    gpu_upload_->end();
  }
  if (std::exchange(has_staging_, false)) {
    staging_.release();
  }
}

/// All commands that read the frame have been given to GL.
void FrameTexture::end_upload() noexcept {
  is_arriving_ = false;
  release_staging();
  if (method_ == UploadMethod::pinned_memory || method_ == UploadMethod::device_memory) {
    fence_ = GlFence::insert();
  }
}

bool FrameTexture::fits(const FrameView& view) const noexcept {
  const FrameLayout& layout = view.layout;
  std::uint64_t payload_bytes = view.payload.size();
  if (is_on_device(view)) {
    const std::uint64_t block_bytes = (*view.block)->size_bytes();
    payload_bytes = block_bytes - std::min(block_bytes, view.offset_in_block_bytes);
  }
  return layout.format != PixelFormat::bytes && !validate_layout(layout, payload_bytes).has_value() &&
         std::max(layout.width, layout.height) <= static_cast<std::uint32_t>(max_side_);
}

bool FrameTexture::prepare_textures(const FrameLayout& layout, Textures& textures) noexcept {
  const Size size{layout.width, layout.height};
  if (textures.format == layout.format && textures.painted.size == size) {
    return true;
  }
  Textures made;  // the picture stays if there is no memory for another one
  PaintedFrame& painted = made.painted;
  glGetError();  // clears earlier errors
  const auto planes = texture_planes(layout.format);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const TexturePlane& plane = planes[i];
    made.planes.at(i) = GlTexture::create(GL_TEXTURE_2D);
    const GLuint texture = made.planes.at(i).id();
    const auto width = static_cast<GLsizei>(texture_width(plane, layout.width));
    const auto height = static_cast<GLsizei>(texture_height(plane, layout.height));
    glTextureStorage2D(texture, 1, plane.internal_format, width, height);
    if (glGetError() == GL_OUT_OF_MEMORY) {
      return false;
    }
    glTextureParameteriv(texture, GL_TEXTURE_SWIZZLE_RGBA, plane.swizzle.data());
    glTextureParameteri(texture, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    (plane.type == GL_FLOAT ? painted.depth_texture : painted.textures.at(i)) = texture;
  }
  made.format = layout.format;
  painted.texture_count = planes.size() - (has_depth(layout.format) ? 1 : 0);
  painted.size = size;
  painted.has_alpha = has_alpha(layout.format);
  painted.chroma_log2_width = planes.back().log2_width;
  painted.chroma_log2_height = planes.back().log2_height;
  textures = std::move(made);
  return true;
}

/// The buffer that wraps the frame's block; 0: there is none.
GLuint FrameTexture::wrapped_buffer(const FrameView& view) noexcept {
  if (is_on_device(view)) {
    return wrapped_.find_or_wrap(*view.block, view.offset_in_block_bytes, view.layout.size_bytes);
  }
  if (preferred_ != UploadMethod::pinned_memory || !lies_in_host_block(view)) {
    return 0;
  }
  const GLuint buffer = wrapped_.find_or_wrap(*view.block, view.offset_in_block_bytes, view.layout.size_bytes);
  if (buffer == 0) {
    preferred_ = fallback_;
  }
  return buffer;
}

bool FrameTexture::begin_gpu_copy(const FrameView& view) noexcept {
  return gpu_upload_ && lies_in_host_block(view) && can_be_read_in_place(view.layout) &&
         gpu_upload_->begin(*view.block, view.offset_in_block_bytes, view.layout.size_bytes,
                            monotonic_ns() + staging_wait_ns);
}

/// The CPU can copy no rows of a frame that it may not touch.
bool FrameTexture::find_sources(const FrameView& view) noexcept {
  if (begin_gpu_copy(view)) {
    method_ = UploadMethod::gpu_copy;
    for (std::uint32_t i = 0; i < view.layout.plane_count; ++i) {
      const PlaneLayout& plane = view.layout.planes.at(i);
      sources_.at(i) = {.buffer = gpu_upload_->buffer(),
                        .offset_bytes = gpu_upload_->offset_bytes() + plane.offset_bytes,
                        .pitch_bytes = plane.pitch_bytes};
    }
    return true;
  }
  const GLuint wrapped = wrapped_buffer(view);
  if (is_on_device(view)) {
    method_ = UploadMethod::device_memory;
    has_refused_memory_ = wrapped == 0;
    if (wrapped == 0 || !can_be_read_in_place(view.layout)) {
      return false;
    }
  } else {
    method_ = wrapped != 0 ? UploadMethod::pinned_memory : preferred_;
    if (method_ == UploadMethod::pinned_memory && wrapped == 0) {
      method_ = fallback_;
    }
  }
  std::array<bool, max_texture_planes> is_staged{};
  bool any_staged = false;
  for (std::uint32_t i = 0; i < view.layout.plane_count; ++i) {
    const PlaneLayout& plane = view.layout.planes.at(i);
    sources_.at(i) = {.buffer = wrapped,
                      .offset_bytes = view.offset_in_block_bytes + plane.offset_bytes,
                      .address = wrapped != 0 ? nullptr : view.payload.data() + plane.offset_bytes,
                      .pitch_bytes = plane.pitch_bytes};
    const std::uint64_t start =
        wrapped != 0 ? sources_.at(i).offset_bytes : reinterpret_cast<std::uintptr_t>(sources_.at(i).address);
    is_staged.at(i) = method_ == UploadMethod::persistent_buffer || !can_step(view.layout, i, start);
    any_staged = any_staged || is_staged.at(i);
  }
  return !any_staged || claim_staging(view.layout, is_staged);
}

/// Makes room for the planes that are copied before GL reads them, for the whole frame.
bool FrameTexture::claim_staging(const FrameLayout& layout, std::span<const bool> is_staged) noexcept {
  std::uint64_t size_bytes = 0;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    size_bytes += is_staged[i] ? aligned(std::uint64_t{plane.row_bytes} * plane.rows) : 0;
  }
  const auto memory = staging_.claim(size_bytes, monotonic_ns() + staging_wait_ns);
  waited_ = staging_.waited();
  if (memory.empty()) {
    return false;
  }
  has_staging_ = true;
  std::uint64_t offset_bytes = 0;
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const PlaneLayout& plane = layout.planes.at(i);
    if (is_staged[i]) {
      std::byte* const to = memory.data() + offset_bytes;
      sources_.at(i) = {.buffer = staging_.buffer(),
                        .offset_bytes = offset_bytes,
                        .address = to,
                        .pitch_bytes = plane.row_bytes,
                        .staging = to};
      offset_bytes += aligned(std::uint64_t{plane.row_bytes} * plane.rows);
    }
  }
  return true;
}

/// Gives GL the rows that have arrived since the last call.
void FrameTexture::fill_rows(const FrameView& view, Textures& textures, std::uint64_t arrived_bytes) noexcept {
  const FrameLayout& layout = view.layout;
  std::array<std::uint32_t, max_texture_planes> ends{};
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    const Source& source = sources_.at(i);
    ends.at(i) = rows_in(layout.planes.at(i), arrived_bytes);
    if (source.staging != nullptr && ends.at(i) > source.rows_filled) {
      copy_rows(view.payload.data(), layout.planes.at(i), source.rows_filled, ends.at(i), source.staging);
    }
  }
  const auto planes = texture_planes(layout.format);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const TexturePlane& plane = planes[i];
    const Source& source = sources_.at(plane.plane);
    const std::uint32_t first = source.rows_filled;
    if (ends.at(plane.plane) <= first) {
      continue;
    }
    const auto step = find_row_step(plane, source.pitch_bytes, source.buffer != 0 ? source.offset_bytes : 0);
    const auto [row_length, alignment] = step.value_or(RowStep{0, 1});  // never empty: find_sources staged the rest
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, source.buffer);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, row_length);
    glPixelStorei(GL_UNPACK_ALIGNMENT, alignment);
    const std::uint64_t skipped_bytes = std::uint64_t{first} * source.pitch_bytes;
    const void* pixels = source.buffer != 0 ? reinterpret_cast<const void*>(source.offset_bytes + skipped_bytes)
                                            : source.address + skipped_bytes;
    glTextureSubImage2D(textures.planes.at(i).id(), 0, 0, static_cast<GLint>(first),
                        static_cast<GLsizei>(texture_width(plane, layout.width)),
                        static_cast<GLsizei>(ends.at(plane.plane) - first), plane.format, plane.type, pixels);
  }
  for (std::uint32_t i = 0; i < layout.plane_count; ++i) {
    sources_.at(i).rows_filled = std::max(sources_.at(i).rows_filled, ends.at(i));
  }
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
}

}  // namespace framewire
