// One stream in the picture.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "frame/frame_layout.hpp"
#include "gl/frame_texture.hpp"
#include "gl/placebo_painter.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/quality.hpp"
#include "viewer/statistics.hpp"
#include "viewer/tear_check.hpp"

namespace framewire {

/// For the user: what find_gl_loss() has found, and what to do.
std::string explain_gpu_loss(const std::string& loss);

/// Holds the newest frame's texture. Holds the frame itself until the GPU has finished reading it; only then is its
/// credit returned. Verifies each frame before releasing it. Used on the drawing thread.
class Layer {
 public:
  /// `statistics` outlives the layer. No `quality`: good, if a GPU draws. Throws Error if the driver does not support
  /// it.
  Layer(bool verify, Statistics& statistics, std::optional<Quality> quality);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  enum class Upload {
    done,
    not_a_picture,  // or too large for the GPU's textures
    gpu_hangs,      // it has not finished with the previous frame
    gpu_is_lost,    // the OpenGL context is lost
  };
  /// Makes `frame` the layer's picture. On any result but `done` the frame is released and the picture does not change.
  Upload upload(ReceivedFrame frame, ChromaLocation chroma_location = ChromaLocation::unspecified) noexcept;

  /// A slice of a frame that is not complete has arrived. If `may_upload`, and the GPU has finished with the layer's
  /// picture, uploads what has arrived of the frame from its beginning on; upload() does the rest. The layer follows
  /// one such frame at a time, the newest.
  void slice_arrived(const ReceivedFrame& slice, ChromaLocation chroma_location, bool may_upload) noexcept;

  /// Returns the credit if the GPU has finished. True if no frame is held any more.
  bool release_finished() noexcept;

  /// A session or an epoch is over: releases the memory of its frames.
  void forget_memory() noexcept;

  /// Draws the picture as large as it fits on a surface of this size; nothing before the first frame. While the size
  /// changes it is drawn fast, unless it is HDR: is_provisional() says so. Throws ShaderError, and Error (failed) if
  /// good quality was asked for and cannot be had.
  void draw(Size surface, Rational sample_aspect_ratio, std::int64_t now_ns);

  /// A size must stay for this long before the picture is drawn well in it: that compiles shaders.
  static constexpr std::int64_t calm_ns = 200 * ns_per_ms;
  /// Whether the picture was drawn fast, and will be drawn well once its size has stayed for calm_ns.
  [[nodiscard]] bool is_provisional() const noexcept { return is_provisional_; }
  /// That libplacebo cannot be used, and why, once; else empty.
  std::string take_warning() noexcept { return std::exchange(warning_, {}); }
  /// How the picture was drawn.
  [[nodiscard]] Quality quality() const noexcept { return drawn_quality_; }

  /// Draws small frames of the usual formats, larger and smaller than `surface`, so that the driver has its shaders
  /// ready for the first real frame. Overwrites the bound framebuffer with test content. Does nothing once there is a
  /// picture. Throws ShaderError.
  void warm_up(Size surface);

  /// Sets up textures, shaders and memory for this format by drawing a black frame that is never shown. Overwrites the
  /// bound framebuffer. Does nothing once there is a picture. Throws Error (no memory), and ShaderError.
  void prepare(const StreamFormat& format, Size surface);

  [[nodiscard]] bool has_picture() const noexcept { return has_picture_; }
  [[nodiscard]] UploadMethod method() const noexcept { return texture_.method(); }

 private:
  /// A frame that is not complete.
  struct ArrivingFrame {
    std::uint64_t session = 0;
    std::uint32_t epoch = 0;
    std::uint64_t sequence = 0;
    std::uint16_t slot = 0;
    SliceSet slices{};
    bool is_uploading = false;

    [[nodiscard]] bool is(const ReceivedFrame& frame) const noexcept {
      return session == frame.session_number() && epoch == frame.header().epoch &&
             sequence == frame.header().sequence && slot == frame.header().slot;
    }
  };

  void draw_fitted(Size surface, Rational sample_aspect_ratio, std::int64_t now_ns);
  bool follow_size(Size drawn, std::int64_t now_ns) noexcept;
  bool draw_well(const Rectangle& at, Size surface);
  void release() noexcept;
  void forget_arriving() noexcept;

  Statistics& statistics_;
  const std::optional<Quality> wanted_quality_;
  const bool is_software_;
  FrameTexture texture_;
  std::unique_ptr<PlaceboPainter> placebo_;  // made when it is needed first
  bool has_placebo_failed_ = false;
  std::string warning_;
  PixelFormat format_ = PixelFormat::bytes;  // of the texture
  Colour colour_{};
  Quality drawn_quality_ = Quality::fast;
  bool is_provisional_ = false;
  std::optional<Size> calm_size_;  // the picture is drawn well in this size
  Size next_size_;                 // it is to have this size since size_changed_ns_
  std::int64_t size_changed_ns_ = 0;
  TearCheck check_;
  bool has_picture_ = false;
  std::optional<ReceivedFrame> held_;
  std::optional<ArrivingFrame> arriving_;
};

}  // namespace framewire
