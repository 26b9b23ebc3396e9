// One stream in the picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/frame_layout.hpp"
#include "gl/depth_merger.hpp"
#include "gl/frame_texture.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/painters.hpp"
#include "viewer/quality.hpp"
#include "viewer/statistics.hpp"
#include "viewer/tear_check.hpp"

namespace framewire {

/// Holds the newest frame's texture. Holds the frame itself until the GPU has finished reading it; only then is its
/// credit returned. Verifies each frame before releasing it. Used on the drawing thread.
class Layer {
 public:
  /// `painters`, `statistics` and `copies` outlive the layer. No `quality`: good, if a GPU draws. Null `copies`: the
  /// GPU does not copy frames by itself. Throws Error if the driver does not support what is needed.
  Layer(Painters& painters, bool verify, Statistics& statistics, std::optional<Quality> quality,
        GpuCopies* copies = nullptr);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  enum class Upload {
    done,
    withdrawn,       // the sender has ended the session, and may have written into the frame meanwhile
    not_a_picture,   // or too large for the GPU's textures
    memory_refused,  // OpenGL does not take the memory of the frame's device: take_refused() gives the frame back
    gpu_hangs,       // it has not finished with earlier frames
    gpu_is_lost,     // the OpenGL context is lost
  };
  /// Makes `frame` the layer's picture. On any result but `done` and `memory_refused` the frame is released. The
  /// picture does not change then, but after `withdrawn` there is none.
  Upload upload(ReceivedFrame frame, ChromaLocation chroma_location = ChromaLocation::unspecified) noexcept;

  /// After `memory_refused`: the frame, to be uploaded as a copy in host memory, and why.
  [[nodiscard]] std::optional<ReceivedFrame> take_refused() noexcept { return std::exchange(refused_, std::nullopt); }
  [[nodiscard]] const std::string& memory_refusal() const noexcept { return texture_.memory_refusal(); }

  /// Makes what was drawn into these textures the layer's picture, in place of a frame: opaque pictures of `format`. It
  /// stays valid until the next call; the layer was given no frame before.
  void show(const PaintedFrame& picture, PixelFormat format, const Colour& colour) noexcept;

  /// A slice of a frame that is not complete has arrived. If `may_upload`, and the GPU has finished with the layer's
  /// picture, uploads what has arrived of the frame from its beginning on; upload() does the rest. The layer follows
  /// one such frame at a time, the newest.
  void slice_arrived(const ReceivedFrame& slice, ChromaLocation chroma_location, bool may_upload) noexcept;

  /// Returns the credit if the GPU has finished. True if no frame is held any more.
  bool release_finished() noexcept;

  /// A session or an epoch is over: releases the memory of its frames.
  void forget_memory() noexcept;

  /// Draws the picture into the bound framebuffer, which has the size `framebuffer`; nothing before the first frame.
  /// `target` may lie partly outside. While its size changes the picture is drawn fast, unless it is HDR:
  /// is_provisional() says so. What is drawn is opaque, or its colours are multiplied by its alpha; `alpha` says what
  /// the frame's means. Pictures that are not opaque are always drawn fast. If that fails, take_failure() says why, and
  /// nothing is drawn before the next upload(): there may be other layers.
  void draw(const Rectangle& target, Size framebuffer, std::int64_t now_ns, Alpha alpha = Alpha::opaque);

  /// Why draw() has failed since the last call: a ShaderError, or good quality was asked for and cannot be had.
  [[nodiscard]] std::optional<Error> take_failure() { return std::exchange(failure_, std::nullopt); }

  /// Whether draw() has failed since the last upload().
  [[nodiscard]] bool cannot_be_drawn() const noexcept { return cannot_be_drawn_; }

  /// A size must stay for this long before the picture is drawn well in it: that compiles shaders.
  static constexpr std::int64_t calm_ns = 200 * ns_per_ms;
  /// Whether the picture was drawn fast, and will be drawn well once its size has stayed for calm_ns.
  [[nodiscard]] bool is_provisional() const noexcept { return is_provisional_; }
  /// Whether the picture would be drawn well now, after it was drawn fast.
  [[nodiscard]] bool can_be_improved(std::int64_t now_ns) const noexcept {
    return is_provisional_ && now_ns - size_changed_ns_ >= calm_ns;
  }
  /// How the picture was drawn.
  [[nodiscard]] Quality quality() const noexcept { return drawn_quality_; }

  /// Draws small frames of the usual formats, larger and smaller than `framebuffer`, so that the driver has its shaders
  /// ready for the first real frame. Overwrites the bound framebuffer with test content. Does nothing once there is a
  /// picture. Throws ShaderError.
  void warm_up(Size framebuffer);

  /// Sets up textures, shaders and memory for this format by drawing a black frame that is never shown. `target`
  /// is where the frame will be drawn. Overwrites the bound framebuffer. Does nothing once there is a picture. Throws
  /// Error (no memory), and ShaderError.
  void prepare(const StreamFormat& format, const Rectangle& target, Size framebuffer);

  [[nodiscard]] bool has_picture() const noexcept { return has_picture_; }
  /// Of the picture; 0x0 before the first.
  [[nodiscard]] Size frame_size() const noexcept { return has_picture_ ? painted().size : Size{}; }
  /// Of the picture's frame.
  [[nodiscard]] std::uint64_t user_tag() const noexcept { return user_tag_; }
  /// The picture's colours and depths, if its format has_depth().
  [[nodiscard]] DepthPicture depth_picture() const noexcept {
    return {.colour = texture_.painted().textures[0], .depth = texture_.painted().depth_texture};
  }
  /// Counts the pictures.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] UploadMethod method() const noexcept { return texture_.method(); }
  /// Whether the picture is not uploaded, but one of show().
  [[nodiscard]] bool is_drawn_here() const noexcept { return drawn_.has_value(); }

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

  [[nodiscard]] const PaintedFrame& painted() const noexcept { return drawn_ ? *drawn_ : texture_.painted(); }
  void draw_texture(const Rectangle& target, Size framebuffer, std::int64_t now_ns, Alpha alpha);
  bool follow_size(Size drawn, std::int64_t now_ns) noexcept;
  void release() noexcept;
  void forget_arriving() noexcept;

  Painters& painters_;
  Statistics& statistics_;
  const std::optional<Quality> wanted_quality_;
  FrameTexture texture_;
  std::optional<PaintedFrame> drawn_;        // of show()
  PixelFormat format_ = PixelFormat::bytes;  // of the texture's colours
  Colour colour_{};
  Quality drawn_quality_ = Quality::fast;
  bool cannot_be_drawn_well_ = false;
  bool cannot_be_drawn_ = false;  // draw() has failed
  std::optional<Error> failure_;  // nobody has taken it
  bool is_provisional_ = false;
  std::optional<Size> calm_size_;  // the picture is drawn well in this size
  Size next_size_;                 // it is to have this size since size_changed_ns_
  std::int64_t size_changed_ns_ = 0;
  TearCheck check_;
  bool has_picture_ = false;
  std::uint64_t version_ = 0;
  std::uint64_t user_tag_ = 0;
  std::optional<ReceivedFrame> held_;
  std::optional<ReceivedFrame> refused_;  // nobody has taken it
  std::optional<ArrivingFrame> arriving_;
};

}  // namespace framewire
