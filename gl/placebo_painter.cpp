#include "gl/placebo_painter.hpp"

#include <libplacebo/opengl.h>
#include <libplacebo/renderer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "gl/drawing_plan.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/placebo_colour.hpp"
#include "gl/texture_planes.hpp"

namespace framewire {

namespace {

/// Destroys a libplacebo object.
template <typename Object, void (*destroy)(Object*)>
struct Owned {
  Object object = nullptr;

  explicit Owned(Object made) noexcept : object(made) {}
  ~Owned() { destroy(&object); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

/// libplacebo's names for the textures and the framebuffer of GL. Making one costs several GL calls.
class WrappedObjects {
 public:
  explicit WrappedObjects(pl_gpu gpu) noexcept : gpu_(gpu) {}
  ~WrappedObjects() { forget(); }
  WrappedObjects(const WrappedObjects&) = delete;
  WrappedObjects& operator=(const WrappedObjects&) = delete;

  /// Null if libplacebo does not take it.
  pl_tex texture(GLuint id, const TexturePlane& plane, Size frame) noexcept {
    pl_opengl_wrap_params wanted{};
    wanted.texture = id;
    wanted.target = GL_TEXTURE_2D;
    wanted.iformat = static_cast<int>(plane.internal_format);
    wanted.width = static_cast<int>(texture_width(plane, frame.width));
    wanted.height = static_cast<int>(texture_height(plane, frame.height));
    return find(textures_, wanted);
  }

  pl_tex framebuffer(GLuint id, Size size) noexcept {
    pl_opengl_wrap_params wanted{};
    wanted.framebuffer = id;
    wanted.width = static_cast<int>(size.width);
    wanted.height = static_cast<int>(size.height);
    return find(framebuffers_, wanted);
  }

  void forget() noexcept {
    for (Entry& entry : textures_) {
      drop(entry);
    }
    for (Entry& entry : framebuffers_) {
      drop(entry);
    }
  }

 private:
  struct Entry {
    pl_tex wrapped = nullptr;
    pl_opengl_wrap_params params{};
    std::uint64_t used = 0;  // when it was last used, by a count of uses
  };

  static bool is_same_object(const pl_opengl_wrap_params& a, const pl_opengl_wrap_params& b) noexcept {
    return a.texture == b.texture && a.framebuffer == b.framebuffer;
  }
  static bool is_same(const pl_opengl_wrap_params& a, const pl_opengl_wrap_params& b) noexcept {
    return is_same_object(a, b) && a.width == b.width && a.height == b.height && a.iformat == b.iformat;
  }

  void drop(Entry& entry) noexcept {
    pl_tex_destroy(gpu_, &entry.wrapped);
    entry = {};
  }

  /// The entry of a deleted texture would keep that texture's memory. So only those in use have room: one that is new
  /// takes the place of the one not used for longest.
  pl_tex find(std::span<Entry> entries, const pl_opengl_wrap_params& wanted) noexcept {
    ++uses_;
    for (Entry& entry : entries) {
      if (entry.wrapped == nullptr || !is_same_object(entry.params, wanted)) {
        continue;
      }
      if (is_same(entry.params, wanted)) {
        entry.used = uses_;
        return entry.wrapped;
      }
      drop(entry);  // GL gave the number of a deleted object to another one
    }
    Entry& entry = *std::ranges::min_element(entries, {}, &Entry::used);
    drop(entry);
    entry = {pl_opengl_wrap(gpu_, &wanted), wanted, uses_};
    return entry.wrapped;
  }

  pl_gpu gpu_;
  std::uint64_t uses_ = 0;
  std::array<Entry, 2 * max_texture_planes> textures_;  // FrameTexture swaps two frames' textures
  std::array<Entry, 2> framebuffers_;
};

/// The state that libplacebo changes and others rely on.
class KeptState {
 public:
  KeptState() noexcept : blends_(glIsEnabled(GL_BLEND) == GL_TRUE) {
    glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &framebuffer_);
    glGetIntegerv(GL_VIEWPORT, viewport_.data());
    constexpr std::array<GLenum, 4> names = {GL_BLEND_SRC_RGB, GL_BLEND_DST_RGB, GL_BLEND_SRC_ALPHA,
                                             GL_BLEND_DST_ALPHA};
    for (std::size_t i = 0; i < names.size(); ++i) {
      glGetIntegerv(names.at(i), &functions_.at(i));
    }
    glDisable(GL_BLEND);  // libplacebo does not disable it for its intermediate pictures
  }
  ~KeptState() { restore(); }
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

  void restore() const noexcept {
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer());
    glViewport(viewport_[0], viewport_[1], viewport_[2], viewport_[3]);
    const auto function = [&](std::size_t index) { return static_cast<GLenum>(functions_.at(index)); };
    glBlendFuncSeparate(function(0), function(1), function(2), function(3));
    (blends_ ? glEnable : glDisable)(GL_BLEND);
  }

  [[nodiscard]] bool blends() const noexcept { return blends_; }
  [[nodiscard]] GLuint framebuffer() const noexcept { return static_cast<GLuint>(framebuffer_); }

 private:
  bool blends_;
  GLint framebuffer_ = 0;
  std::array<GLint, 4> viewport_{};
  std::array<GLint, 4> functions_{};
};

void restore_filters(const PaintedFrame& frame) noexcept {
  for (std::size_t i = 0; i < frame.texture_count; ++i) {
    const GLuint texture = frame.textures.at(i);
    glTextureParameteri(texture, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  }
}

pl_rect2df rectangle_of(const Interval& x, const Interval& y) noexcept {
  pl_rect2df made{};
  made.x0 = static_cast<float>(x.begin);
  made.x1 = static_cast<float>(x.end);
  made.y0 = static_cast<float>(y.begin);
  made.y1 = static_cast<float>(y.end);
  return made;
}

/// libplacebo 4.208 takes a length that is no whole number of pixels for its square, divided by the rounded length. So
/// it gets the root.
Interval as_libplacebo_reads_it(const Interval& source) noexcept {
  return {source.begin, source.begin + std::sqrt(source.length() * std::round(source.length()))};
}

/// Applies the matrix that both qualities share. libplacebo has none of fcc, and others in fewer digits.
pl_hook_res apply_conversion(void* conversion, const pl_hook_params* params) noexcept {
  const auto& wanted = *static_cast<const ColourConversion*>(conversion);
  std::array<pl_shader_var, 2> variables{};
  variables[0].var = pl_var_mat3("frame_matrix");
  variables[0].data = wanted.matrix.data();
  variables[1].var = pl_var_vec3("frame_offset");
  variables[1].data = wanted.offset.data();
  pl_custom_shader shader{};
  shader.description = "frame to RGB";
  shader.body = "color.rgb = frame_matrix * color.rgb + frame_offset;";
  shader.input = PL_SHADER_SIG_COLOR;
  shader.output = PL_SHADER_SIG_COLOR;
  shader.variables = variables.data();
  shader.num_variables = static_cast<int>(variables.size());
  pl_hook_res result{};
  result.failed = !pl_shader_custom(params->sh, &shader);
  return result;  // without output: the shader goes on as it is now
}

/// Linear interpolation, computed by libplacebo: GPUs round the weights of theirs to 8 bits, and llvmpipe its results.
pl_filter_config exact_linear() noexcept {
  pl_filter_config filter = pl_filter_bilinear;
  filter.name = "exact linear";
  return filter;
}

pl_color_map_params colour_map_params() noexcept {
  pl_color_map_params params = pl_color_map_default_params;
  params.tone_mapping_function = &pl_tone_map_bt2446a;  // made for 1000 cd/m² to SDR
  return params;
}

/// Frames are scaled in their coded values, as the fast quality does, so that both have the same brightness. Linear
/// light has no other values, and libplacebo scales it rightly only by its own way.
pl_render_params render_params(const pl_color_space& source, bool is_scaled_down, bool dithers) noexcept {
  static const pl_filter_config chroma_filter = exact_linear();
  static const pl_color_map_params colour_map = colour_map_params();
  pl_render_params params = pl_render_default_params;
  params.upscaler = &pl_filter_lanczos;
  params.downscaler = &pl_filter_mitchell;
  params.plane_upscaler = is_scaled_down ? &pl_filter_bilinear : &chroma_filter;  // the mean hides what a GPU rounds
  params.color_map_params = &colour_map;
  params.disable_linear_scaling = source.transfer != PL_COLOR_TRC_LINEAR;
  params.dither_params = dithers ? &pl_dither_default_params : nullptr;
  params.peak_detect_params = nullptr;  // a frame looks the same whatever came before it
  params.skip_target_clearing = true;
  return params;
}

/// Channels of a plane: those of the frame from `first` on.
void set_components(pl_plane& plane, int first, int count) noexcept {
  plane.components = count;
  for (int i = 0; i < count; ++i) {
    plane.component_mapping[i] = first + i;
  }
}

constexpr pl_blend_params straight_alpha = {.src_rgb = PL_BLEND_SRC_ALPHA,
                                            .dst_rgb = PL_BLEND_ONE_MINUS_SRC_ALPHA,
                                            .src_alpha = PL_BLEND_ONE,
                                            .dst_alpha = PL_BLEND_ONE_MINUS_SRC_ALPHA};

/// Calls a function when it goes, also with an exception.
template <typename Function>
class AtEnd {
 public:
  explicit AtEnd(Function function) noexcept : function_(function) {}
  ~AtEnd() { function_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  Function function_;
};

pl_frame target_frame(pl_tex framebuffer, const pl_color_space& source, bool with_alpha) noexcept {
  pl_frame target{};
  target.color = placebo_target(source);
  target.repr.sys = PL_COLOR_SYSTEM_RGB;
  target.repr.levels = PL_COLOR_LEVELS_FULL;
  target.repr.alpha = with_alpha ? PL_ALPHA_INDEPENDENT : PL_ALPHA_UNKNOWN;
  target.num_planes = 1;
  target.planes[0].texture = framebuffer;
  set_components(target.planes[0], 0, with_alpha ? 4 : 3);
  return target;
}

}  // namespace

/// What PlaceboPainter::draw was asked for.
struct PlaceboPainter::Order {
  const PaintedFrame& frame;
  PixelFormat format;
  const Colour& colour;
  const DrawingPlan& plan;
  bool uses_alpha;  // to blend
};

struct PlaceboPainter::Parts {
  Parts();

  /// The frame as libplacebo has it; without planes if it takes no texture.
  pl_frame source_frame(const Order& order) noexcept;

  /// Draws to a framebuffer. `flipped`: the coordinates of the plan run from its top. False as PlaceboPainter::draw.
  bool render(const Order& order, pl_tex framebuffer, bool flipped, const pl_blend_params* blending) noexcept;

  /// The same to the detour's texture, and from there to its place in the current framebuffer.
  bool render_detour(const Order& order) noexcept;
  void copy_detour(const Rectangle& place, const Rectangle& target, bool flip_y);

  std::string first_complaint;
  Owned<pl_log, pl_log_destroy> log;
  Owned<pl_opengl, pl_opengl_destroy> gl;
  Owned<pl_renderer, pl_renderer_destroy> renderer;
  WrappedObjects wrapped;
  FramePainter plain;
  std::optional<OffscreenTarget> detour;
};

namespace {

void keep_first(void* first_complaint, pl_log_level /*level*/, const char* message) {
  auto& kept = *static_cast<std::string*>(first_complaint);
  kept = kept.empty() ? message : kept;
}

pl_log make_log(std::string& first_complaint) {
  pl_log_params params{};
  params.log_cb = keep_first;
  params.log_priv = &first_complaint;
  params.log_level = PL_LOG_ERR;
  return pl_log_create(PL_API_VER, &params);
}

pl_opengl use_context(pl_log log) {
  pl_opengl_params params{};
  params.allow_software = true;
  return pl_opengl_create(log, &params);
}

}  // namespace

PlaceboPainter::Parts::Parts()
    : log(make_log(first_complaint)),
      gl(use_context(log.object)),
      renderer(gl.object == nullptr ? nullptr : pl_renderer_create(log.object, gl.object->gpu)),
      wrapped(gl.object == nullptr ? nullptr : gl.object->gpu) {
  if (renderer.object == nullptr) {
    throw Error::failed("libplacebo cannot draw with " + quote(gl_renderer()) + ": " +
                        (first_complaint.empty() ? "it does not say why" : first_complaint));
  }
}

pl_frame PlaceboPainter::Parts::source_frame(const Order& order) noexcept {
  const PaintedFrame& frame = order.frame;
  pl_frame source{};
  source.color = placebo_source(order.colour);
  source.repr = placebo_representation(order.format, order.colour);
  source.repr.alpha = order.uses_alpha ? PL_ALPHA_INDEPENDENT : PL_ALPHA_UNKNOWN;
  source.crop = rectangle_of(as_libplacebo_reads_it(order.plan.source_x), as_libplacebo_reads_it(order.plan.source_y));
  const auto planes = texture_planes(order.format);
  for (std::size_t i = 0; i < frame.texture_count; ++i) {
    pl_plane& plane = source.planes[i];
    plane.texture = wrapped.texture(frame.textures.at(i), planes[i], frame.size);
    if (plane.texture == nullptr) {
      return {};
    }
    if (frame.texture_count == 1) {
      set_components(plane, 0, order.uses_alpha ? 4 : 3);
    } else {
      set_components(plane, static_cast<int>(i), frame.texture_count == 2 && i == 1 ? 2 : 1);
    }
    // Shifts are in pixels, from the middle of those that a chroma sample covers.
    plane.shift_x = planes[i].log2_width == 0 ? 0.0F : 0.5F * static_cast<float>(frame.chroma_site.x_halves - 1);
    plane.shift_y = planes[i].log2_height == 0 ? 0.0F : 0.5F * static_cast<float>(frame.chroma_site.y_halves - 1);
  }
  source.num_planes = static_cast<int>(frame.texture_count);
  return source;
}

bool PlaceboPainter::Parts::render(const Order& order, pl_tex framebuffer, bool flipped,
                                   const pl_blend_params* blending) noexcept {
  const pl_frame source = source_frame(order);
  if (source.num_planes == 0 || framebuffer == nullptr) {
    return false;
  }
  pl_frame target = target_frame(framebuffer, source.color, order.uses_alpha);
  target.crop = rectangle_of(order.plan.target_x, order.plan.target_y);
  target.planes[0].flipped = flipped;

  ColourConversion conversion = order.frame.conversion;
  pl_hook to_rgb{};
  to_rgb.stages = PL_HOOK_NATIVE;
  to_rgb.input = PL_HOOK_SIG_COLOR;
  to_rgb.priv = &conversion;
  to_rgb.hook = apply_conversion;
  const std::array<const pl_hook*, 1> hooks = {&to_rgb};

  const bool is_exact =
      !order.plan.is_scaled && info(order.format).depth == 8 && pl_color_space_equal(&source.color, &target.color);
  pl_render_params params = render_params(source.color, order.plan.is_scaled_down, !is_exact);
  params.hooks = hooks.data();
  params.num_hooks = is_placebo_matrix(order.format, order.colour.matrix) ? 0 : 1;
  params.blend_params = blending;
  return pl_render_image(renderer.object, &source, &target, &params);
}

bool PlaceboPainter::Parts::render_detour(const Order& order) noexcept {
  const Size size{static_cast<std::uint32_t>(order.plan.detour->width),
                  static_cast<std::uint32_t>(order.plan.detour->height)};
  if (!detour || detour->size() != size) {
    detour.reset();
    try {
      detour.emplace(size);
    } catch (const std::exception&) {  // no memory
      return false;
    }
  }
  return render(order, wrapped.framebuffer(detour->framebuffer(), size), false, nullptr);
}

void PlaceboPainter::Parts::copy_detour(const Rectangle& place, const Rectangle& target, bool flip_y) {
  PaintedFrame picture{.textures = {detour->texture()}, .texture_count = 1, .size = detour->size()};
  picture.conversion = colour_conversion(PixelFormat::rgba, {}, picture.size.height);
  glScissor(target.x, target.y, target.width, target.height);  // it may end beyond the frame
  glEnable(GL_SCISSOR_TEST);
  const AtEnd disable([] { glDisable(GL_SCISSOR_TEST); });
  plain.draw(picture, place, flip_y);
}

PlaceboPainter::PlaceboPainter() : parts_(std::make_unique<Parts>()) {}

PlaceboPainter::~PlaceboPainter() = default;

void PlaceboPainter::forget_textures() noexcept {
  parts_->wrapped.forget();
  parts_->detour.reset();
}

bool PlaceboPainter::draw(const PaintedFrame& frame, PixelFormat format, const Colour& colour, const Rectangle& target,
                          Size framebuffer, bool flip_y) {
  const DrawingPlan plan = plan_drawing(frame.size, target, framebuffer, flip_y);
  if (frame.texture_count == 0 || !plan.is_visible) {
    return true;
  }
  const KeptState state;
  const bool blends = state.blends() && has_alpha(format);
  const Order order{frame, format, colour, plan, blends};
  bool is_drawn = false;
  if (plan.detour) {
    is_drawn = parts_->render_detour(order);
    if (is_drawn) {
      state.restore();
      parts_->copy_detour(*plan.detour, target, flip_y);
    }
  } else {
    is_drawn = parts_->render(order, parts_->wrapped.framebuffer(state.framebuffer(), framebuffer), !flip_y,
                              blends ? &straight_alpha : nullptr);
  }
  restore_filters(frame);
  if (is_drawn && has_alpha(format) && !blends) {
    state.restore();
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_TRUE);
    const AtEnd unmask([] { glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE); });
    parts_->plain.draw(frame, target, flip_y);
  }
  return is_drawn;
}

}  // namespace framewire
